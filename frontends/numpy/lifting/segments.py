"""Reductions of segments of an axis: ``ufunc.reduceat``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....sizes import apply
from .table import NumpyBuilder, axis_of, rows

# ufunc -> what stands for an element of no segment; None: the first element of the segment, which changes nothing
_NEUTRAL: dict[str, int | None] = {
    "add": 0, "multiply": 1, "maximum": None, "minimum": None, "logical_and": None, "logical_or": None,
}  # fmt: skip


def _reduceat(name: str, neutral: int | None) -> Callable[..., Any]:
    def row(b: NumpyBuilder, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Value:
        """ufunc.reduceat: from each index up to the next one; where that is none further on, the one element."""
        kind = b.recorded_dtype() if dtype is None else dtype
        given = b.array(array)
        place, last = axis_of(axis, given.ndim), given.ndim - 1
        order = (*(i for i in range(given.ndim) if i != place), place)
        x = b.permute_dims(given if name.startswith("logical") else b.cast(given, kind), axes=order)
        starts = _inside(b, indices, x.shape[-1])
        lines = b.reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))
        other = b.operand(neutral, x.dtype) if neutral is not None else _first(b, x, starts)
        parts = b.where(_segments(b, starts, x.shape[-1]), lines, other)
        whole = rows.get(f"{name}.reduce")
        assert whole is not None
        found = b.cast(whole(b, parts, axis=last + 1), b.recorded_dtype())
        return b.permute_dims(found, axes=(*range(place), last, *range(place, last)))

    return row


def _first(b: NumpyBuilder, x: Value, starts: Value) -> Value:
    taken = b.take(x, starts, axis=x.ndim - 1)
    return b.reshape(taken, shape=(*taken.shape, 1))


def _inside(b: NumpyBuilder, indices: Any, count: Any) -> Value:
    """The indices, which numpy refuses below 0 and beyond the axis."""
    if isinstance(indices, (list, tuple)) and not any(isinstance(index, Value) for index in indices):
        b.guard(apply("gt", count, max(indices)))
        return b.array(indices, "int64")
    starts = b.array(indices, "int64")
    b.expect(b.all(b.logical_and(b.greater_equal(starts, 0), b.less(starts, b.array(count, "int64")))), True)
    return starts


def _segments(b: NumpyBuilder, starts: Value, count: Any) -> Value:
    """[segments, elements]: whether an element lies in a segment."""
    following = b.roll(starts, shift=(-1,), axis=(0,))
    number = b.arange(start=0, stop=starts.shape[0], step=1, dtype="int64")
    is_last = b.equal(number, b.array(starts.shape[0] - 1, "int64"))
    ends = b.where(is_last, b.array(count, "int64"), b.where(b.greater(following, starts), following, b.add(starts, 1)))
    places = b.arange(start=0, stop=count, step=1, dtype="int64")
    first, end = (b.reshape(item, shape=(starts.shape[0], 1)) for item in (starts, ends))
    return b.logical_and(b.greater_equal(places, first), b.less(places, end))


for _name, _other in _NEUTRAL.items():
    rows.row(f"{_name}.reduceat")(_reduceat(_name, _other))
