"""Tests of functions of integers near the ends of their dtype's range, where a target that computes in
another dtype is wrong without a sign of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import TargetRefused
from tests.support.compare import assert_same

Function = Callable[[Any, Any], Any]

# A function of NumPy itself has parameters that the graph would have, too.
# ruff: noqa: PLW0108
FUNCTIONS: dict[str, Function] = {
    "argmax": lambda x, y: np.argmax(x),
    "argmin": lambda x, y: np.argmin(x, keepdims=True),
    "max": lambda x, y: np.max(x),
    "min": lambda x, y: np.min(x),
    "ptp": lambda x, y: np.ptp(x),
    "sort": lambda x, y: np.sort(x),
    "argsort": lambda x, y: np.argsort(x, kind="stable"),
    "lexsort": lambda x, y: np.lexsort((x, y)),
    "partition": lambda x, y: np.partition(x, 2)[2],
    "unique": lambda x, y: np.unique(x),
    "unique inverse": lambda x, y: np.unique(x, return_inverse=True)[1],
    "union1d": lambda x, y: np.union1d(x, y),
    "isin": lambda x, y: np.isin(x, y),
    "searchsorted": lambda x, y: np.searchsorted(np.sort(x), y),
    "digitize": lambda x, y: np.digitize(x, np.sort(y)),
    "cumsum": lambda x, y: np.cumsum(x),
    "cumprod": lambda x, y: np.cumprod(x),
    "cummax": lambda x, y: np.maximum.accumulate(x),
    "sum": lambda x, y: np.sum(x),
    "prod": lambda x, y: np.prod(x),
    "diff": lambda x, y: np.diff(x),
    "clip": lambda x, y: np.clip(x, y.min(), y.max()),
    "maximum": lambda x, y: np.maximum(x, y),
    "minimum": lambda x, y: np.minimum(x, y),
    "less": lambda x, y: x < y,
    "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "where": lambda x, y: np.where(x > y, x, y),
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negative": lambda x, y: -x,
    "square": lambda x, y: np.square(x),
    "power": lambda x, y: x**3,
    "power of an array": lambda x, y: np.power(x, y % 4),
    "power by large numbers": lambda x, y: (y ** np.maximum(x, 0), 3 ** np.maximum(x, 0)),
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "remainder of a number": lambda x, y: x % 3,
    "fmod": lambda x, y: np.fmod(x, y),
    "divmod": lambda x, y: np.divmod(x, y),
    "divide": lambda x, y: x / y,
    "absolute": lambda x, y: np.abs(x),
    "sign": lambda x, y: np.sign(x),
    "bitwise_and": lambda x, y: x & y,
    "bitwise_xor": lambda x, y: x ^ y,
    "invert": lambda x, y: ~x,
    "left_shift": lambda x, y: x << (y % 7),
    "right_shift": lambda x, y: x >> (y % 7),
    "bitwise_count": lambda x, y: np.bitwise_count(x),
    "dot": lambda x, y: np.dot(x, y),
    "outer": lambda x, y: np.outer(x, y),
    "matmul": lambda x, y: x.reshape(2, 3) @ y.reshape(3, 2),
    "einsum": lambda x, y: np.einsum("i,i->", x, y),
    "convolve": lambda x, y: np.convolve(x, y),
    "bincount": lambda x, y: np.bincount(x % 5),
    "mean": lambda x, y: np.mean(x),
    "as float64": lambda x, y: x.astype(np.float64),
    "as float32": lambda x, y: x.astype(np.float32),
    "as int8": lambda x, y: x.astype(np.int8),
    "as int64": lambda x, y: x.astype(np.int64),
    "as uint64": lambda x, y: x.astype(np.uint64),
    "int of an element": lambda x, y: np.array([int(x[0]) // 2, int(y[1])]),
}

# dtype: neighbours in the upper half of its range, at its ends, and in pairs that float64 cannot tell apart.
NUMBERS = {
    "uint64": (
        [1, 2**63 + 5, 3, 2**63 + 6, 2**63, 2**64 - 1],
        [2**63 + 1, 7, 2**63 + 6, 5, 2, 2**62],
    ),
    "int64": (
        [1, 2**62 + 5, -(2**62) - 1, 2**53 + 1, 2**53, -(2**63)],
        [2**62 + 6, 7, -(2**62) - 2, 2**53, 3, 2**63 - 1],
    ),
    "uint32": (
        [1, 2**31 + 5, 3, 2**31 + 6, 2**31, 2**32 - 1],
        [2**31 + 1, 7, 2**31 + 6, 5, 2, 2**30],
    ),
    "int8": ([1, 100, -100, 99, 98, -128], [101, 7, -100, 99, 3, 127]),
}
# Functions of uint64 that torch has no kernels for: they raise an error, as `docs/limits.md` says. Strict.
NO_KERNELS_IN_TORCH = frozenset({
    "max", "min", "ptp", "lexsort", "searchsorted", "digitize", "cummax", "clip", "power", "power of an array",
    "power by large numbers", "absolute", "sign", "bitwise_count",
})  # fmt: skip


@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_in_the_upper_half_of_uint64(dtype: str, to: str) -> None:
    def function(x: Any) -> Any:
        return x.astype(np.uint64), np.round(x.astype(np.uint64), -1)

    graph = graph_compiler.compile(function, to=to, args=[np.ones(2, dtype)])
    numbers = [2.0**63, 2.0**63 + 2**45, 1.5 * 2.0**63, 2.0**53, 25.5, 0.0]
    # A comparison with a number of NumPy would convert 2**63 to float16, with a warning.
    x = np.array([number for number in numbers if number < float(np.finfo(dtype).max)], dtype)
    assert_same(graph(x), function(x))


@pytest.mark.parametrize("to", ["torch", "tensorflow", "jax"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8"])
def test_common_divisors_of_the_smallest_integer(dtype: str, to: str) -> None:
    def function(x: Any, y: Any) -> Any:
        return np.gcd(x, y), np.lcm(x, y), np.gcd(x, 96), np.lcm(y, 2)

    one = np.ones(2, dtype)
    graph = graph_compiler.compile(function, to=to, args=[one, one])
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.array([low, low, low, low, low, low, 0, 96, high, 12, 0], dtype)
    y = np.array([100, 96, 0, low, 1, high, low, low, low, 18, 0], dtype)
    assert_same(graph(x, y), function(x, y))
    if dtype != "uint8":
        assert_same(graph(x, -y), function(x, -y))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_numpy(name: str, dtype: str, to: str) -> None:
    function = FUNCTIONS[name]
    if to == "torch" and dtype == "uint64" and name in NO_KERNELS_IN_TORCH:
        one = np.ones(6, dtype)
        with pytest.raises(TargetRefused, match="not implemented for 'UInt64'"):
            graph_compiler.compile(function, to=to, args=[one, one])(one, one)
        return
    x, y = (np.array(numbers, dtype) for numbers in NUMBERS[dtype])
    small = [np.array([3, 1, 2, 5, 4, 6], dtype), np.array([1, 2, 3, 4, 5, 6], dtype)]
    graph = graph_compiler.compile(function, to=to, args=small)
    for call in ([x, y], [x[[2, 0, 1, 4, 3, 5]], y[[1, 0, 3, 2, 5, 4]]]):
        assert_same(graph(*call), function(*call))
