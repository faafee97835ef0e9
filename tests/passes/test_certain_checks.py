"""Tests of index checks inside of traced loops: those that always pass are removed, all others are made."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import graph_compiler
from graph_compiler.errors import GuardFailed
from graph_compiler.ir.node import every

Function = Callable[..., Any]


def upper_half(x: Any) -> Any:
    n, total = x.shape[0], x[0, 0] * 0
    for i in range(n):
        for j in range(i + 1, n):
            if x[i, 0] > x[j, 0]:
                total = total + x[j - 1, 0] * x[j - i, 0]
    return total


def backwards(x: Any) -> Any:
    n = x.shape[0]
    best = np.zeros((n, n), dtype=np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if x[i, 0] == x[j, 0]:
                best[i, j] = best[i + 1, j - 1] + 2
            for k in range(i, j):
                best[i, j] = np.maximum(best[i, j], best[i, k] + best[k + 1, j])
    return best


def by_length(x: Any) -> Any:
    n = x.shape[0]
    cost = np.zeros((n, n), dtype=np.int32)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = 1000
            for k in range(i, j):
                cost[i, j] = min(cost[i, j], cost[i, k] + cost[k + 1, j] + x[k, 0])
    return cost


def under_a_condition(x: Any) -> Any:
    n, total = x.shape[0], x[0, 0] * 0
    for i in range(n):
        if i + 1 < n and x[i, 0] > 0:
            total = total + x[i + 1, 0]
        elif i >= 2:
            total = total - x[i - 2, 0]
    return total


def counted(x: Any) -> Any:
    n, k, total = x.shape[0], 0, x[0, 0] * 0
    while k < n and total < 100:
        total = total + x[k, 0]
        k = k + 2
    return total


CERTAIN: list[Function] = [upper_half, backwards, by_length, under_a_condition, counted]


def one_too_many(x: Any) -> Any:
    """The index of the last iteration is out of bounds."""
    total = x[0, 0] * 0
    for i in range(x.shape[0]):
        if total < 100:
            total = total + x[i + 1, 0]
    return total


def up_to_the_end(x: Any) -> Any:
    """A typical mistake: ``<=`` instead of ``<``."""
    k, total = 0, x[0, 0] * 0
    while k <= x.shape[0] and total < 100:
        total = total + x[k, 0]
        k = k + 1
    return total


def counted_first(x: Any) -> Any:
    """The condition is tested before the counter is increased."""
    k, total = 0, x[0, 0] * 0
    while k < x.shape[0] and total < 100:
        k = k + 1
        total = total + x[k, 0]
    return total


def too_far_back(x: Any) -> Any:
    n, total = x.shape[0], x[0, 0] * 0
    for i in range(n):
        if total < 100:
            total = total + x[-i - 2, 0]
    return total


def the_other_side(x: Any) -> Any:
    """The index is in bounds only if the condition is false."""
    n, total = x.shape[0], x[0, 0]
    for i in range(n):
        if i + 1 >= n and total < 100:
            total = total + x[i + 1, 0]
    return total


def one_of_two(x: Any) -> Any:
    n, total = x.shape[0], x[0, 0]
    for i in range(n):
        if i + 1 < n or x[i, 0] < 100:
            total = total + x[i + 1, 0]
    return total


def sometimes_counted(x: Any) -> Any:
    """The counter increases by two in some iterations, so that it is no loop index."""
    k, total = 0, x[0, 0] * 0
    while k < x.shape[0]:
        total = total + x[k, 0]
        if x[k, 0] > 0:
            k = k + 1
        k = k + 1
        if total > 1000:
            k = k + x.shape[0]
            total = total + x[k, 0]
    return total


def other_axis(x: Any) -> Any:
    """The condition limits the index by the size of another axis."""
    total = x[0, 0] * 0
    for i in range(x.shape[0]):
        if total < 100:
            total = total + x[0, i]
    return total


OPEN: list[Function] = [
    one_too_many,
    up_to_the_end,
    counted_first,
    too_far_back,
    the_other_side,
    one_of_two,
    other_axis,
    sometimes_counted,
]


def _given(rows: int, columns: int) -> Any:
    return (np.arange(rows * columns, dtype=np.int32).reshape(rows, columns) * 7) % 5


def _traced(function: Function, x: Any) -> Any:
    return graph_compiler.transpile(graph_compiler.trace(function), source="numpy", to="jax", args=(x,))


def _checks(graph: Any) -> int:
    nodes = [node for node in every(graph.variants[0].graph.nodes) if node.regions]
    return sum(value.name.startswith("held") for node in nodes for value in node.outputs)


@pytest.mark.parametrize("function", CERTAIN, ids=lambda function: function.__name__)
def test_what_always_holds_is_not_checked(function: Function) -> None:
    graph = _traced(function, _given(6, 6))
    assert not _checks(graph)
    for size in (2, 3, 9):
        x = _given(size, size)
        np.testing.assert_array_equal(np.asarray(graph(copy.deepcopy(x))), function(x))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("function", OPEN, ids=lambda function: function.__name__)
def test_what_may_not_hold_is_checked(function: Function) -> None:
    graph = _traced(function, _given(4, 9) if function is other_axis else np.full((4, 4), 200, np.int32))
    assert _checks(graph)
    x = (
        np.ones((5, 3), dtype=np.int32)
        if function is not sometimes_counted
        else np.full((5, 3), 2000, np.int32)
    )
    with pytest.raises(IndexError):
        function(x)
    with pytest.raises((IndexError, GuardFailed)):
        graph(x)
