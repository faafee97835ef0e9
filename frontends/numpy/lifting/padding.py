"""Padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_inexact
from ....sizes import apply, hint_of
from ...slicing import cut
from .table import NumpyBuilder, axis_of, rows

_MODES = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "circular"}


@rows.row("pad")
def pad(
    b: NumpyBuilder, array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0, end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Any:  # fmt: skip
    x = b.array(array)
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        return _with_numbers(b, x, widths, constant_values)
    if mode in _STATISTICS:
        lengths = [(None, None)] * x.ndim if stat_length is None else _pairs(stat_length, x.ndim)
        for axis, width in enumerate(widths):
            x = _with_statistic(b, x, axis, width, lengths[axis], mode)
        return x
    if mode == "linear_ramp" and is_inexact(x.dtype):
        for axis, (width, ends) in enumerate(zip(widths, _pairs(end_values, x.ndim))):
            x = _with_ramp(b, x, axis, width, ends)
        return x
    if mode not in _MODES or reflect_type != "even":
        raise UnsupportedOperation(f"pad of {x.dtype} with mode={mode!r} has no row")
    for axis, (before, after) in enumerate(widths):
        x = _mirrored(b, x, axis, before, after, mode)
    return x


def _with_numbers(b: NumpyBuilder, x: Value, widths: tuple[tuple[Any, Any], ...], numbers: Any) -> Value:
    """Padded with one number, or axis by axis with those of either side."""
    if not isinstance(numbers, (Value, list, tuple)):
        return b.pad(x, padding=widths, value=b.operand(numbers, x.dtype))
    if isinstance(numbers, Value) and numbers.ndim:
        raise UnsupportedOperation("pad with an array of numbers has no row; pass a list of them")
    for axis, (width, sides) in enumerate(zip(widths, _pairs(numbers, x.ndim))):
        x = b.concat(*_around(b, x, axis, width, [b.array(side, x.dtype) for side in sides]), axis=axis)
    return x


def _around(b: NumpyBuilder, x: Value, axis: int, width: tuple[Any, Any], sides: list[Value]) -> tuple[Value, Value, Value]:
    """What stands before an array, itself, and what stands behind it: two sides, broadcast."""
    before, after = (b.broadcast_to(side, shape=(*x.shape[:axis], count, *x.shape[axis + 1 :])) for side, count in zip(sides, width))
    return before, x, after


def _with_statistic(b: NumpyBuilder, x: Value, axis: int, width: tuple[Any, Any], lengths: tuple[Any, Any], mode: str) -> Value:
    """One axis padded with the extreme or the mean of the line, or of so many elements at its ends."""
    parts = [
        cut(b, x, axis, None, lengths[0]),
        x if lengths[1] is None else cut(b, x, axis, b.fix(apply("max", x.shape[axis] - lengths[1], 0)), None),
    ]
    sides = [_STATISTICS[mode](b, parts[0], axis)]
    sides.append(sides[0] if lengths == (None, None) else _STATISTICS[mode](b, parts[1], axis))
    return b.concat(*_around(b, x, axis, width, sides), axis=axis)


def _mean(b: NumpyBuilder, x: Value, axis: int) -> Value:
    """The mean, of integers rounded."""
    if is_inexact(x.dtype):
        return b.mean(x, axis=(axis,), keepdims=True)
    return b.cast(b.round(b.mean(b.cast(x, "float64"), axis=(axis,), keepdims=True)), x.dtype)


_STATISTICS: dict[str, Callable[[NumpyBuilder, Value, int], Value]] = {
    "maximum": lambda b, x, axis: b.max(x, axis=(axis,), keepdims=True),
    "minimum": lambda b, x, axis: b.min(x, axis=(axis,), keepdims=True),
    "mean": _mean,
}


def _with_ramp(b: NumpyBuilder, x: Value, axis: int, width: tuple[Any, Any], ends: tuple[Any, Any]) -> Value:
    """One axis padded with numbers that lead from an end value to the edge."""
    line = [1] * x.ndim
    parts = [x]
    for side, (count, end) in enumerate(zip(width, ends)):
        edge = cut(b, x, axis, -1, None) if side else cut(b, x, axis, None, 1)
        steps = b.cast(b.arange(start=0, stop=count, step=1, dtype="int64"), x.dtype)
        line[axis] = count
        share = b.reshape(b.divide(steps, b.array(apply("max", count, 1), x.dtype)), shape=tuple(line))
        end = b.array(end, x.dtype)
        ramp = b.add(b.multiply(b.subtract(edge, end), share), end)
        parts = [*parts, b.flip(ramp, axis=(axis,))] if side else [ramp, *parts]
    return b.concat(*parts, axis=axis)


def _widths(width: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    """``pad_width=`` as a pair an axis; a dict names the axes that are padded."""
    if not isinstance(width, dict):
        return _pairs(width, rank)
    by_axis = {axis_of(axis, rank): _pairs(one, 1)[0] for axis, one in width.items()}
    return tuple(by_axis.get(axis, (0, 0)) for axis in range(rank))


def _pairs(width: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    if not isinstance(width, (tuple, list)):
        return ((width, width),) * rank
    if not any(isinstance(item, (tuple, list)) for item in width):
        return (tuple(width) if len(width) == 2 else (width[0],) * 2,) * rank
    pairs = tuple(tuple(item) if len(item) == 2 else (item[0],) * 2 for item in width)
    return pairs * rank if len(pairs) == 1 else pairs


def _mirrored(b: NumpyBuilder, x: Value, axis: int, before: Any, after: Any, mode: str) -> Value:
    """One axis padded by taking elements at positions that fold back into it."""
    if before == 0 and after == 0:
        return x
    size = x.shape[axis]
    places = b.arange(start=0 - before, stop=size + after, step=1, dtype="int64")
    if mode == "edge":
        places = b.clip(places, 0, b.array(size - 1, "int64"))
    elif mode == "wrap":
        places = b.remainder(places, b.array(size, "int64"))
    else:
        period = 2 * size if mode == "symmetric" else apply("max", 2 * size - 2, 1)
        folded = b.remainder(places, b.array(period, "int64"))
        last = 2 * size - 1 if mode == "symmetric" else 2 * size - 2
        places = (
            b.minimum(folded, b.subtract(b.array(last, "int64"), folded))
            if hint_of(size) > 1 or mode == "symmetric"
            else b.multiply(folded, 0)
        )
    return b.take(x, places, axis=axis)
