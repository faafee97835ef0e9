"""Programs in which a recording of TensorFlow could go wrong without a word: what every call gives and leaves
behind is that of the original.
"""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

from .traps.table import cases, judge, named

MODULES = (
    "aliases", "branches", "changes", "checks", "foreign", "functions", "gradients", "keras_layers", "loops", "mixtures", "models",
    "outside", "randomness", "reads", "resets", "sizes", "states", "tapes", "training", "values", "variables", "writes",
)  # fmt: skip
TRAPS = named(MODULES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "to"), cases(TRAPS))
def test_trap(name: str, to: str) -> None:
    judge(TRAPS[name], to)
