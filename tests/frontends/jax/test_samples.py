"""Tests of every JAX sample in each target: it gives what JAX gives, at the recorded arguments and at others
without another recording.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import graph_compiler
from graph_compiler.trees import map_structure
from tests.support.canonical import lifted
from tests.support.compare import assert_same, to_numpy
from tests.support.jitted import jax_array
from tests.support.samples import Sample, made
from tests.support.selection import pairs
from tests.support.tolerance import NARROWER

from . import samples
from .limits import RECORDED_AGAIN, UNSUPPORTED

TARGETS = ("jax", "torch", "tensorflow", "numpy")
MODULES = [
    importlib.import_module(f"{samples.__name__}.{module.name}")
    for module in pkgutil.iter_modules(samples.__path__)
    if module.name != "table"
]
NAMED = [
    (f"{module.__name__.rpartition('.')[2]}-{sample}", sample)
    for module in MODULES
    for sample in module.SAMPLES
]
SAMPLES = dict(NAMED)


def as_jax(structure: Any) -> Any:
    """Return the sample's arrays as JAX arrays of 32-bit dtypes."""

    def convert(item: Any) -> Any:
        dtype = str(item.dtype).removeprefix("torch.")
        return jax_array(to_numpy(item), NARROWER.get(dtype, dtype))

    return map_structure(lambda item: convert(item) if hasattr(item, "dtype") else item, structure)


def plain(structure: Any, to: str) -> Any:
    """Return the arguments as NumPy arrays, or unchanged for the target JAX."""
    if to == "jax":
        return structure
    return map_structure(
        lambda item: jnp.asarray(item).__array__() if isinstance(item, jax.Array) else item, structure
    )


def recorded(sample: Sample, to: str) -> Any:
    return graph_compiler.compile(
        sample.function, to=to, source="jax", args=as_jax(made(sample.args)), kwargs=sample.kwargs
    )


def calls_of(sample: Sample) -> list[tuple[Any, Any]]:
    """Return (arguments, JAX's result) of the recorded call and, if there is one, of the other call."""
    given = [as_jax(made(sample.args))] + (
        [] if sample.other is None else [as_jax(made(sample.other, seed=2))]
    )
    return [(args, sample.function(*args, **sample.kwargs)) for args in given]


def check(graph: Any, to: str, calls: list[tuple[Any, Any]], kwargs: Any) -> int:
    """Assert that the graph gives the expected results, and return the number of its variants."""
    for args, expected in calls:
        assert_same(graph(*plain(args, to), **kwargs), expected)
    return len(graph.variants)


@pytest.mark.parametrize(
    ("name", "to"), [case for case in pairs(SAMPLES, TARGETS) if case not in UNSUPPORTED]
)
def test_sample(name: str, to: str) -> None:
    sample = SAMPLES[name]
    variants = check(recorded(sample, to), to, calls_of(sample), sample.kwargs)
    assert variants == 1 or name in RECORDED_AGAIN, f"recorded {variants} times"


# These operations come only from calls of JAX, which graphs for JAX repeat as recorded.
CANONICAL = ("linear_algebra-tridiagonal_solve", "primitives-draws of a key", "shapes-dynamic_update_slice")


@pytest.mark.parametrize("name", CANONICAL)
def test_through_canonical_operations(name: str) -> None:
    sample = SAMPLES[name]
    graph = lifted(graph_compiler.compile(sample.function, to="jax", source="jax"))
    assert check(graph, "jax", calls_of(sample), sample.kwargs) == 1


@pytest.mark.parametrize("name", RECORDED_AGAIN)
def test_recorded_again(name: str) -> None:
    """The list of samples with several variants is strict: at least one target must need more than one."""
    sample = SAMPLES[name]
    targets = [to for to in TARGETS if (name, to) not in UNSUPPORTED]
    assert max(check(recorded(sample, to), to, calls_of(sample), sample.kwargs) for to in targets) > 1


@pytest.mark.parametrize(("name", "to"), UNSUPPORTED)
def test_limit(name: str, to: str) -> None:
    with pytest.raises(UNSUPPORTED[name, to][0], match=UNSUPPORTED[name, to][1]):
        check(recorded(SAMPLES[name], to), to, calls_of(SAMPLES[name]), SAMPLES[name].kwargs)


def test_names_are_unique() -> None:
    assert len(NAMED) == len(SAMPLES) > 450


def test_limits_name_samples() -> None:
    assert {*RECORDED_AGAIN, *(name for name, _ in UNSUPPORTED)} <= SAMPLES.keys()
