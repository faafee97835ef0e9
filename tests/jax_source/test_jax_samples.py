"""Every sample call of JAX, written for each target, gives what JAX gives: at the recorded arguments, and at others without recording again."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import graph_compiler
from graph_compiler.trees import map_structure

from ..support.compare import assert_same, to_numpy
from ..support.samples import Sample, made
from ..support.tolerance import NARROWER
from . import samples
from .limits import RECORDED_AGAIN, UNSUPPORTED

TARGETS = ("jax", "torch", "tensorflow", "numpy")
MODULES = [
    importlib.import_module(f"{samples.__name__}.{module.name}")
    for module in pkgutil.iter_modules(samples.__path__)
    if module.name != "table"
]
NAMED = [(f"{module.__name__.rpartition('.')[2]}-{sample}", sample) for module in MODULES for sample in module.SAMPLES]
SAMPLES = dict(NAMED)


def as_jax(structure: Any) -> Any:
    """Sample arrays as JAX has them, without its 64-bit types."""

    def convert(item: Any) -> Any:
        dtype = str(item.dtype).removeprefix("torch.")
        return jnp.asarray(to_numpy(item)).astype(NARROWER.get(dtype, dtype))

    return map_structure(lambda item: convert(item) if hasattr(item, "dtype") else item, structure)


def plain(structure: Any, to: str) -> Any:
    """Arguments as a user of the target has them."""
    if to == "jax":
        return structure
    return map_structure(lambda item: jnp.asarray(item).__array__() if isinstance(item, jax.Array) else item, structure)


def check(sample: Sample, to: str) -> int:
    """How many variants the two calls took."""
    args = as_jax(made(sample.args))
    graph = graph_compiler.compile(sample.function, to=to, source="jax", args=args, kwargs=sample.kwargs)
    assert_same(graph(*plain(args, to), **sample.kwargs), sample.function(*args, **sample.kwargs))
    if sample.other is not None:
        other = as_jax(made(sample.other, seed=2))
        assert_same(graph(*plain(other, to), **sample.kwargs), sample.function(*other, **sample.kwargs))
    return len(graph.variants)


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name: str) -> None:
    targets = [to for to in TARGETS if (name, to) not in UNSUPPORTED]
    counts = {check(SAMPLES[name], to) for to in targets}
    assert (max(counts) > 1) == (name in RECORDED_AGAIN), f"recorded {max(counts)} times"


@pytest.mark.parametrize(("name", "to"), UNSUPPORTED)
def test_limit(name: str, to: str) -> None:
    with pytest.raises(UNSUPPORTED[name, to][0], match=UNSUPPORTED[name, to][1]):
        check(SAMPLES[name], to)


def test_names_are_unique() -> None:
    assert len(NAMED) == len(SAMPLES) > 450


def test_limits_name_samples() -> None:
    assert {*RECORDED_AGAIN, *(name for name, _ in UNSUPPORTED)} <= SAMPLES.keys()
