"""Every sample call of JAX, written for each target, gives what JAX gives: at the recorded arguments, and at others without recording
again."""

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
from ..support.jitted import jax_array
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
        return jax_array(to_numpy(item), NARROWER.get(dtype, dtype))

    return map_structure(lambda item: convert(item) if hasattr(item, "dtype") else item, structure)


def plain(structure: Any, to: str) -> Any:
    """Arguments as a user of the target has them."""
    if to == "jax":
        return structure
    return map_structure(lambda item: jnp.asarray(item).__array__() if isinstance(item, jax.Array) else item, structure)


def recorded(sample: Sample, to: str) -> Any:
    """The sample recorded for a target."""
    return graph_compiler.compile(sample.function, to=to, source="jax", args=as_jax(made(sample.args)), kwargs=sample.kwargs)


def calls_of(sample: Sample) -> list[tuple[Any, Any]]:
    """Arguments and what JAX gives for them: those that are recorded, and others."""
    given = [as_jax(made(sample.args))] + ([] if sample.other is None else [as_jax(made(sample.other, seed=2))])
    return [(args, sample.function(*args, **sample.kwargs)) for args in given]


def check(graph: Any, to: str, calls: list[tuple[Any, Any]], kwargs: Any) -> int:
    """How many variants the calls took."""
    for args, expected in calls:
        assert_same(graph(*plain(args, to), **kwargs), expected)
    return len(graph.variants)


# Two of three always: in one other framework in turn, each fourth one in JAX too, which compiles each call. All in all of them with -m
# slow.
CASES = [
    *((name, (*TARGETS[: place % 4 == 1], TARGETS[1 + place // 3 % 3])) for place, name in enumerate(SAMPLES) if place % 3),
    *(pytest.param(name, TARGETS, marks=pytest.mark.slow) for name in SAMPLES),
]


@pytest.mark.parametrize(("name", "targets"), CASES)
def test_sample(name: str, targets: tuple[str, ...]) -> None:
    """It is traced once for JAX and once for the other frameworks, of which the later ones are written from the graph of the first."""
    sample, calls, counts, first = SAMPLES[name], calls_of(SAMPLES[name]), {1}, None
    for to in (to for to in targets if (name, to) not in UNSUPPORTED):
        graph = recorded(sample, to) if first is None else first.to(to)
        first = first or (None if to == "jax" else graph.to(to))  # before calls record more
        counts.add(check(graph, to, calls, sample.kwargs))
    assert max(counts) == 1 or name in RECORDED_AGAIN, f"recorded {max(counts)} times"
    assert max(counts) > 1 or name not in RECORDED_AGAIN or targets != TARGETS, "recorded once"


@pytest.mark.parametrize(("name", "to"), UNSUPPORTED)
def test_limit(name: str, to: str) -> None:
    with pytest.raises(UNSUPPORTED[name, to][0], match=UNSUPPORTED[name, to][1]):
        check(recorded(SAMPLES[name], to), to, calls_of(SAMPLES[name]), SAMPLES[name].kwargs)


def test_names_are_unique() -> None:
    assert len(NAMED) == len(SAMPLES) > 450


def test_limits_name_samples() -> None:
    assert {*RECORDED_AGAIN, *(name for name, _ in UNSUPPORTED)} <= SAMPLES.keys()
