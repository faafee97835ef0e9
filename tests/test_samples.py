"""Every sample call, converted to each target, gives what torch gives: at the recorded arguments, and at others with the same graph.

A run takes a sample in torch and in one other target in turn; three weeks, or ``scripts/test --all-targets``, are all of them. What is
known to be refused is tried in every run.
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
from graph_compiler.errors import GraphCompilerError

from . import samples
from .limits import TARGETS, unsupported_samples
from .support.canonical import through_canonical
from .support.compare import assert_same
from .support.samples import Array, ErrorSample, Sample, made, quietly
from .support.together import ALONE, Call, Together
from .support.turns import WEEK, marks, rests

MODULES = [importlib.import_module(f"{samples.__name__}.{module.name}") for module in pkgutil.iter_modules(samples.__path__)]
SAMPLES: list[tuple[str, Sample]] = [
    (f"{module.__name__.rpartition('.')[2]}-{sample}", sample) for module in MODULES for sample in module.SAMPLES
]

COMPILED = ("jax",)  # one compilation of the whole takes half the time of one for each operation; the programs run as they are
OTHERS = [target for target in TARGETS if target != "torch"]


def numbered(names: list[str]) -> list[str]:
    """Some names are those of more samples: from the second on they have a number.

    >>> numbered(["a", "b", "a"])
    ['a', 'b', 'a 2']
    """
    before: Counter[str] = Counter()
    found = []
    for name in names:
        before[name] += 1
        found.append(name if before[name] == 1 else f"{name} {before[name]}")
    return found


def marks_of(place: int, name: str, to: str) -> list[Any]:
    """Some names are those of more samples: these have their turns one after the other."""
    return [] if to == "torch" or name in unsupported_samples(to) else marks(f"sample {place % len(OTHERS)} {name}", to, OTHERS)


CALLED = numbered([name for name, _ in SAMPLES])
CASES = [
    pytest.param(place, name, sample, to, id=f"{CALLED[place]}-{to}", marks=marks_of(place, name, to))
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
        with pytest.raises(GraphCompilerError):
            check(sample, graph_for(place, to))
        pytest.xfail(reason)
    found = IN_JAX.results(TOGETHER.index(place)) if to in COMPILED else [ALONE]
    if ALONE in found:
        check(sample, graph_for(place, to))
    else:
        assert_same(found, [sample.function(*args, **kwargs) for args, kwargs in calls_of(sample)])


def calls_of(sample: Sample) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments of the call that is recorded, and of the other."""
    given = [(sample.args, 0)] + ([] if sample.other is None else [(sample.other, 2)])
    return [(made(args, seed=seed), made(sample.kwargs, seed=1)) for args, seed in given]


@functools.lru_cache(maxsize=64)  # the targets of a sample run one after the other, after a dozen samples in JAX of every third
def recorded(place: int) -> Any:
    """A sample's graph, from which those for other targets are written: what is recorded is the same for all of them."""
    sample = SAMPLES[place][1]
    args, kwargs = calls_of(sample)[0]
    return through_canonical(sample.function, "torch", args, kwargs)


def graph_for(place: int, to: str) -> Any:
    """The graph of the sample at a place for a target, that has made no call."""
    if to in COMPILED:  # by itself: it could not be compiled with others
        sample = SAMPLES[place][1]
        args, kwargs = calls_of(sample)[0]
        return through_canonical(sample.function, to, args, kwargs, return_backend_compiled_fn=True)
    graph = recorded(place)
    return graph if to == "torch" else graph.to(to)


def check(sample: Sample, graph: Any) -> None:
    """The sample's graph gives what torch gives, at the recorded arguments and at the others with the same graph."""
    call = functools.partial(quietly, graph) if sample.function is quietly else graph  # where torch warns, torch as a target does too
    for (args, kwargs), (again, keywords) in zip(calls_of(sample), calls_of(sample), strict=True):
        assert_same(call(*args, **kwargs), sample.function(*again, **keywords))


def jax_calls(place: int) -> list[Call]:
    """The calls of the graph for JAX of the sample at a place."""
    graph = recorded(place).to("jax")
    return [Call(graph, args, kwargs) for args, kwargs in calls_of(SAMPLES[place][1])]


def rests_in_jax(place: int) -> bool:
    """Whether a sample does not run in JAX this week."""
    return bool(marks_of(place, SAMPLES[place][0], "jax")) or rests("tests/test_samples.py", "test_sample", f"{CALLED[place]}-jax")


# Those that run in JAX this week stand side by side, for these alone are compiled.
TOGETHER = sorted(range(len(SAMPLES)), key=rests_in_jax)
IN_JAX = Together([functools.partial(jax_calls, place) for place in TOGETHER])


def test_three_weeks_are_every_target(monkeypatch: pytest.MonkeyPatch) -> None:
    weeks = []
    for week in range(2000, 2003):
        monkeypatch.setenv(WEEK, str(week))
        weeks.append({(place, to) for place, (name, _) in enumerate(SAMPLES) for to in TARGETS if not marks_of(place, name, to)})
    assert set.union(*weeks) == {(place, to) for place in range(len(SAMPLES)) for to in TARGETS}
    assert all(2 * len(SAMPLES) <= len(week) < 2.1 * len(SAMPLES) for week in weeks)


@pytest.mark.parametrize("target", TARGETS)
def test_limits_name_samples(target: str) -> None:
    assert not unsupported_samples(target).keys() - {name for name, _ in SAMPLES}


@pytest.mark.parametrize("sample", ERRORS)
def test_error_sample(sample: ErrorSample) -> None:
    with pytest.raises(sample.exception, match=sample.message):
        graph_compiler.transpile(sample.function, to="jax", source="torch", args=made(sample.args), kwargs=made(sample.kwargs, seed=1))


def test_arrays_are_reproducible() -> None:
    assert torch.equal(made(Array((2, 3))), made(Array((2, 3))))
