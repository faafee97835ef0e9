"""Tests of constant scalars that become literals: dtypes of results stay those of the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

# Each row: function, argument, number of constants that remain.
SAMPLES: dict[str, tuple[Callable[[Any], Any], Any, int]] = {
    "same dtype": (lambda x: x + np.float32(1.5), np.ones(3, "float32"), 0),
    "wider scalar": (lambda x: x * np.float64(0.1), np.ones(3, "float32"), 0),
    "narrower scalar": (lambda x: x - np.float32(0.1), np.ones(3), 0),
    "integers": (lambda x: x * np.int64(2), np.array([-3, 4]), 0),
    "large unsigned integers": (lambda x: x ^ np.uint32(0xFFFFFFFF), np.array([3, 4], "uint32"), 1),
    "integers and a float": (lambda x: x + np.float32(2), np.array([-3, 4]), 0),
    "not finite": (lambda x: np.maximum(x, np.float64("-inf")) + np.float64("nan"), np.ones(3), 0),
    "negative zero": (lambda x: np.copysign(x, np.float64(-0.0)), np.ones(3), 0),
    "complex": (lambda x: x * np.complex128(1j), np.ones(3), 0),
    "two scalars": (lambda x: np.where(x > 0, np.float64(1), np.float64(2)), np.array([-1.0, 1.0]), 2),
}


@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("name", SAMPLES)
def test_scalars_become_literals(name: str, to: str) -> None:
    pytest.importorskip(to)
    function, x, count = SAMPLES[name]
    graph = graph_compiler.transpile(function, to=to, args=(x,))
    assert len(graph.program.constants) == count, graph.source
    for given in (x, x * 3):
        made, wanted = np.asarray(graph(given)), function(given)
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)
        np.testing.assert_array_equal(np.signbit(made.real), np.signbit(wanted.real))


def test_integers_that_jax_cannot_pass_stay_arrays() -> None:
    pytest.importorskip("jax")
    x = np.array([3, 4], "uint32")
    graph = graph_compiler.transpile(lambda x: x ^ np.uint32(0xFFFFFFFF), to="jax", args=(x,))
    np.testing.assert_array_equal(np.asarray(graph(x)), ~x)


DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
]


@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_keep_the_dtype_of_numpy(dtype: str, to: str) -> None:
    pytest.importorskip(to)
    x = np.array([1, 2, 3]).astype(dtype)
    for scalar in [np.dtype(name).type(3) for name in DTYPES]:
        graph = graph_compiler.transpile(lambda x, scalar=scalar: x * scalar, to=to, args=(x,))
        made, wanted = np.asarray(graph(x[::-1])), x[::-1] * scalar
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)
