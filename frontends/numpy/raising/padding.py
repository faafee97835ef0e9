"""Padding."""

from __future__ import annotations

from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_inexact
from ....sizes import apply, hint_of
from .table import NumpyBuilder, rows

_STATISTICS = {"maximum": "max", "minimum": "min", "mean": "mean"}
_MODES = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "circular"}


@rows.row("pad")
def pad(b: NumpyBuilder, array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0, reflect_type: str = "even") -> Any:
    """numpy.pad."""
    x = b.array(array)
    widths = _pairs(pad_width, x.ndim)
    if mode == "constant":
        if isinstance(constant_values, (Value, list, tuple)):
            raise UnsupportedOperation("pad with different or computed numbers has no row; concatenate arrays of them")
        return b.pad(x, padding=widths, value=b.operand(constant_values, x.dtype))
    if mode in _STATISTICS and (mode != "mean" or is_inexact(x.dtype)):
        for axis, width in enumerate(widths):
            x = _with_statistic(b, x, axis, width, mode)
        return x
    if mode not in _MODES or reflect_type != "even":
        raise UnsupportedOperation(f"pad with mode={mode!r} has no row")
    for axis, (before, after) in enumerate(widths):
        x = _mirrored(b, x, axis, before, after, mode)
    return x


def _with_statistic(b: NumpyBuilder, x: Value, axis: int, width: tuple[Any, Any], mode: str) -> Value:
    """One axis padded with the extreme or the mean of the line."""
    found = getattr(b, _STATISTICS[mode])(x, axis=(axis,), keepdims=True)
    before, after = (b.broadcast_to(found, shape=(*x.shape[:axis], count, *x.shape[axis + 1 :])) for count in width)
    return b.concat(before, x, after, axis=axis)


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
