"""Tests of functions that query the memory of arrays, as libraries do before they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import as_strided

import graph_compiler
from graph_compiler.errors import TracingError, UnsupportedOperation
from tests.support.compare import assert_same


def copied_if_it_shares(x):
    y = x * 2
    if np.may_share_memory(x, y):
        y = y.copy()
    y[0] = 1
    return y


def view_shares(x):
    y = x.reshape(-1)[1:]
    if np.shares_memory(x, y):
        y = y.copy()
    y[0] = 5
    return x.sum() + y


def a_part_without_elements(x):
    return x + 1 if np.shares_memory(x, x.reshape(-1)[6:]) else x - 1


def with_a_constant(x):
    return x + 1 if np.may_share_memory(x, np.arange(3.0)) else x - 1


def contiguous(x):
    y = x.T
    y = np.ascontiguousarray(y) if not y.flags.c_contiguous else y
    return y.reshape(-1) * (2 if y.flags["C_CONTIGUOUS"] and y.flags.owndata else 3)


def read_only(x):
    y = np.broadcast_to(x[:1], x.shape)
    if not y.flags.writeable:
        y = y.copy()
    y[0] = 0
    return y


_CONVERT: dict[str, Callable[[Any], Any]] = {"numpy": np.copy, "torch": torch.tensor, "jax": jnp.asarray}
QUESTIONS = [
    copied_if_it_shares,
    view_shares,
    a_part_without_elements,
    with_a_constant,
    contiguous,
    read_only,
]


@pytest.mark.parametrize("to", list(_CONVERT))
@pytest.mark.parametrize("function", QUESTIONS, ids=lambda function: function.__name__)
def test_questions(function: Callable[[Any], Any], to: str) -> None:
    first, second = (
        np.arange(6.0, dtype="float32").reshape(2, 3),
        np.arange(8.0, dtype="float32").reshape(4, 2) - 3,
    )
    graph = graph_compiler.transpile(function, source="numpy", to=to, args=(first.copy(),))
    for x in (first, second):
        assert_same(graph(_CONVERT[to](x)), function(x.copy()))


def column_major(x):
    return x.ravel(order="K") * (2 if x.flags.f_contiguous else 3)


def written_part(x):
    x.reshape(-1)[1] = 5
    return x * 2


ARRANGED: dict[str, Callable[[int, int], np.ndarray]] = {
    "rows": lambda m, n: np.arange(m * n * 1.0).reshape(m, n),
    "columns": lambda m, n: np.asfortranarray(np.arange(m * n * 1.0).reshape(m, n)),
    "every other column": lambda m, n: np.arange(m * n * 2.0).reshape(m, 2 * n)[:, ::2],
    "all columns but one": lambda m, n: np.arange(m * (n + 1.0)).reshape(m, n + 1)[:, :-1],
    "reversed": lambda m, n: np.arange(m * n * 1.0).reshape(m, n)[::-1, ::-1],
    "all columns but one, reversed": lambda m, n: np.arange(m * (n + 1.0)).reshape(m, n + 1)[::-1, -2::-1],
}


@pytest.mark.parametrize("first", ARRANGED)
@pytest.mark.parametrize(
    ("function", "to"),
    [(column_major, "numpy"), (written_part, "numpy"), (written_part, "torch")],
    ids=lambda item: getattr(item, "__name__", item),
)
def test_orders_in_memory_are_told_apart(function: Callable[[Any], Any], to: str, first: str) -> None:
    graph = graph_compiler.compile(function, to=to, args=(ARRANGED[first](3, 4),))
    x, same = ARRANGED[first](5, 2), ARRANGED[first](5, 2)
    assert_same((graph(x), x), (function(same), same))
    assert len(graph.variants) == 1
    for make in ARRANGED.values():
        x, same = make(3, 4), make(3, 4)
        assert_same((graph(x), x), (function(same), same))


def written_columns(x):
    y = x.copy()
    v = y.ravel("F")
    v[0] = 100
    return y, v


def written_turned(x):
    y = x * 2
    v = y.T.reshape(-1)
    v[0] = 100
    return y, v


def written_slice(x):
    y = x.copy()
    v = y[:, :2].reshape(-1)
    v *= 3
    return y, v


def written_sum(x):
    y = x.T + 1
    v = y.reshape(-1)
    y[0] = 7
    return v


def written_copies(x):
    y = x.copy()
    np.ascontiguousarray(y.T)[0] = 7
    np.asfortranarray(y)[-1] = 5
    return y


def written_argument(x):
    x[:, :2].reshape(-1)[:] = 4
    return x.sum()


_SIZES = [(4, 3), (1, 4), (4, 1), (3, 2)]


@pytest.mark.parametrize("first", _SIZES, ids=str)
@pytest.mark.parametrize(
    "function",
    [written_columns, written_turned, written_slice, written_sum, written_copies, written_argument],
    ids=lambda function: function.__name__,
)
def test_whether_a_call_copies_depends_on_sizes(function: Callable[[Any], Any], first: Any) -> None:
    graph = graph_compiler.compile(function, args=(np.ones(first),))
    for shape in _SIZES:
        x, same = np.random.rand(*shape), np.empty(shape)
        same[:] = x
        assert_same((graph(x), x), (function(same), same))


def rows_and_whole(x):
    y = x.copy()
    y[1].reshape(-1)[0] = 5
    y[1:].reshape(-1)[2:] *= 2
    y.reshape(-1, 2)[0] = 1
    y[()].reshape(-1)[1] = 4
    v = y.T.ravel()
    v[0] = 3
    return v * 2


def test_views_and_copies_at_every_size_are_not_recorded_again() -> None:
    graph = graph_compiler.compile(rows_and_whole, args=(np.ones((4, 4)),))
    for shape in [(3, 2), (5, 4)]:
        x = np.random.rand(*shape)
        assert_same(graph(x.copy()), rows_and_whole(x.copy()))
    assert len(graph.variants) == 1


def test_memory_in_another_order() -> None:
    function = lambda x: as_strided(x, (3,), (4,)) * 2  # noqa: E731
    x = np.arange(6, dtype="float32").reshape(2, 3)
    graph = graph_compiler.transpile(function, source="numpy", to="jax", args=(x,))
    with pytest.raises(UnsupportedOperation, match="not contiguous"):
        graph(np.asfortranarray(x))
    same = graph_compiler.compile(function, source="numpy", to="numpy", args=(x,))
    for given in (x, np.asfortranarray(x)):
        assert_same(same(given), function(given))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: x + 1 if np.may_share_memory(x[:2], x[2:]) else x,
            "whether two parts of an array share memory",
        ),
        (
            lambda x: x + 1 if np.shares_memory(np.broadcast_to(x[:1], (4,)), x[2:]) else x,
            "whether two parts of an array share memory",
        ),
        (
            lambda x: x + 1 if np.shares_memory((y := x * 1j).real, y.imag) else x,
            "whether two parts of an array share memory",
        ),
        (lambda x: x + 1 if x.flags.writeable else x, "another call may give one that differs"),
        (lambda x: setattr(x.flags, "writeable", False) or x, "setting flags of an array"),
        (lambda x: x.flags.__setitem__("WRITEABLE", False) or x, "setting flags of an array"),
    ],
)
def test_refused(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TracingError, match=message):
        graph_compiler.transpile(function, source="numpy", to="numpy", args=(np.arange(4.0),))


def test_a_part_that_is_as_large_as_its_array_by_chance() -> None:
    function = lambda x: x + 1 if np.shares_memory(x[:5], x[-3:]) else x - 1  # noqa: E731
    graph = graph_compiler.compile(function, to="numpy", args=(np.arange(5.0),))
    assert_same(graph(np.arange(5.0)), function(np.arange(5.0)))
    with pytest.raises(TracingError, match="whether two parts"):
        graph(np.arange(10.0))
