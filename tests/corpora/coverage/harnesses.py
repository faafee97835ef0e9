"""Corpus of JAX's own list of calls of its primitives (``test_harnesses``), compared with JAX."""

from __future__ import annotations

import functools
import zlib
from typing import Any

import jax
import numpy as np
from jax._src.internal_test_util import test_harnesses

import graph_compiler
from tests.support.compare import assert_same

from .judging import assert_metadata, assert_right
from .outcome import Skipped
from .unique_parts import UNIQUE_PARTS

_WIDER = {"float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "complex64": np.complex128}


@functools.cache
def database() -> dict[str, Any]:
    """Return the harnesses that JAX runs on a CPU by full name, sorted by group and name.

    JAX generates some of them from sets of dtypes, whose order varies between processes.
    """
    found = {harness.fullname: harness for harness in test_harnesses.all_harnesses if harness.filter("cpu")}
    return dict(sorted(found.items(), key=lambda item: (item[1].group_name, item[0])))


def names() -> list[str]:
    return list(database())


def group_of(name: str) -> str:
    """Return the harness's group, in most cases its primitive."""
    return str(database()[name].group_name)


def arguments(harness: Any, seed: int) -> list[Any]:
    """Return the array arguments of a harness, sampled with ``seed``."""
    return list(harness.dyn_args_maker(_generator(harness, seed)))


def _generator(harness: Any, seed: int) -> np.random.RandomState:
    return np.random.RandomState(zlib.adler32(harness.fullname.encode()) + seed)


def judge(name: str, target: str) -> dict[str, Any]:
    """Assert that a graph gives what JAX gives for other elements than the recorded ones.

    Raise ``Skipped`` if JAX cannot run the harness.
    """
    harness = database()[name]
    args = arguments(harness, seed=1)
    expected = _in_jax(name)
    graph = graph_compiler.transpile(
        harness.dyn_fun, to=target, source="jax", args=tuple(arguments(harness, seed=0))
    )
    _assert_agrees(harness, args, graph(*args), expected)
    return {}


@functools.lru_cache(maxsize=4)
def _in_jax(name: str) -> Any:
    harness = database()[name]
    try:
        return harness.dyn_fun(*arguments(harness, seed=1))
    except Exception as problem:
        raise Skipped(f"jax: {type(problem).__name__}: {problem}") from problem


def _assert_agrees(harness: Any, args: list[Any], actual: Any, expected: Any) -> None:
    parts = UNIQUE_PARTS.get(harness.group_name)
    if parts is None:
        return assert_right(actual, expected, lambda: _exact(harness))
    assert_metadata(actual, expected)
    assert_same(parts(harness, args, actual), parts(harness, args, expected))
    return None


def _exact(harness: Any) -> Any:
    """Return the result of JAX in float64."""
    with jax.enable_x64(True):
        return harness.fun(*map(_widened, harness.args_maker(_generator(harness, seed=1))))


def _widened(item: Any) -> Any:
    dtype = _WIDER.get(str(getattr(item, "dtype", "")))
    return item if dtype is None else np.asarray(item).astype(dtype)
