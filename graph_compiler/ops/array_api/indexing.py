"""Indexing (array API standard, "Indexing" and "Indexing Functions").

Reading and writing with integers, slices and new axes is ``getitem`` and ``setitem``; with index arrays it is ``take`` for one,
``gather_nd`` and ``scatter_nd`` for several.
"""

from __future__ import annotations

from typing import Any

from ...errors import InvalidGraph
from ..bounds import length, position
from ..registry import ArraySpec, declare
from ..rules import Input, broadcast, dtype_of

_SECTION = "indexing"

Key = tuple[Any, ...]
"""One item an axis, axes at the end may lack theirs: an int or size takes one element and drops the axis, ``(start, stop, step)`` takes
a slice (None for the whole side, negative ints count from the end), None makes a new axis of size 1. All lie inside of the axis and
``start <= stop``: where the source clamps, lifting has clamped."""


def keyed_shape(shape: tuple[Any, ...], key: Key) -> tuple[Any, ...]:
    """The shape of what ``key`` selects.

    >>> keyed_shape((5, 6, 7), (0, (1, -1, 1), None))
    (4, 1, 7)
    """
    selected: list[Any] = []
    axis = 0
    for item in key:
        if item is None:
            selected.append(1)
            continue
        if axis == len(shape):
            raise InvalidGraph(f"{key} has more items than the shape {shape} has axes")
        size, axis = shape[axis], axis + 1
        if isinstance(item, tuple):
            selected.append(length(item[0], item[1], item[2], size))
            inside = _inside(position(item[0], size, 0), size, selected[-1])
        else:
            inside = _inside(item if not isinstance(item, int) or item >= 0 else position(item, size, 0), size, 1)
        if not inside:
            raise InvalidGraph(f"{item} lies outside of axis {axis - 1} of the shape {shape}")
    return (*selected, *shape[axis:])


def _inside(first: Any, size: Any, count: Any) -> bool:
    """False only where it is sure that the bounds leave the axis."""
    if not (isinstance(first, int) and isinstance(size, int) and isinstance(count, int)):
        return True
    return first >= 0 and count >= 0 and (count == 0 or first < size)


@declare(_SECTION)
def getitem(x: ArraySpec, /, *, key: Key) -> ArraySpec:
    """``x[key]`` with integers, slices and new axes; see :data:`Key`."""
    return ArraySpec(keyed_shape(x.shape, key), x.dtype)


@declare(_SECTION)
def setitem(x: ArraySpec, value: Input, /, *, key: Key) -> ArraySpec:
    """``x`` with ``value``, broadcast, in the place of ``x[key]``; see :data:`Key`."""
    selected = keyed_shape(x.shape, key)
    if isinstance(value, ArraySpec) and value.ndim > len(selected):
        raise InvalidGraph(f"{value} has more axes than the {selected} that {key} selects")
    return ArraySpec(x.shape, dtype_of(x, value))


@declare(_SECTION)
def take(x: ArraySpec, indices: ArraySpec, /, *, axis: int) -> ArraySpec:
    """The slices of ``x`` along ``axis`` that ``indices`` name; the axes of ``indices``, any number, take the place of ``axis``.

    Negative indices count from the end.
    """
    return ArraySpec((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


@declare(_SECTION)
def take_along_axis(x: ArraySpec, indices: ArraySpec, /, *, axis: int = -1) -> ArraySpec:
    """``indices`` has the axes of ``x`` and picks from each row along ``axis``; the other axes broadcast.

    Negative indices count from the end.
    """
    if x.ndim != indices.ndim:
        raise InvalidGraph(f"indices {indices} must have the axes of {x}")
    axis = axis % x.ndim
    others = broadcast((*x.shape[:axis], 1, *x.shape[axis + 1 :]), (*indices.shape[:axis], 1, *indices.shape[axis + 1 :]))
    return ArraySpec((*others[:axis], indices.shape[axis], *others[axis + 1 :]), x.dtype)
