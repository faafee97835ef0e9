"""Reductions over segments of an axis, and counts over boxes of several axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....ir import Value
from ....sizes import product
from .manipulation import reshaped
from .table import TorchBuilder, rows

_ALL = (None, None, 1)
_NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


@rows.row("segment_reduce")
def segment_reduce(
    b: TorchBuilder,
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """torch.segment_reduce: segments lie one behind the other along ``axis``; the axes before it are those of ``lengths`` or
    ``offsets``."""
    if reduce not in _NEUTRAL:
        raise NotImplementedError(f"segment_reduce with {reduce!r}")
    starts, ends = _bounds(b, lengths, offsets, axis)
    b.expect(b.all(b.less_equal(starts, ends)), True)
    if lengths is not None and not unsafe:
        b.expect(b.all(b.equal(b.sum(lengths, axis=axis), data.shape[axis])), True)
    place = b.arange(start=0, stop=data.shape[axis], step=1, dtype=starts.dtype)
    inside = b.logical_and(b.less_equal(_with_axis(b, starts, starts.ndim), place), b.less(place, _with_axis(b, ends, ends.ndim)))
    inner = data.shape[axis + 1 :]
    mask = b.reshape(inside, shape=(*inside.shape, *(1,) * len(inner)))
    first = _NEUTRAL[reduce] if initial is None else float(initial)
    kept = b.where(mask, _with_axis(b, data, axis), b.operand(_NEUTRAL[reduce], data.dtype))
    counts = b.reshape(b.cast(b.subtract(ends, starts), data.dtype), shape=(*starts.shape, *(1,) * len(inner)))
    return _finished(b, reduce, getattr(b, "sum" if reduce == "mean" else reduce)(kept, axis=axis + 1), first, counts, initial is None)


def _with_axis(b: TorchBuilder, x: Value, place: int) -> Value:
    result: Value = b.getitem(x, key=(*(_ALL,) * place, None))
    return result


def _bounds(b: TorchBuilder, lengths: Any, offsets: Any, place: int) -> tuple[Value, Value]:
    if lengths is None:
        return tuple(b.getitem(offsets, key=(*(_ALL,) * place, part)) for part in ((None, -1, 1), (1, None, 1)))
    ends = b.cumulative_sum(lengths, axis=place)
    return b.subtract(ends, lengths), ends


def _finished(b: TorchBuilder, reduce: str, found: Value, first: float, counts: Value, empty_is_nan: bool) -> Any:
    """What the elements of each segment give, with the initial value."""
    if reduce in ("max", "min"):
        return b.combined("maximum" if reduce == "max" else "minimum", found, first)
    whole = b.combined("multiply" if reduce == "prod" else "add", found, first)
    if reduce != "mean":
        return whole
    empty = b.equal(counts, 0.0)
    return b.divide(whole, b.where(empty, math.nan if empty_is_nan else 1.0, counts))


@rows.row("histogramdd", "_histogramdd")
def histogramdd(b: TorchBuilder, input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """torch.histogramdd: how many points lie in each box between the edges along every axis, the last edges included."""
    count = b.fix(input.shape[-1])
    points = b.reshape(input, shape=(product(input.shape[:-1]), count))
    edges = _edges(b, points, count, bins, None if range is None else tuple(range))
    sizes = tuple(edge.shape[0] - 1 for edge in edges)
    whole = (
        b.ones(shape=points.shape[:1], dtype=input.dtype) if weight is None else reshaped(b, b.cast(weight, input.dtype), points.shape[:1])
    )
    places = []
    for number, (edge, size) in enumerate(zip(edges, sizes)):
        place, inside = _box(b, b.getitem(points, key=(_ALL, number)), edge, size)
        whole = b.where(inside, whole, 0.0)
        places.append(place)
    counts = b.scatter_nd(b.zeros(shape=sizes, dtype=input.dtype), whole, *places, axes=tuple(_numbers(count)), reduce="sum")
    return (_density(b, counts, edges) if density else counts), list(edges)


def _numbers(count: int) -> Sequence[int]:
    return range(count)


def _edges(b: TorchBuilder, points: Value, count: int, bins: Any, bounds: Any) -> list[Value]:
    if isinstance(bins, (tuple, list)) and bins and isinstance(bins[0], Value):
        return list(bins)
    each = [bins] * count if isinstance(bins, int) else list(bins)
    columns = [b.getitem(points, key=(_ALL, number)) for number in _numbers(count)]
    ranges = [None if bounds is None else (float(bounds[2 * number]), float(bounds[2 * number + 1])) for number in _numbers(count)]
    return [b.histogram_bin_edges(column, bins=b.fix(n), range=span) for column, n, span in zip(columns, each, ranges)]


def _box(b: TorchBuilder, column: Value, edges: Value, size: Any) -> tuple[Value, Value]:
    """Between which edges each number lies, and whether it does; the last edge belongs to the last box."""
    last = b.getitem(edges, key=(-1,))
    inside = b.logical_and(b.greater_equal(column, b.getitem(edges, key=(0,))), b.less_equal(column, last))
    found = b.subtract(b.searchsorted(edges, column, side="right"), 1)
    return b.clip(found, 0, size - 1), inside


def _density(b: TorchBuilder, counts: Value, edges: list[Value]) -> Any:
    result = b.divide(counts, b.sum(counts))
    for number, edge in enumerate(edges):
        widths = b.subtract(b.getitem(edge, key=((1, None, 1),)), b.getitem(edge, key=((None, -1, 1),)))
        result = b.divide(result, b.reshape(widths, shape=(*(1,) * number, widths.shape[0], *(1,) * (len(edges) - number - 1))))
    return result
