"""Tests of NumPy and JAX functions that query types: under every name they see the types of arrays and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.recording.patches.builtin_names import ClassShim

_KIND = type


def of_arrays(x: Any) -> Any:
    if type(x) is not np.ndarray:
        return x * 3
    return x * 2, type(x[0, 0]) is np.float32, type(x.sum()).__name__


def of_sizes(x: Any) -> Any:
    kind = type
    return x * 2, type(x.shape[0]) is int, kind(x.shape[1])(2.5), [_KIND(size) is int for size in x.shape]


def of_others(x: Any) -> Any:
    """Use the replaced class for everything else that a class can do."""

    class Meta(type):
        pass

    return (
        x * 2,
        isinstance(Meta, type),
        issubclass(Meta, type),
        float is float,
        type("Made", (), {"n": 3})().n,
        type.__name__,
    )


def _assert_same(found: Any, expected: Any) -> None:
    assert len(found) == len(expected)
    np.testing.assert_array_equal(np.asarray(found[0]), expected[0])
    assert found[1:] == expected[1:]


@pytest.mark.parametrize("to", ["numpy", "torch"])
@pytest.mark.parametrize("function", [of_arrays, of_sizes, of_others])
def test_types_in_a_function_of_numpy(function: Any, to: str) -> None:
    pytest.importorskip("torch")
    graph = graph_compiler.compile(function, to=to, source="numpy")
    for rows in (2, 4, 1):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        _assert_same(graph(x), function(x))
    assert "type" not in globals() and _KIND is type


@pytest.mark.parametrize("function", [of_sizes, of_others])
def test_types_in_a_function_of_jax(function: Any) -> None:
    jnp = pytest.importorskip("jax.numpy")
    graph = graph_compiler.compile(function, source="jax")
    for rows in (2, 4, 1):
        x = jnp.arange(rows * 3.0).reshape(rows, 3)
        _assert_same(graph(x), function(x))
    assert "type" not in globals() and _KIND is type


def test_the_stand_in_may_stand_in_unions_of_classes() -> None:
    asked = ClassShim(type, type)
    assert isinstance(int, asked | str) and isinstance("a", int | str) and isinstance("a", str | asked)
