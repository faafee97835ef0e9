"""Programs in which a recording of TensorFlow could go wrong without a word: what every call gives and leaves behind is that of the original."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from .traps import branches, checks, foreign, functions, gradients, keras_layers, loops, mixtures, sizes, values, variables
from .traps.table import cases, judge, named

TRAPS = named((branches, checks, foreign, functions, gradients, keras_layers, loops, mixtures, sizes, values, variables))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "to"), cases(TRAPS))
def test_trap(name: str, to: str) -> None:
    judge(TRAPS[name], to)
