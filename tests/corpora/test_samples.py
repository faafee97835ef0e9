"""Tests of every sample call in each target: it gives what torch gives, at the recorded arguments and at
others with the same graph.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections import Counter
from typing import Any

import pytest
import torch

import graph_compiler
from graph_compiler.errors import GraphCompilerError, InternalError
from tests.support.canonical import through_canonical
from tests.support.compare import assert_same
from tests.support.samples import Array, ErrorSample, Sample, made, quietly
from tests.support.selection import is_drawn
from tests.support.together import ALONE, Call, Together

from . import samples
from .limits import TARGETS, unsupported_samples

MODULES = [
    importlib.import_module(f"{samples.__name__}.{module.name}")
    for module in pkgutil.iter_modules(samples.__path__)
]
SAMPLES: list[tuple[str, Sample]] = [
    (f"{module.__name__.rpartition('.')[2]}-{sample}", sample)
    for module in MODULES
    for sample in module.SAMPLES
]

NODE = "tests/corpora/test_samples.py"
# To compile a whole graph takes half the time of compiling each operation. The programs run as they are.
COMPILED = ("jax",)


def numbered(names: list[str]) -> list[str]:
    """Return the names with a number appended from the second occurrence on.

    >>> numbered(["a", "b", "a"])
    ['a', 'b', 'a 2']
    """
    before: Counter[str] = Counter()
    found = []
    for name in names:
        before[name] += 1
        found.append(name if before[name] == 1 else f"{name} {before[name]}")
    return found


CALLED = numbered([name for name, _ in SAMPLES])
CASES = [
    pytest.param(place, name, sample, to, id=f"{CALLED[place]}-{to}")
    for place, (name, sample) in enumerate(SAMPLES)
    for to in TARGETS
]
ERRORS = [
    pytest.param(sample, id=f"{module.__name__.rpartition('.')[2]}-{sample.function.__name__}")
    for module in MODULES
    for sample in getattr(module, "ERRORS", ())
]


@pytest.mark.parametrize(("place", "name", "sample", "to"), CASES)
def test_sample(place: int, name: str, sample: Sample, to: str) -> None:
    if reason := unsupported_samples(to).get(name):
        with pytest.raises(GraphCompilerError) as caught:
            check(sample, graph_for(place, to))
        assert not isinstance(caught.value, InternalError)
        pytest.xfail(reason)
    found = IN_JAX.results(TOGETHER.index(place)) if to in COMPILED else [ALONE]
    if ALONE in found:
        check(sample, graph_for(place, to))
    else:
        assert_same(found, [sample.function(*args, **kwargs) for args, kwargs in calls_of(sample)])


def calls_of(sample: Sample) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return (args, kwargs) of the recorded call and, if there is one, of the other call."""
    given = [(sample.args, 0)] + ([] if sample.other is None else [(sample.other, 2)])
    return [(made(args, seed=seed), made(sample.kwargs, seed=1)) for args, seed in given]


# The targets of a sample run one after the other, after a dozen samples in JAX.
@functools.lru_cache(maxsize=64)
def recorded(place: int) -> Any:
    """Return the lifted graph of a sample, from which the graph of each target is written."""
    sample = SAMPLES[place][1]
    args, kwargs = calls_of(sample)[0]
    return through_canonical(sample.function, "torch", args, kwargs)


def graph_for(place: int, to: str) -> Any:
    """Return the graph of sample number ``place`` for a target, which has made no call."""
    # It is compiled separately, because an error would affect others in the same program.
    if to in COMPILED:
        sample = SAMPLES[place][1]
        args, kwargs = calls_of(sample)[0]
        return through_canonical(sample.function, to, args, kwargs, return_backend_compiled_fn=True)
    graph = recorded(place)
    return graph if to == "torch" else graph.to(to)


def check(sample: Sample, graph: Any) -> None:
    """Assert that the graph gives what torch gives for all calls of the sample."""
    # A graph for torch gives torch's warnings too.
    call = functools.partial(quietly, graph) if sample.function is quietly else graph
    for (args, kwargs), (again, keywords) in zip(calls_of(sample), calls_of(sample), strict=True):
        assert_same(call(*args, **kwargs), sample.function(*again, **keywords))


def jax_calls(place: int) -> list[Call]:
    """Return the calls of the JAX graph of sample number ``place``."""
    graph = recorded(place).to("jax")
    return [Call(graph, args, kwargs) for args, kwargs in calls_of(SAMPLES[place][1])]


# The selected samples come first, so that a run compiles programs of selected samples alone.
TOGETHER = sorted(
    range(len(SAMPLES)),
    key=lambda place: is_drawn(f"{NODE}::test_sample", f"{CALLED[place]}-jax"),
    reverse=True,
)
IN_JAX = Together([functools.partial(jax_calls, place) for place in TOGETHER])


@pytest.mark.parametrize("target", TARGETS)
def test_limits_name_samples(target: str) -> None:
    assert not unsupported_samples(target).keys() - {name for name, _ in SAMPLES}


@pytest.mark.parametrize("sample", ERRORS)
def test_error_sample(sample: ErrorSample) -> None:
    with pytest.raises(sample.exception, match=sample.message):
        graph_compiler.transpile(
            sample.function,
            to="jax",
            source="torch",
            args=made(sample.args),
            kwargs=made(sample.kwargs, seed=1),
        )


def test_arrays_are_reproducible() -> None:
    assert torch.equal(made(Array((2, 3))), made(Array((2, 3))))
