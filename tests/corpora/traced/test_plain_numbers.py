"""Tests of Python numbers among the arguments of a traced function (loop bounds, tolerances): they are inputs
from the first recording on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .running import assert_gives, given, recorded, wanted
from .table import Row, floats, number


def bisected(xp: Any, low: Any, high: Any, tolerance: float) -> Any:
    while high - low > tolerance:
        middle = (low + high) / 2
        if middle * middle > 2:
            high = middle
        else:
            low = middle
    return low


def stepped(xp: Any, x: Any, h: float, n: int) -> Any:
    t = 0.0
    for _ in range(n):
        x = x + h * (xp.sin(x) - t)
        t += h
    return x


def bounded(xp: Any, x: Any, most: int) -> Any:
    steps = 0
    while steps < most and x > 1:
        x = x / 2
        steps += 1
    return x, steps


def blockwise(xp: Any, x: Any, width: int) -> Any:
    s = x[0] * 0
    for i in range(0, x.shape[0], width):
        s = s * 0.5 + x[i]
    for i in range(x.shape[0] - 1, -1, -width):
        s = s * 0.5 - x[i]
    return s


ROWS = (
    Row(
        bisected,
        ((number(0.0), number(3.0), 1e-2), (number(1.0), number(2.0), 1e-1), (number(0.5), number(1.5), 2.0)),
    ),
    Row(stepped, ((floats(3), 0.1, 4), (floats(5), 0.05, 9), (floats(2), 0.3, 0), (floats(2), 0.2, 1))),
    Row(blockwise, ((floats(7), 3), (floats(10), 4), (floats(4), 9), (floats(3), 1))),
    Row(bounded, ((number(40.0), 3), (number(900.0), 20), (number(5.0), 0))),
)
WAYS = (("numpy", "jax"), ("torch", "tensorflow"), ("jax", "torch"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.function.__name__)
@pytest.mark.parametrize(("source", "to"), WAYS, ids="-".join)
def test_one_variant(row: Row, source: str, to: str) -> None:
    graph = recorded(row, source, to)
    for args in row.calls:
        assert_gives(graph(*given(args, to)), wanted(row, source, args))
    assert len(graph.variants) == 1, graph.explain()


def test_a_number_of_steps_leaves_gradients() -> None:
    """A loop with a trip count from an argument must be a ``scan``, because JAX has reverse mode for that."""
    jax = pytest.importorskip("jax")
    graph = recorded(ROWS[1], "numpy", "jax")
    for n in (4, 7):
        found = jax.grad(lambda x, n=n: graph(x, 0.1, n).sum())(jax.numpy.ones(3))
        expected = jax.grad(lambda x, n=n: stepped(jax.numpy, x, 0.1, n).sum())(jax.numpy.ones(3))
        assert_gives(found, [np.asarray(expected)])


def test_a_step_of_zero_is_an_error() -> None:
    graph = recorded(Row(blockwise, ((floats(7), 3),)), "numpy", "numpy")
    with pytest.raises(ValueError, match="must not be zero"):
        graph(floats(7), 0)
