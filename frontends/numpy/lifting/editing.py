"""Elements put in, left out, and used again to fill a shape."""

from __future__ import annotations

import itertools
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....sizes import Size, apply, hint_of, product
from ...slicing import cut, slice_item
from .table import NumpyBuilder, axis_of, rows, shape_of


def _line(b: NumpyBuilder, arr: Any, axis: Any) -> tuple[Value, int]:
    """The array with the axis counted from the front; flattened where there is none."""
    x = b.array(arr)
    return (b.reshape(x, shape=(product(x.shape),)), 0) if axis is None else (x, axis_of(axis, x.ndim))


@rows.row("append")
def append(b: NumpyBuilder, arr: Any, values: Any, axis: Any = None) -> Any:
    x, y = b.promote(arr, values)
    if axis is None:
        return b.concat(*(b.reshape(item, shape=(product(item.shape),)) for item in (x, y)), axis=0)
    return b.concat(x, y, axis=axis_of(axis, x.ndim))


@rows.row("resize")
def resize(b: NumpyBuilder, a: Any, new_shape: Any) -> Any:
    """numpy.resize: the elements again and again, as many as the shape holds."""
    flat, place = _line(b, a, None)
    shape = shape_of(new_shape)
    size = flat.shape[place]
    if not hint_of(size):
        b.fix(size)
        return b.zeros(shape=shape, dtype=flat.dtype)
    places = b.remainder(b.arange(start=0, stop=product(shape), step=1, dtype="int64"), b.array(size, "int64"))
    return b.reshape(b.take(flat, places, axis=0), shape=shape)


# ---------------------------------------------------------------------------------------------- left out
@rows.row("delete")
def delete(b: NumpyBuilder, arr: Any, obj: Any, axis: Any = None) -> Any:
    """numpy.delete of places, of a slice, or of what a mask or an array of places says."""
    x, place = _line(b, arr, axis)
    if isinstance(obj, slice):
        return _without_slice(b, x, place, obj)
    if isinstance(obj, (list, tuple)) and any(isinstance(item, bool) for item in obj):
        obj = b.array(obj, "bool")  # a mask, for all that True is a number of Python
    if isinstance(obj, Value) and obj.ndim:
        return _without_marked(b, x, place, obj)
    gone = sorted(set(obj)) if isinstance(obj, (list, tuple)) and all(isinstance(item, int) for item in obj) else [obj]
    if not all(isinstance(item, (int, Size)) for item in gone) or not _from_one_end(gone):
        raise UnsupportedOperation("delete of elements that are counted from both ends has no row; use a mask")
    ends = [item + x.shape[place] if hint_of(item) < 0 else item for item in gone]
    starts = [None, *(item + 1 for item in ends)]
    return b.concat(*(cut(b, x, place, start, stop) for start, stop in zip(starts, (*ends, None))), axis=place)


def _from_one_end(places: list[Any]) -> bool:
    """Whether all places are counted from the same end, so that their order is that of their numbers."""
    return len({hint_of(item) < 0 for item in places}) <= 1


def _without_slice(b: NumpyBuilder, x: Value, axis: int, gone: slice) -> Value:
    if gone.step not in (None, 1):
        raise UnsupportedOperation("delete of a slice with a step has no row; use a mask")
    first, last, _ = slice_item(b, gone, x.shape[axis])
    parts = [cut(b, x, axis, None, 0 if first is None else first)]
    return b.concat(*parts, *([] if last is None else [cut(b, x, axis, last, None)]), axis=axis)


def _without_marked(b: NumpyBuilder, x: Value, axis: int, marked: Value) -> Value:
    size = x.shape[axis]
    if marked.dtype == "bool":
        b.guard(apply("eq", marked.shape[0], size))
    else:
        inside = b.where(b.less(marked, 0), b.add(marked, b.array(size, marked.dtype)), marked)
        marked = b.isin(b.arange(start=0, stop=size, step=1, dtype=marked.dtype), inside, invert=False)
    return b.boolean_mask(x, b.logical_not(marked), axis=axis, hint=b.recorded[0].shape[axis])


# ---------------------------------------------------------------------------------------------- put in
@rows.row("insert")
def insert(b: NumpyBuilder, arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """numpy.insert before one place, or before several that are all counted from the same end."""
    x, place = _line(b, arr, axis)
    if isinstance(obj, (list, tuple)) and len(obj) > 1 and {type(item) for item in obj} == {int} and _from_one_end(list(obj)):
        return _at_places(b, x, place, list(obj), b.array(b.array(values), x.dtype))
    if not isinstance(obj, (int, Size)):
        raise UnsupportedOperation(
            "insert at computed places, or at such that are counted from both ends, has no row; concatenate the parts"
        )
    first = obj + x.shape[place] if hint_of(obj) < 0 else obj
    new = b.array(b.array(values), x.dtype)
    if new.ndim < x.ndim and new.ndim:
        new = b.reshape(new, shape=(*new.shape[:place], 1, *new.shape[place:])) if x.ndim > 1 else new
    slot = tuple(1 if i == place else dim for i, dim in enumerate(x.shape)) if x.ndim > 1 or not new.ndim else new.shape
    new = b.broadcast_to(new, shape=slot)
    return b.concat(cut(b, x, place, None, first), new, cut(b, x, place, first, None), axis=place)


def _at_places(b: NumpyBuilder, x: Value, axis: int, places: list[int], new: Value) -> Value:
    """One slice before each place; the places are those of the array as it was."""
    new = b.broadcast_to(new, shape=tuple(len(places) if i == axis else dim for i, dim in enumerate(x.shape)))
    order = sorted(range(len(places)), key=places.__getitem__)
    bounds = [None, *(place + x.shape[axis] if place < 0 else place for place in sorted(places)), None]
    parts = [cut(b, x, axis, first, last) for first, last in itertools.pairwise(bounds)]
    put = [cut(b, new, axis, number, number + 1) for number in order]
    return b.concat(*(part for pair in itertools.zip_longest(parts, put) for part in pair if part is not None), axis=axis)
