"""Programs in which a recording of TensorFlow could go wrong without a word: what every call gives and leaves behind is that of the original.

Each is checked in TensorFlow, and every second week in one other target, another one each time; errors that are right are checked in
every target.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("tensorflow")

from graph_compiler.errors import GraphCompilerError

from ..support.turns import marks
from .traps import (
    aliases,
    branches,
    changes,
    checks,
    foreign,
    functions,
    gradients,
    keras_layers,
    loops,
    mixtures,
    models,
    outside,
    randomness,
    reads,
    resets,
    sizes,
    states,
    tapes,
    training,
    values,
    variables,
    writes,
)
from .traps.table import TARGETS, check

MODULES: tuple[ModuleType, ...] = (
    aliases,
    branches,
    changes,
    checks,
    foreign,
    functions,
    gradients,
    keras_layers,
    loops,
    mixtures,
    models,
    outside,
    randomness,
    reads,
    resets,
    sizes,
    states,
    tapes,
    training,
    values,
    variables,
    writes,
)
TRAPS = {f"{module.__name__.rpartition('.')[2]}-{name}": trap for module in MODULES for name, trap in module.TRAPS.items()}


def _tests() -> list[Any]:
    """(name, target) of each trap."""
    others = (*TARGETS[1:], "", "", "")  # whose turn is nobody's
    return [
        pytest.param(name, to, marks=[] if to == "tensorflow" or trap.error(to) else marks(f"trap {name}", to, others))
        for name, trap in TRAPS.items()
        for to in TARGETS
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "to"), _tests())
def test_trap(name: str, to: str) -> None:
    trap = TRAPS[name]
    words = trap.error(to)
    if words is None:
        check(trap, to)
        return
    with pytest.raises(GraphCompilerError) as caught:
        check(trap, to)
    assert words in str(caught.value)
