"""Tests of index errors: NumPy rejects an index out of bounds, and so must targets that clamp indices or drop
writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

X = np.arange(12.0).reshape(4, 3)
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "an index": lambda x, i: x[i],
    "beside a slice": lambda x, i: x[:, i],
    "two": lambda x, i: x[i, i],
    "take": lambda x, i: np.take(x, i, axis=1),
    "take_along_axis": lambda x, i: np.take_along_axis(x, i.reshape(-1, 1), 1),
    "reshaped": lambda x, i: x[i.reshape(-1, 1)],
}


@pytest.mark.parametrize("dtype", ["int64", "uint32"])
@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", CALLS)
def test_an_index_outside_of_the_axis_is_an_error(name: str, to: str, dtype: str) -> None:
    pytest.importorskip(to)
    function = CALLS[name]
    graph = graph_compiler.compile(function, to=to, args=(X, np.array([0, 1, 2, 1], dtype)))
    inside = np.array([2, 2, 0, 1], dtype)
    np.testing.assert_allclose(np.asarray(graph(X, inside)), function(X, inside))
    outside = [[0, 1, 2, 7], [2**32 - 1, 0, 1, 1]] if dtype == "uint32" else [[0, 1, 2, 7], [-5, 0, 1, 1]]
    for index in outside:
        with pytest.raises(IndexError):
            graph(X, np.array(index, dtype))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_modes_that_bring_indices_inside_refuse_none(to: str) -> None:
    pytest.importorskip(to)
    for mode in ("clip", "wrap"):
        graph = graph_compiler.compile(
            lambda x, i, mode=mode: np.take(x, i, axis=1, mode=mode), to=to, args=(X, np.array([0, 1]))
        )
        np.testing.assert_allclose(
            np.asarray(graph(X, np.array([9, -9]))), np.take(X, [9, -9], axis=1, mode=mode)
        )


def written(x: Any, index: Any, value: Any) -> Any:
    changed = x.copy()
    changed[index] = value
    return changed


CUBE = np.arange(24.0).reshape(4, 3, 2)
# The axes 0, 1 and 2 of a cube have masks of their own.
MASKED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a number behind": lambda x, m, n: x[m, 1],
    "from the end": lambda x, m, n: x[m, -1],
    "a number before": lambda x, m, n: x[1, n],
    "two numbers": lambda x, m, n: x[m, 1, 0],
    "an array without axes": lambda x, m, n: x[m, np.array(1)],
    "a slice between": lambda x, m, n: x[m, :, 1],
    "a slice between, a number before": lambda x, m, n: x.transpose(2, 0, 1)[1, :, n],
    "a slice behind": lambda x, m, n: x[m, 1:],
    "a new axis before": lambda x, m, n: x[None, m, 1],
    "a new axis behind": lambda x, m, n: x[m, None, 1],
    "an ellipsis before": lambda x, m, n: x.T[..., m],
    "an ellipsis behind": lambda x, m, n: x[m, 2, ...],
    "an ellipsis between": lambda x, m, n: x[m, ..., 0],
    "a mask of two axes": lambda x, m, n: x[m[:, None] & n, 1],
    "written to": lambda x, m, n: written(x, (m, 1), x[m, 1] * 2),
    "a number written to": lambda x, m, n: written(x, (1, n), -1.0),
    "added to": lambda x, m, n: written(x, (m, ..., 0), x[m, ..., 0] + x[m, ..., 1]),
}
MASKS = (
    ([1, 0, 1, 1], [1, 1, 0]),
    ([0, 1, 0, 0], [0, 0, 1]),
    ([1, 1, 1, 1], [1, 1, 1]),
    ([1, 0, 0, 1], [0, 1, 1]),
)


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", MASKED)
def test_masks_beside_numbers_slices_and_new_axes(name: str, to: str) -> None:
    pytest.importorskip(to)
    function = MASKED[name]
    graph = graph_compiler.transpile(function, to=to, source="numpy")
    for rows, columns in MASKS:
        x, m, n = (
            (CUBE + len(graph.variants)).astype("float32"),
            np.array(rows, bool),
            np.array(columns, bool),
        )
        found, expected = np.asarray(graph(x, m, n)), function(x, m, n)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
    assert len(graph.variants) == 1, graph.explain()
