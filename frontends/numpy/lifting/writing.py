"""What functions that write to their first argument leave in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ops.dtypes import UNSIGNED
from ....sizes import product
from ...indexing import write_index
from .editing import resize
from .indexing import numpy_index
from .searching import sort
from .table import NumpyBuilder, axis_of, rows


def _setitem(b: NumpyBuilder, x: Any, index: Any, value: Any) -> Any:
    """``x[index] = value``; lists count as arrays."""
    return write_index(b, x, numpy_index(b, x, index), b.array(value) if isinstance(value, (list, tuple)) else value)


def _copyto(b: NumpyBuilder, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    new = b.broadcast_to(b.array(b.array(src), dst.dtype), shape=dst.shape)
    return new if where is True else b.where(b.array(where, "bool"), new, dst)


def _putmask(b: NumpyBuilder, a: Any, mask: Any, values: Any) -> Any:
    values = b.array(b.array(values), a.dtype)
    if values.ndim and values.shape != a.shape:
        values = resize(b, values, a.shape)
    return b.where(b.array(mask, "bool"), b.broadcast_to(values, shape=a.shape), a)


def _place(b: NumpyBuilder, arr: Any, mask: Any, vals: Any) -> Any:
    vals = b.array(b.array(vals), arr.dtype)
    count, mask = product(vals.shape), b.array(mask, "bool")
    line = b.reshape(b.cast(mask, "int64"), shape=(product(mask.shape),))
    before = b.subtract(b.cumulative_sum(line, axis=0, dtype="int64"), line)
    taken = b.take(b.reshape(vals, shape=(count,)), b.remainder(before, b.array(count, "int64")), axis=0)
    return b.where(mask, b.reshape(taken, shape=arr.shape), arr)


def _put(b: NumpyBuilder, a: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    if mode != "raise":
        raise UnsupportedOperation(f"put with mode={mode!r} has no row")
    flat = b.reshape(a, shape=(product(a.shape),))
    index = b.array(ind)
    index = b.reshape(index, shape=(product(index.shape),))
    return b.reshape(write_index(b, flat, index, b.array(b.array(v), a.dtype)), shape=a.shape)


def _put_along_axis(b: NumpyBuilder, arr: Any, indices: Any, values: Any, axis: Any = -1) -> Any:
    if axis is None:
        return _put(b, arr, indices, values)
    place = axis_of(axis, arr.ndim)
    shape = tuple(indices.shape[i] if i == place else dim for i, dim in enumerate(arr.shape))
    index = b.broadcast_to(b.cast(indices, "int64"), shape=shape)
    return b.scatter(arr, index, b.broadcast_to(b.array(b.array(values), arr.dtype), shape=shape), axis=place)


def _fill_diagonal(b: NumpyBuilder, a: Any, val: Any, wrap: bool = False) -> Any:
    if a.ndim != 2 or wrap or getattr(val, "ndim", 0):
        raise UnsupportedOperation("fill_diagonal of other than a matrix with one number has no row")
    rows_, columns = (b.arange(start=0, stop=dim, step=1, dtype="int64") for dim in a.shape)
    on = b.equal(b.reshape(rows_, shape=(a.shape[0], 1)), columns)
    return b.where(on, b.array(val, a.dtype), a)


def _nan_to_num(b: NumpyBuilder, x: Any, copy: bool = True, **kwargs: Any) -> Any:
    return rows.get("nan_to_num")(b, x, **kwargs)  # type: ignore[misc]


def _at(reduce: str, negate: bool = False) -> Callable[..., Any]:
    def at(b: NumpyBuilder, a: Any, indices: Any, values: Any) -> Any:
        from ...indexing import select, write_arrays, write_key

        values = b.array(values, a.dtype)
        if negate and a.dtype in UNSIGNED:
            raise UnsupportedOperation("subtract.at of unsigned integers has no row")
        values = b.negative(values) if negate else values
        selection = select(b, a, numpy_index(b, a, indices))
        if not selection.arrays:
            raise UnsupportedOperation("ufunc.at without an index array has no row; write x[index] += y")
        part = selection.read(b, a)
        return write_key(b, a, selection.key, write_arrays(b, part, selection.arrays, values, reduce))

    return at


# name of the call -> the whole new array
WRITTEN: dict[str, Callable[..., Any]] = {
    "__setitem__": _setitem,
    "fill": lambda b, x, value: b.broadcast_to(b.array(value, x.dtype), shape=x.shape),
    "sort": lambda b, x, axis=-1, kind=None, order=None, stable=None: sort(b, x, axis, kind, order, stable=stable),
    "copyto": _copyto,
    "putmask": _putmask,
    "place": _place,
    "put": _put,
    "put_along_axis": _put_along_axis,
    "fill_diagonal": _fill_diagonal,
    "nan_to_num": _nan_to_num,
    "add.at": _at("sum"),
    "subtract.at": _at("sum", negate=True),
    "multiply.at": _at("prod"),
    "maximum.at": _at("max"),
    "minimum.at": _at("min"),
}
