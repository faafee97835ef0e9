"""Tests of arrays without elements in traced loops: no iteration runs, but JAX compiles the body, whose reads
must be valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graph_compiler.errors import TracingError

from .running import assert_gives, function_of, given, recorded, wanted
from .table import Row, floats, ints, number, whole


def decayed(xp: Any, x: Any) -> Any:
    i, s = 0, 0.0
    while i < x.shape[0]:
        s = s * 0.5 + x[i]
        i += 1
    return s


def first_above(xp: Any, x: Any, level: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > level:
            return i
    return -1


def bisected(xp: Any, x: Any, level: Any) -> Any:
    low, high = 0, x.shape[0]
    while low < high:
        middle = (low + high) // 2
        if x[middle] < level:
            low = middle + 1
        else:
            high = middle
    return low


def common(xp: Any, x: Any, y: Any) -> Any:
    count = 0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            if x[i] == y[j]:
                count = count * 2 + 1
    return count


def widest(xp: Any, x: Any, width: int) -> Any:
    found = xp.zeros(3) - 1.0
    for i in range(x.shape[0] - width + 1):
        found[0] = found[0] * 0.5 + x[i : i + width].max()
    return found


def up_to(xp: Any, x: Any, end: Any) -> Any:
    i, s = 0, 0.0
    while i < end:
        s = s + x[i]
        i += 1
    return s


LEVEL = number(0.5)
ROWS = (
    Row(decayed, ((floats(5),), (floats(8),), (floats(0),), (floats(1),))),
    Row(first_above, ((floats(5), LEVEL), (floats(9, seed=1), LEVEL), (floats(0), LEVEL))),
    Row(bisected, ((np.sort(floats(5)), LEVEL), (np.sort(floats(9)), LEVEL), (floats(0), LEVEL))),
    Row(
        common,
        ((ints(5, below=3), ints(4, below=3)), (ints(3), ints(8)), (ints(0), ints(2)), (ints(2), ints(0))),
    ),
    Row(widest, ((floats(6), 3), (floats(9), 2), (floats(2), 3), (floats(1), 4)), sources=("numpy",)),
    Row(up_to, ((floats(5), whole(3)), (floats(2), whole(1)), (floats(0), whole(0)))),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.function.__name__)
@pytest.mark.parametrize("source", ["numpy", "torch"])
def test_one_variant(row: Row, source: str) -> None:
    if source not in row.sources:
        pytest.skip(f"not written for {source}")
    graph = recorded(row, source, "jax")
    for args in row.calls:
        assert_gives(graph(*given(args, "jax")), wanted(row, source, args))
    assert len(graph.variants) == 1, graph.explain()


def test_a_step_that_reads_what_is_not_there_is_an_error() -> None:
    graph = recorded(ROWS[-1], "numpy", "jax")
    for args, error in (((floats(3), whole(4)), IndexError), ((floats(0), whole(2)), TracingError)):
        with pytest.raises(IndexError, match="is out of bounds"):
            function_of(ROWS[-1], "numpy")(*given(args, "numpy"))
        with pytest.raises(error, match="is out of bounds"):
            graph(*given(args, "jax"))


def test_gradients_without_steps() -> None:
    jax = pytest.importorskip("jax")

    def halved(xp: Any, x: Any, scale: Any) -> Any:
        s = scale
        for i in range(x.shape[0]):
            if x[i] > 0:
                s = s * 0.5
        return s

    graph = recorded(Row(halved, ((floats(5), LEVEL),)), "numpy", "jax")
    for x in (floats(0), floats(4)):
        found = jax.grad(lambda scale, x=x: graph(jax.numpy.asarray(x), scale))(jax.numpy.asarray(LEVEL))
        np.testing.assert_allclose(found, 0.5 ** (x > 0).sum())
