"""Indices of numpy, and functions that take or choose elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....sizes import hint_of, product
from ...indexing import read_index
from .table import NumpyBuilder, axis_of, rows


def numpy_index(b: NumpyBuilder, x: Any, index: Any) -> Any:
    """An index as rows shared between frameworks take it: beside an index array, numbers are arrays too, which decides where axes go."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [b.array(item) if _is_list(item) else item for item in items]
    if any(isinstance(item, Value) and item.ndim for item in items):
        items = [_as_array(b, item) for item in items]
    return tuple(items)


def _is_list(item: Any) -> bool:
    return isinstance(item, list)


def _as_array(b: NumpyBuilder, item: Any) -> Any:
    if isinstance(item, Value) and item.ndim == 0:
        if item.dtype == "bool":
            raise UnsupportedOperation("an index of one truth value beside index arrays has no row")
        return b.reshape(item, shape=(1,))
    is_number = not isinstance(item, (Value, bool, slice, type(None), type(Ellipsis)))
    return b.reshape(b.array(item, "int64"), shape=(1,)) if is_number else item


@rows.row("take")
def take(b: NumpyBuilder, a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    x, index = b.array(a), b.cast(b.array(indices), "int64")
    if axis is None:
        x, axis = b.reshape(x, shape=(product(x.shape),)), 0
    size = x.shape[axis_of(axis, x.ndim)]
    if mode == "clip":
        index = b.clip(index, 0, b.array(size - 1, "int64"))
    elif mode == "wrap":
        index = b.remainder(index, b.array(size, "int64"))
    return b.take(x, index, axis=axis_of(axis, x.ndim))


@rows.row("take_along_axis")
def take_along_axis(b: NumpyBuilder, arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        arr, axis = b.reshape(arr, shape=(product(arr.shape),)), 0
    return b.take_along_axis(arr, b.cast(indices, "int64"), axis=axis_of(axis, arr.ndim))


def _selected(b: NumpyBuilder, x: Value, mask: Value, axis: int) -> Value:
    """The slices along an axis where a mask, perhaps shorter than the axis, is true."""
    if hint_of(mask.shape[0]) != hint_of(x.shape[axis]):
        x = b.getitem(x, key=(*((None, None, 1),) * axis, (None, mask.shape[0], 1)))
    return b.boolean_mask(x, mask, axis=axis, hint=b.recorded[0].shape[axis])


@rows.row("compress")
def compress(b: NumpyBuilder, condition: Any, a: Any, axis: Any = None) -> Any:
    x = b.array(a)
    if axis is None:
        x, axis = b.reshape(x, shape=(product(x.shape),)), 0
    return _selected(b, x, b.array(b.array(condition), "bool"), axis_of(axis, x.ndim))


@rows.row("extract")
def extract(b: NumpyBuilder, condition: Any, arr: Any) -> Any:
    mask = b.astype(b.array(condition), dtype="bool")
    return compress(b, b.reshape(mask, shape=(product(mask.shape),)), arr)


# mode -> the numbers of the choices, made to lie in range where the mode does so
_IN_RANGE: dict[str, Callable[[NumpyBuilder, Value, int], Value]] = {
    "raise": lambda b, number, count: number,
    "clip": lambda b, number, count: b.clip(number, 0, count - 1),
    "wrap": lambda b, number, count: b.remainder(number, count),
}


@rows.row("choose")
def choose(b: NumpyBuilder, a: Any, choices: Any, mode: str = "raise") -> Any:
    several = choices if isinstance(choices, (list, tuple)) else b.unstack(choices, axis=0, count=b.fix(choices.shape[0]))
    options = b.promote(*several)
    number = _IN_RANGE[mode](b, b.cast(b.array(a), "int64"), len(options))
    if mode == "raise":
        b.expect(b.all(b.logical_and(b.less_equal(0, number), b.less(number, len(options)))), True)
    result = options[0]
    for place, option in enumerate(options[1:], 1):
        result = b.where(b.equal(number, place), option, result)
    return b.broadcast_to(result, shape=b.add(number, b.zeros(shape=result.shape, dtype="int64")).shape)


@rows.row("select")
def select(b: NumpyBuilder, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    kind = b.recorded_dtype()
    result = b.array(default, kind)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = b.where(b.array(condition), b.array(choice, kind), result)
    return result


@rows.row("diag")
def diag(b: NumpyBuilder, v: Any, k: int = 0) -> Any:
    x = b.array(v)
    return b.diag_embed(x, offset=k, axis1=0, axis2=1) if x.ndim == 1 else b.diagonal(x, offset=k, axis1=0, axis2=1)


@rows.row("diagflat")
def diagflat(b: NumpyBuilder, v: Any, k: int = 0) -> Any:
    x = b.array(v)
    return b.diag_embed(b.reshape(x, shape=(product(x.shape),)), offset=k, axis1=0, axis2=1)


@rows.row("ix_")
def ix_(b: NumpyBuilder, *args: Any) -> Any:
    """numpy.ix_, of integers."""
    lines = [b.array(item) for item in args]
    if any(line.dtype == "bool" for line in lines):
        raise UnsupportedOperation("ix_ of truth values has no row; use nonzero")
    return tuple(
        b.reshape(line, shape=tuple(line.shape[0] if i == place else 1 for i in range(len(lines)))) for place, line in enumerate(lines)
    )


@rows.row("unravel_index")
def unravel_index(b: NumpyBuilder, indices: Any, shape: Any, order: str = "C") -> Any:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    left, found = b.cast(b.array(indices), "int64"), []
    for size in sizes[::-1] if order == "C" else sizes:
        found.append(b.remainder(left, b.array(size, "int64")))
        left = b.floor_divide(left, b.array(size, "int64"))
    return tuple(found[::-1] if order == "C" else found)


@rows.row("ravel_multi_index")
def ravel_multi_index(b: NumpyBuilder, multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    if mode != "raise" or order != "C":
        raise UnsupportedOperation("mode= and order= of ravel_multi_index have no row")
    parts = multi_index if isinstance(multi_index, (tuple, list)) else b.unstack(multi_index, axis=0, count=b.fix(multi_index.shape[0]))
    total = b.array(0, "int64")
    for part, size in zip(parts, dims):
        total = b.add(b.multiply(total, b.array(size, "int64")), b.cast(b.array(part), "int64"))
    return total


rows.table({
    "__getitem__": lambda b, x, index: read_index(b, x, numpy_index(b, x, index)),
    "ndarray.compress": lambda b, a, condition, axis=None: compress(b, condition, a, axis),
    "diagonal": lambda b, a, offset=0, axis1=0, axis2=1: b.diagonal(
        a, offset=offset, axis1=axis_of(axis1, a.ndim), axis2=axis_of(axis2, a.ndim)
    ),
})  # fmt: skip
