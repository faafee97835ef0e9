"""Tests of programs that a recording of TensorFlow could get wrong silently: results and side effects of
every call are compared.
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
