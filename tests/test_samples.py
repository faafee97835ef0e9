"""Every sample call, converted to each target, gives what torch gives: at the recorded arguments, and at others with the same graph."""

from __future__ import annotations

import functools
import importlib
import pkgutil

import pytest
import torch

import graph_compiler
from graph_compiler.errors import GraphCompilerError

from . import samples
from .limits import TARGETS, unsupported_samples
from .support.canonical import through_canonical
from .support.compare import assert_same
from .support.samples import Array, ErrorSample, Sample, made, quietly

MODULES = [importlib.import_module(f"{samples.__name__}.{module.name}") for module in pkgutil.iter_modules(samples.__path__)]
SAMPLES = [
    pytest.param(name := f"{module.__name__.rpartition('.')[2]}-{sample}", sample, id=name)
    for module in MODULES
    for sample in module.SAMPLES
]
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
            check(sample, to)
        pytest.xfail(reason)
    check(sample, to, others=to not in COMPILED or name in IN_TURN)


# What is compiled once more for other arguments: each third always, the others with -m slow. The graph is what other targets run there.
IN_TURN = {case.id for case in SAMPLES[::3]}


@pytest.mark.slow
@pytest.mark.parametrize("to", COMPILED)
@pytest.mark.parametrize(("name", "sample"), [case for case in SAMPLES if case.id not in IN_TURN and case.values[1].other is not None])
def test_sample_at_other_arguments(name: str, sample: Sample, to: str) -> None:
    if name not in unsupported_samples(to):
        check(sample, to)


def check(sample: Sample, to: str, others: bool = True) -> None:
    """The sample's call in a target gives what torch gives, at the recorded arguments and at ``others`` with the same graph."""
    args, kwargs = made(sample.args), made(sample.kwargs, seed=1)
    expected = sample.function(*made(sample.args), **made(sample.kwargs, seed=1))
    graph = through_canonical(sample.function, to, args, kwargs, return_backend_compiled_fn=to in COMPILED)
    call = functools.partial(quietly, graph) if sample.function is quietly else graph  # where torch warns, torch as a target does too
    assert_same(call(*args, **kwargs), expected)
    if others and sample.other is not None:
        other = made(sample.other, seed=2)
        expected = sample.function(*made(sample.other, seed=2), **made(sample.kwargs, seed=1))
        assert_same(call(*other, **kwargs), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_limits_name_samples(target: str) -> None:
    assert not unsupported_samples(target).keys() - {case.values[0] for case in SAMPLES}


@pytest.mark.parametrize("sample", ERRORS)
def test_error_sample(sample: ErrorSample) -> None:
    with pytest.raises(sample.exception, match=sample.message):
        graph_compiler.transpile(sample.function, to="jax", source="torch", args=made(sample.args), kwargs=made(sample.kwargs, seed=1))


def test_arrays_are_reproducible() -> None:
    assert torch.equal(made(Array((2, 3))), made(Array((2, 3))))
