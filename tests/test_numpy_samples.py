"""Every sample call of numpy, written for each target, gives what numpy gives: at the recorded arguments, and at others with the same graph."""

from __future__ import annotations

from typing import Any

import pytest

import graph_compiler

from .numpy_source import algebra, arguments, elementwise, opened, reductions, shapes
from .numpy_source.arrays import Sample, made
from .support.compare import assert_same

TARGETS = ("numpy", "canonical", "torch", "jax", "tensorflow")  # canonical: from numpy to numpy through the vocabulary
MODULES = (elementwise, reductions, shapes, algebra, opened, arguments)
SAMPLES = {f"{module.__name__.rpartition('.')[2]}-{one.name}": one for module in MODULES for one in module.SAMPLES}
UNSUPPORTED: dict[tuple[str, str], str] = {}  # (sample, target) -> why; strict


def graph_for(function: Any, target: str) -> Any:
    graph = graph_compiler.transpile(function, source="numpy", to="numpy" if target == "canonical" else target)
    graph.pipeline.same_framework = target == "numpy"
    return graph


def check(one: Sample, target: str) -> None:
    graph = graph_for(one.function, target)
    assert_same(graph(*made(one.arrays, 0)), one.function(*made(one.arrays, 0)))
    if one.grows:
        grown = tuple(array.grown() for array in one.arrays)
        assert_same(graph(*made(grown, 1)), one.function(*made(grown, 1)))
        assert one.again or len(graph.variants) == 1, graph.explain()


def test_names_are_unique() -> None:
    assert len(SAMPLES) == sum(len(module.SAMPLES) for module in MODULES)
    assert len(SAMPLES) >= 400


# Always in numpy, through the vocabulary, and in one other framework in turn; in the two others with -m slow.
CASES = [
    pytest.param(name, target, marks=[] if index < 2 or (index + place) % 3 == 0 else [pytest.mark.slow])
    for place, name in enumerate(SAMPLES)
    for index, target in enumerate(TARGETS)
]


@pytest.mark.parametrize(("name", "target"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's own, of NaN and of division by zero
def test_sample(name: str, target: str) -> None:
    if (name, target) not in UNSUPPORTED:
        return check(SAMPLES[name], target)
    with pytest.raises(Exception):  # noqa: B017  (whatever the reason says)
        check(SAMPLES[name], target)
    return None


def test_checker_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of another function must fail."""
    monkeypatch.setitem(globals(), "graph_for", lambda function, target, made=graph_for: made(lambda x: function(x) * 1.001, target))
    with pytest.raises(AssertionError):
        check(SAMPLES["elementwise-exp"], "torch")
