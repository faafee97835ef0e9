"""Every sample call, converted to each target, gives what torch gives: at the recorded arguments, and at others with the same graph."""

from __future__ import annotations

import functools
import importlib
import pkgutil
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

MODULES = [importlib.import_module(f"{samples.__name__}.{module.name}") for module in pkgutil.iter_modules(samples.__path__)]
SAMPLES = [
    pytest.param(name := f"{module.__name__.rpartition('.')[2]}-{sample}", sample, id=name)
    for module in MODULES
    for sample in module.SAMPLES
]
PLACES = {id(case.values[1]): place for place, case in enumerate(SAMPLES)}  # some names are those of more samples
ERRORS = [
    pytest.param(sample, id=f"{module.__name__.rpartition('.')[2]}-{sample.function.__name__}")
    for module in MODULES
    for sample in getattr(module, "ERRORS", ())
]


COMPILED = ("jax",)  # one compilation of the whole takes half the time of one for each operation; the programs run as they are


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_sample(name: str, sample: Sample, to: str) -> None:
    if reason := unsupported_samples(to).get(name):
        with pytest.raises(GraphCompilerError):
            check(sample, graph_for(sample, to))
        pytest.xfail(reason)
    found = IN_JAX.results(PLACES[id(sample)]) if to in COMPILED else [ALONE]
    if ALONE in found:
        check(sample, graph_for(sample, to))
    else:
        assert_same(found, [sample.function(*args, **kwargs) for args, kwargs in calls_of(sample)])


def calls_of(sample: Sample) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments of the call that is recorded, and of the other."""
    given = [(sample.args, 0)] + ([] if sample.other is None else [(sample.other, 2)])
    return [(made(args, seed=seed), made(sample.kwargs, seed=1)) for args, seed in given]


@functools.lru_cache(maxsize=24)  # the targets of a sample run one after the other, after a dozen samples in JAX
def recorded(place: int) -> Any:
    """A sample's graph, from which those for other targets are written: what is recorded is the same for all of them."""
    sample = SAMPLES[place].values[1]
    args, kwargs = calls_of(sample)[0]
    return through_canonical(sample.function, "torch", args, kwargs)


def graph_for(sample: Sample, to: str) -> Any:
    """The sample's graph for a target, that has made no call."""
    if to in COMPILED:  # by itself: it could not be compiled with others
        args, kwargs = calls_of(sample)[0]
        return through_canonical(sample.function, to, args, kwargs, return_backend_compiled_fn=True)
    graph = recorded(PLACES[id(sample)])
    return graph if to == "torch" else graph.to(to)


def check(sample: Sample, graph: Any) -> None:
    """The sample's graph gives what torch gives, at the recorded arguments and at the others with the same graph."""
    call = functools.partial(quietly, graph) if sample.function is quietly else graph  # where torch warns, torch as a target does too
    for (args, kwargs), (again, keywords) in zip(calls_of(sample), calls_of(sample), strict=True):
        assert_same(call(*args, **kwargs), sample.function(*again, **keywords))


def jax_calls(sample: Sample) -> list[Call]:
    """The sample's calls of its graph for JAX."""
    graph = recorded(PLACES[id(sample)]).to("jax")
    return [Call(graph, args, kwargs) for args, kwargs in calls_of(sample)]


IN_JAX = Together([functools.partial(jax_calls, case.values[1]) for case in SAMPLES])


@pytest.mark.parametrize("target", TARGETS)
def test_limits_name_samples(target: str) -> None:
    assert not unsupported_samples(target).keys() - {case.values[0] for case in SAMPLES}


@pytest.mark.parametrize("sample", ERRORS)
def test_error_sample(sample: ErrorSample) -> None:
    with pytest.raises(sample.exception, match=sample.message):
        graph_compiler.transpile(sample.function, to="jax", source="torch", args=made(sample.args), kwargs=made(sample.kwargs, seed=1))


def test_arrays_are_reproducible() -> None:
    assert torch.equal(made(Array((2, 3))), made(Array((2, 3))))
