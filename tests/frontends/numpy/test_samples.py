"""Tests of every NumPy sample in each target: it gives what NumPy gives, at the recorded arguments and at
others with the same graph.

The samples of torch test how canonical operations are written in each target. So a run takes a sample in
NumPy, directly and through canonical operations, and in one other target, which changes from week to week;
``scripts/test --all-targets`` runs all.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same
from tests.support.selection import is_drawn, pairs
from tests.support.together import ALONE, Call, Together, results_of

from . import algebra, arguments, elementwise, opened, reductions, scipy_functions, shapes, special
from .arrays import Sample, made

# ``canonical`` is from NumPy to NumPy through canonical operations.
TARGETS = (
    "numpy",
    "canonical",
    "torch",
    "jax",
    "tensorflow",
)
MODULES = (elementwise, special, reductions, shapes, algebra, opened, arguments, scipy_functions)
SAMPLES = {
    f"{module.__name__.rpartition('.')[2]}-{one.name}": one for module in MODULES for one in module.SAMPLES
}
# (sample, target) -> why; strict
UNSUPPORTED: dict[tuple[str, str], str] = {
    (f"special-special.{name}.{other}.nan", "torch"): f"torch ignores NaN beside {beside}"
    for name in ("gammainc", "gammaincc")
    for other, beside in (("infinite", "an infinite parameter"), ("at_0", "0"))
} | {
    ("scipy_functions-cdist of points far from 0", "jax"): "the differences of float32 have few digits",
}


def graph_for(function: Any, target: str) -> Any:
    graph = graph_compiler.transpile(
        function, source="numpy", to="numpy" if target == "canonical" else target
    )
    graph._pipeline.keeps_calls = target == "numpy"
    return graph


def check(one: Sample, target: str) -> None:
    graph = graph_for(one.function, target)
    for ours, theirs in zip(calls_of(one), calls_of(one), strict=True):
        assert_same(graph(*ours), one.function(*theirs))
    assert one.again or len(graph.variants) == 1, graph.explain()


def calls_of(one: Sample) -> list[list[Any]]:
    """Return the arguments of the recorded call and, if the sample grows, those of other sizes."""
    grown = tuple(array.grown() for array in one.arrays)
    return [made(one.arrays, 0), *([made(grown, 1)] if one.grows else [])]


def jax_calls(one: Sample) -> list[Call]:
    graph = graph_for(one.function, "jax")
    graph.add_variant(calls_of(one)[0], {}, "args= given")
    return [Call(graph, tuple(args), {}) for args in calls_of(one)]


# The selected samples come first, so that a run compiles programs of selected samples alone.
ORDER = sorted(
    SAMPLES,
    key=lambda name: is_drawn("tests/frontends/numpy/test_samples.py::test_sample", f"{name}-jax"),
    reverse=True,
)
IN_JAX = Together([functools.partial(jax_calls, SAMPLES[name]) for name in ORDER])


def test_names_are_unique() -> None:
    assert len(SAMPLES) == sum(len(module.SAMPLES) for module in MODULES)
    assert len(SAMPLES) >= 400


PLACES = {name: place for place, name in enumerate(ORDER)}


@pytest.mark.parametrize(("name", "target"), pairs(SAMPLES, TARGETS))
# NumPy warns of NaN and of division by zero.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sample(name: str, target: str) -> None:
    if (name, target) in UNSUPPORTED:
        with pytest.raises(Exception):  # noqa: B017
            check(SAMPLES[name], target)
        return
    found = IN_JAX.results(PLACES[name]) if target == "jax" else [ALONE]
    if ALONE in found:
        check(SAMPLES[name], target)
    else:
        assert_same(found, [SAMPLES[name].function(*args) for args in calls_of(SAMPLES[name])])


def test_checker_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        globals(),
        "graph_for",
        lambda function, target, made=graph_for: made(lambda x: function(x) * 1.001, target),
    )
    with pytest.raises(AssertionError):
        check(SAMPLES["elementwise-exp"], "torch")


def test_calls_in_one_program_are_told_apart() -> None:
    """A call that is wrong or cannot be compiled must not affect the other calls of the program."""
    x = np.linspace(-1, 1, 6)
    doubled, found, tripled = (
        graph_for(function, "jax") for function in (lambda x: x * 2, np.nonzero, lambda x: x * 3)
    )
    for graph in (doubled, found, tripled):
        graph.add_variant([x], {}, "args= given")
    results = results_of([Call(graph, (x,), {}) for graph in (doubled, found, tripled)])
    assert_same(results[0], x * 2)
    assert results[1] is ALONE
    with pytest.raises(AssertionError):
        assert_same(results[2], x * 2)
