"""Tests of elements that NumPy treats apart: infinities, NaN, repeated elements, and those for which it raises
an error. Each graph is recorded at ordinary elements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same
from tests.support.contexts import wide_types

INF, NAN = np.inf, np.nan


def put(x: Any, places: Any) -> Any:
    np.put(x, places, [7.0, 8.0])
    return x


# A function, the arguments of the recorded call, and those of later calls.
CASES: dict[str, tuple[Callable[..., Any], list[Any], list[list[Any]]]] = {
    "median": (
        lambda x: (np.median(x), np.nanmedian(x)),
        [[1.0, 2.0, 3.0]],
        [
            [[INF, INF]],
            [[INF, 1.0]],
            [[-INF, INF]],
            [[INF, INF, 1.0, -1.0]],
            [[NAN, 1.0, 2.0]],
            [[4.0]],
            [[1.7e308]],
            [[1.7e308, 1.7e308]],
        ],
    ),
    "median of rows": (
        lambda x: (np.median(x, axis=0), np.nanmedian(x, axis=0, keepdims=True)),
        [[[1.0, 2.0], [4.0, 3.0]]],
        [[[[NAN, INF], [NAN, 2.0], [NAN, INF], [NAN, NAN]]], [[[1.0, INF], [NAN, -INF]]]],
    ),
    "interp": (
        np.interp,
        [[0.5, 1.5], [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]],
        [
            [[0.0, 1.0, 2.0, 0.5, 1.5, NAN, -1.0, 3.0], [0.0, 1.0, 2.0], [1.0, INF, -INF]],
            [[0.0, 0.5, 1.0, 1.5], [0.0, 1.0, 2.0], [-INF, -INF, 2.0]],
            [[1.0, 0.5], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 6.0]],
        ],
    ),
    "setdiff1d": (np.setdiff1d, [[3.0, 1.0, 2.0], [1.0]], [[[3.0, NAN, 2.0, NAN, 2.0], [5.0]]]),
    "setdiff1d of unique elements": (
        lambda x, y: np.setdiff1d(x, y, assume_unique=True),
        [[3.0, 1.0, 2.0], [1.0]],
        [[[9.0, 3.0, 1.0, 2.0, 5.0], [5.0]], [[2.0], [2.0]]],
    ),
    "setxor1d": (
        np.setxor1d,
        [[3.0, 1.0, 2.0], [1.0]],
        [[[3.0, NAN, 2.0, NAN], [5.0, 2.0]], [[NAN, NAN], [NAN, 1.0]]],
    ),
    "ldexp": (
        np.ldexp,
        [[1.0, 2.0], [3, 4]],
        [[[1e-300, 1e300, 2.0, -0.0, INF], [1100, -1100, -3, 3, -9]]],
    ),
    "put": (put, [[1.0, 2.0, 3.0], [0, 2]], [[[1.0, 2.0, 3.0], [0, 1, 2]], [[1.0, 2.0, 3.0, 4.0], [1]]]),
    # ---- NumPy raises
    "nanargmax": (np.nanargmax, [[1.0, NAN, 3.0]], [[[NAN, NAN]], [[NAN, 2.0]]]),
    "nanargmin of rows": (
        lambda x: np.nanargmin(x, axis=1),
        [[[1.0, NAN], [2.0, 1.0]]],
        [[[[NAN, 1.0], [NAN, NAN]]], [[[NAN, 1.0]]]],
    ),
    "histogram": (
        lambda x: np.histogram(x, bins=2),
        [[1.0, 2.0]],
        [[[1.0, INF]], [[NAN, 1.0, 2.0]], [[3.0, 3.0, 4.0]]],
    ),
    "average": (
        lambda x, w: np.average(x, weights=w),
        [[1.0, 2.0], [3.0, 4.0]],
        [[[1.0, 2.0], [1.0, -1.0]], [[1.0], [0.0]], [[2.0], [0.5]]],
    ),
    "delete": (
        np.delete,
        [[1.0, 2.0, 3.0], [0, 1]],
        [[[1.0, 2.0], [0, 2]], [[1.0, 2.0], [-3]], [[4.0, 5.0], [-1]]],
    ),
    "power": (lambda x, y: x**y, [[2, 3], [2, 1]], [[[2, 3], [-1, 1]], [[0, 3], [0, 4]]]),
    "np.power": (np.power, [[2, 3], [2, 1]], [[[2, 3], [-1, 1]], [[0, 3], [0, 4]]]),
    "power of some": (
        lambda x, y: np.power(x, y, out=np.ones_like(x), where=x > 2),
        [[2, 3], [-1, 1]],
        [[[3, 2], [2, -2]], [[2, 3], [1, -1]]],
    ),
    "unravel_index": (lambda k: np.unravel_index(k, (3, 4)), [[3, 5]], [[[3, 12]], [[-1]], [[11, 0]]]),
    "ravel_multi_index": (
        lambda i, k: np.ravel_multi_index((i, k), (3, 4)),
        [[0, 1], [3, 2]],
        [[[0, 3], [3, 2]], [[0, 1], [4, 2]], [[-1], [0]], [[2], [3]]],
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
@pytest.mark.parametrize("name", CASES)
def test_special_elements(name: str, to: str) -> None:
    pytest.importorskip(to)
    with wide_types() if to == "jax" else contextlib.nullcontext():
        check(name, to)


def check(name: str, to: str) -> None:
    function, recorded, later = CASES[name]
    graph = graph_compiler.transpile(function, source="numpy", to=to, args=tuple(map(np.array, recorded)))
    for arguments in later:
        ours, theirs = (tuple(map(np.array, arguments)) for _ in range(2))
        try:
            expected = function(*theirs)
        except Exception as problem:
            with pytest.raises(type(problem)):
                graph(*ours)
        else:
            assert_same(graph(*ours), expected)
            assert_same(ours, theirs)


def test_known_ranges_are_not_checked() -> None:
    def program(x: Any) -> Any:
        powers = np.array([2, 3]) ** np.arange(len(x)), np.power(x.argmax(axis=0), [2, 3])
        return np.unravel_index(x.argmax(), x.shape), powers

    graph = graph_compiler.transpile(program, source="numpy", to="torch", args=(np.eye(2),))
    assert not graph.program.guards
