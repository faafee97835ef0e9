"""Arguments of NumPy functions that are sizes, or numbers read from arrays: axes, orders, ranges, lengths.

A row of a lifting table that needs the number guards it. Without a guard, a call with another number would
silently get the result of the recorded one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same

X = np.arange(24.0).reshape(2, 3, 4)
M = np.array([[1.0, 2.0], [0.5, 1.5]])
V = np.arange(1.0, 7.0)


def _of_length(count: int) -> Any:
    return np.zeros(count)


# name: (function of an array and a size, array, recorded size, other sizes)
SIZES: dict[str, tuple[Callable[[Any, int], Any], Any, int, tuple[int, ...]]] = {
    "axis of a sum": (lambda x, n: np.sum(x, axis=n - 1), X, 2, (1, 3)),
    "axes of a mean": (lambda x, n: np.mean(x, axis=(0, n)), X, 1, (2,)),
    "axis of cumsum": (lambda x, n: np.cumsum(x, axis=n), X, 1, (2,)),
    "axis to move": (lambda x, n: np.moveaxis(x, n, 0), X, 1, (2,)),
    "diagonal": (lambda x, n: (np.diagonal(x[0], n - 2), np.trace(x[0], n - 2)), X, 2, (1, 3, 4)),
    "matrix of a diagonal": (lambda x, n: np.diag(x, n - 3), V, 3, (1, 2, 5)),
    "power of a matrix": (np.linalg.matrix_power, M, 3, (1, 2, 5)),
    "power of a matrix of truth values": (lambda x, n: np.linalg.matrix_power(x > 1, n), M, 3, (1, 2)),
    "order of a norm": (lambda x, n: np.linalg.norm(x, ord=n), V, 2, (1, 3)),
    "differences": (lambda x, n: np.diff(x**2, n=n), V, 2, (1, 3)),
    "differences after a size": (lambda x, n: np.diff(x, prepend=n), V, 2, (5,)),
    "decimals": (lambda x, n: np.round(x / 7, n), V, 2, (1, 3)),
    "turns": (lambda x, n: np.rot90(x[0], n), X, 3, (1, 2, 4)),
    "contracted axes": (lambda x, n: np.tensordot(x, x, n), X, 3, (3,)),
    "range of a histogram": (lambda x, n: np.histogram(x, bins=4, range=(0, n)), V, 5, (3, 9)),
    "bins of a histogram": (lambda x, n: np.histogram_bin_edges(x, bins=n, range=(1, n)), V, 5, (3, 9)),
    "geometric series": (lambda x, n: np.geomspace(1, n, 5) * x[0], V, 5, (3, 9)),
    "degree of a fit": (lambda x, n: np.polyfit(x, x**2, n), V, 2, (1, 3)),
    "derivatives of a polynomial": (lambda x, n: np.polyder(x, m=n), V, 2, (1, 3)),
    "inferred size": (lambda x, n: x.reshape(n - 4, 4), X, 3, (6 + 4,)),
    "windows": (lambda x, n: (np.hanning(n - 1), np.bartlett(n - 1), np.kaiser(n - 1, 3.0), x), V, 5, (2, 1)),
    "step of a series": (lambda x, n: np.linspace(0.0, x[0], n, retstep=True)[1], V, 5, (2, 3)),
    "reflected": (lambda x, n: np.pad(x[:n], 2, mode="reflect"), V, 1, (3, 5)),
    "reflected long ones": (lambda x, n: np.pad(x[: n - 1], 2, mode="reflect"), V, 4, (2, 6)),
}


@pytest.mark.parametrize("name", SIZES)
def test_numbers_that_are_sizes(name: str) -> None:
    function, x, recorded, others = SIZES[name]

    def of_size(x: Any, like: Any) -> Any:
        return function(x, like.shape[0])

    graph = graph_compiler.compile(of_size, to="torch", source="numpy", args=(x, _of_length(recorded)))
    for count in (recorded, *others):
        assert_same(graph(x, _of_length(count)), of_size(x, _of_length(count)))


@pytest.mark.parametrize("to", ["numpy", "torch", "jax", "tensorflow"])
def test_numbers_that_are_read(to: str) -> None:
    def along(x: Any, which: Any) -> Any:
        return np.sum(x, axis=int(which[0]))

    graph = graph_compiler.compile(along, to=to, args=(X, np.array([1, 0])))
    for axis in range(3):
        which = np.array([axis, 0])
        assert_same(graph(X, which), along(X, which))


def test_one_fit_serves_all_numbers_of_points() -> None:
    """The cutoff of singular values depends on the number of points, and needs no guard on it."""
    graph = graph_compiler.compile(lambda x, y: np.polyfit(x, y, 2), to="torch", args=(V, V**2))
    for count in (6, 9):
        points = np.linspace(0.0, 1.0, count)
        np.testing.assert_allclose(graph(points, points**3), np.polyfit(points, points**3, 2), atol=1e-9)
    assert len(graph.variants) == 1


def test_a_call_that_returns_its_argument_holds_for_the_recorded_number() -> None:
    graph = graph_compiler.compile(
        lambda x, like: np.diff(x, n=like.shape[0]), to="torch", args=(V, _of_length(0))
    )
    for count in range(4):
        assert_same(graph(V, _of_length(count)), np.diff(V, n=count))


def test_a_number_that_is_computed_from_elements() -> None:
    def turned(x: Any) -> Any:
        return np.rot90(x, np.argmax(x[0]))

    graph = graph_compiler.compile(turned, to="torch", args=(M,))
    for x in (M, M[:, ::-1].copy(), M + 1):
        assert_same(graph(x), turned(x))


# name: (function of an array and an array of numbers, arrays of the recorded call, of other calls)
RETURNED: dict[str, tuple[Callable[[Any, Any], Any], tuple[Any, Any], list[tuple[Any, Any]]]] = {
    "differences": (
        lambda x, k: np.diff(x, int(k[0])),
        (V, np.array([0])),
        [(V, np.array([2])), (V, np.array([1]))],
    ),
    "power": (
        lambda x, k: np.linalg.matrix_power(x, int(k[0])),
        (M, np.array([1])),
        [(M, np.array([3])), (M, np.array([2]))],
    ),
    "squeeze": (
        lambda x, k: np.squeeze(x) + k[0],
        (np.ones((2, 3)), V),
        [(np.ones((3, 1)), V), (np.ones((1, 1)), V), (np.ones((4, 2)), V)],
    ),
    "method squeeze": (lambda x, k: x.squeeze() + k[0], (np.ones((2, 3)), V), [(np.ones((1, 3)), V)]),
}


@pytest.mark.parametrize("to", ["numpy", "torch"])
@pytest.mark.parametrize("name", RETURNED)
def test_another_call_does_not_return_its_argument(name: str, to: str) -> None:
    function, recorded, others = RETURNED[name]
    graph = graph_compiler.compile(function, to=to, source="numpy", args=recorded)
    for arguments in (recorded, *others):
        assert_same(graph(*arguments), function(*arguments))


@pytest.mark.parametrize("first", [(3, 4), (1, 4)], ids=str)
@pytest.mark.parametrize("function", [np.cov, np.corrcoef], ids=lambda function: function.__name__)
def test_one_variable_has_a_number(function: Callable[..., Any], first: tuple[int, int]) -> None:
    arrays = [np.random.rand(*shape) for shape in (first, (3, 4), (1, 4), (2, 5))]
    graph = graph_compiler.compile(function, to="torch", source="numpy", args=arrays[:1])
    for x in arrays:
        assert_same(graph(x), function(x))


def test_a_number_that_changes_its_sign_is_another_place() -> None:
    graph = graph_compiler.compile(
        lambda x, like: np.insert(x, like.shape[0] - 2, 7.0), to="torch", args=(V, _of_length(1))
    )
    for count in (1, 2, 4):
        assert_same(graph(V, _of_length(count)), np.insert(V, count - 2, 7.0))
