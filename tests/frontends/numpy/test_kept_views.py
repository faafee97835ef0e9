"""Tests of views that are stored together with their array: their position in it, and writes to either."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import graph_compiler
from graph_compiler.errors import TracingError
from graph_compiler.frontends.common.views import view_recipe
from tests.support.compare import assert_same

_SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
_TAKEN = st.lists(
    st.one_of(
        st.integers(0, 3), st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 3)), st.none()
    ),
    max_size=5,
)


def _view(array: Any, parts: list[Any], turn: int) -> Any:
    """Return a random view: indices, slices and new axes for the first axes, then the axes permuted."""
    for axis, part in enumerate(parts):
        if part is None:
            array = np.expand_dims(array, min(axis, array.ndim))
        elif axis < array.ndim and isinstance(part, int):
            array = (
                array.take(0, axis)
                if array.size == 0
                else array[(slice(None),) * axis + (part % array.shape[axis],)]
            )
        elif axis < array.ndim:
            start, count, step = part
            array = array[(slice(None),) * axis + (slice(start, start + count * step, step),)]
    return np.moveaxis(array, 0, turn % array.ndim) if array.ndim else array


@given(_SIZES, _TAKEN, st.integers(0, 3))
def test_an_index_is_found_again(sizes: tuple[int, ...], parts: list[Any], turn: int) -> None:
    whole = np.arange(np.prod(sizes)).reshape(sizes)
    view = np.asarray(_view(whole, parts, turn))
    if view.size == 0:
        return
    found = view_recipe(
        view.shape, tuple(step // whole.itemsize for step in view.strides), int(view.reshape(-1)[0]), sizes
    )
    if found is None:
        return
    again = whole if found.key is None else whole[found.key]
    again = again if found.order is None else again.transpose(found.order)
    again = again if found.shape is None else again.reshape(found.shape)
    np.testing.assert_array_equal(again, view, strict=True)


@pytest.mark.parametrize(
    "view",
    [lambda t: t[1], lambda t: t[1:, ::2], lambda t: t.T, lambda t: t[None, :, 2], lambda t: t[3, 5:6]],
)
def test_these_are_an_index(view: Callable[[Any], Any]) -> None:
    table = np.arange(24).reshape(4, 6)
    part = view(table)
    assert (
        view_recipe(
            part.shape,
            tuple(step // table.itemsize for step in part.strides),
            int(part.reshape(-1)[0]),
            table.shape,
        )
        is not None
    )


# -------------------------------------------------------------------------------------------- numpy functions
class _Table:
    """An object with an array and views of it, which ``take`` creates; a call is ``step(array, views, x)``."""

    def __init__(self, take: Callable[[Any], Any], step: Callable[[Any, Any, Any], Any]) -> None:
        self.cells = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
        self.rest, self.step = take(self.cells), step

    def __call__(self, x: Any) -> Any:
        return self.step(self.cells, self.rest, x)


def _writes_view(cells: Any, view: Any, x: Any) -> Any:
    view += x.mean()
    return cells * 1, view * 2


def _writes_cells(cells: Any, view: Any, x: Any) -> Any:
    before = view + 0
    cells[1:] *= x[1:]
    return before, view.sum()


def _gives_view(cells: Any, view: Any, x: Any) -> Any:
    cells[0] = x[0]
    return view


def _rows(cells: Any, rows: Any, x: Any) -> Any:
    for row, given_row in zip(rows, x):
        row += given_row
    return cells.sum(0)


_PROGRAMS = {
    **{
        f"{step.__name__.strip('_')}_{name}": (take, step)
        for name, take in {
            "row": lambda t: t[1],
            "columns": lambda t: t[:, 1:3],
            "stepped": lambda t: t[:, ::2],
            "turned": lambda t: t.T,
            "same": lambda t: t[:],
            "thin": lambda t: t[1:2, None],
        }.items()
        for step in (_writes_view, _writes_cells, _gives_view)
    },
    "rows_in_a_list": (list, _rows),
    "rows_in_a_tuple": (tuple, _rows),
}


def _own(table: _Table) -> None:
    table.rest = (
        table.rest.copy() if isinstance(table.rest, np.ndarray) else [row.copy() for row in table.rest]
    )


def _written(table: _Table) -> None:
    table.cells[...] = 3


def _new(table: _Table) -> None:
    table.cells = table.cells.copy()


@pytest.mark.parametrize("change", [_written, _own, _new])
@pytest.mark.parametrize("to", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_numpy_functions_that_keep_views(name: str, to: str, change: Callable[[Any], None]) -> None:
    original, table = _Table(*_PROGRAMS[name]), _Table(*_PROGRAMS[name])
    graph = graph_compiler.compile(table, source="numpy", to=to)
    for number in range(4):
        x = np.linspace(number, 2, 24, dtype=np.float32).reshape(4, 6)
        if number == 2:
            change(original)
            change(table)
        assert_same(graph(x), original(x))
        assert_same(table.cells, original.cells)
        assert_same(table.rest, original.rest)


def test_numpy_arrays_that_overlap_without_an_owner() -> None:
    cells = np.zeros((4, 6), np.float32)
    first, second = cells[:3], cells[1:]

    def function(x: Any) -> Any:
        first.__iadd__(x)
        second.__imul__(2)
        return second

    with pytest.raises(TracingError, match="keep one array and take the others of it"):
        graph_compiler.compile(function, source="numpy", to="jax", args=(np.ones(6, np.float32),))
    # The failed recording must leave nothing behind.
    assert not cells.any()


def test_numpy_elements_that_overlap_in_part() -> None:
    def function(x: Any) -> Any:
        x += 1
        return x * 2

    graph = graph_compiler.compile(function, source="numpy", args=(np.arange(6.0),))
    # Neighbours are 4 bytes apart, and each has 8 bytes.
    with pytest.raises(TracingError, match="elements share memory"):
        graph(as_strided(np.zeros(4), (3,), (4,)))


@pytest.mark.parametrize("target", ["jax", "torch", "tensorflow"])
def test_write_to_one_element_of_a_large_array_between_calls_is_seen(target: str) -> None:
    kept = np.zeros(10_000, np.float32)

    def add(x: Any) -> Any:
        kept[3] += x.sum()
        return kept.sum() + x

    graph = graph_compiler.transpile(add, source="numpy", to=target)
    x = np.ones(2, np.float32)
    graph(x)
    graph(x)
    kept[777] = 100
    np.testing.assert_allclose(np.asarray(graph(x)), [107, 107])
    assert kept[3] == 6
    assert kept[777] == 100
