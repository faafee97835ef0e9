"""Rows of order statistics, histograms, correlation, and polynomials."""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_complex, is_inexact
from ....sizes import Size, apply, hint_of, product
from ...common.indexing import cut, holds_with_guard, pick
from .manipulation import diff
from .table import NumpyBuilder, axes_of, axis_of, rows


# ------------------------------------------------------------------------------------------- order statistics
def _merge_axes(b: NumpyBuilder, x: Value, axis: Any) -> tuple[Value, int | None, tuple[int, ...] | None]:
    """Merge several axes into one new last axis.

    Return the array, the axis to reduce and the normalized axes. If ``axis`` is None, the array is unchanged,
    and both others are None.
    """
    axes = axes_of(axis, x.ndim)
    if axes is None or len(axes) == 1:
        return x, None if axes is None else axes[0], axes
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    moved = b.permute_dims(x, axes=(*rest, *axes))
    return (
        b.reshape(moved, shape=(*(x.shape[i] for i in rest), product(x.shape[i] for i in axes))),
        len(rest),
        axes,
    )


_PLAIN = ("linear", "lower", "higher", "midpoint", "nearest")
# Continuous methods, with alpha and beta of the 1-based position `n q + alpha + q (1 - alpha - beta)`.
_SHIFTED: dict[str, tuple[float, float]] = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip


def _quantile(scale: float, skip_nan: bool) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder,
        a: Any,
        q: Any,
        axis: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Any:
        if weights is not None or method not in (*_PLAIN, *_SHIFTED) or (skip_nan and method in _SHIFTED):
            raise UnsupportedOperation(f"quantiles with weights, or by the method {method!r}, have no row")
        x, kind = _as_floats(b, a), b.recorded_dtype()
        wide = kind if is_inexact(kind) else "float64"
        line, place, axes = _merge_axes(b, b.cast(x, wide), axis)
        level = b.array(q, wide) if isinstance(q, (Value, list, tuple)) else b.operand(q, wide)
        level = level if scale == 1 else b.divide(level, scale) if isinstance(level, Value) else level / scale
        if method in _SHIFTED:
            level, method = (
                _linear_level(
                    b,
                    level,
                    product(x.shape) if place is None else line.shape[place],
                    wide,
                    *_SHIFTED[method],
                ),
                "linear",
            )
        found = b.quantile(line, level, axis=place, keepdims=False, interpolation=method, skip_nan=skip_nan)
        return b.cast(_with_reduced_axes(b, found, x, axes, level) if keepdims else found, kind)

    return row


def _linear_level(b: NumpyBuilder, level: Any, size: Any, kind: str, alpha: float, beta: float) -> Value:
    """Return the level whose linear quantile is the quantile at ``level`` by another continuous method.

    ``alpha`` and ``beta`` are the method's parameters, and ``size`` is the number of elements.
    """
    count = b.array(size, kind)
    place = b.subtract(
        b.add(b.multiply(count, level), b.add(b.multiply(b.array(level, kind), 1 - alpha - beta), alpha)), 1.0
    )
    last = b.maximum(b.subtract(count, 1.0), 1.0)
    return b.clip(b.divide(place, last), 0.0, 1.0)


def _as_floats(b: NumpyBuilder, a: Any) -> Value:
    x = b.floating(a)
    if is_complex(x.dtype):
        raise UnsupportedOperation("order statistics of complex numbers have no row")
    return x


def _with_reduced_axes(
    b: NumpyBuilder, found: Value, x: Value, axes: tuple[int, ...] | None, level: Any = None
) -> Value:
    front = level.shape if isinstance(level, Value) else ()
    gone = range(x.ndim) if axes is None else axes
    return b.reshape(found, shape=(*front, *(1 if i in gone else dim for i, dim in enumerate(x.shape))))


for _prefix in ("", "nan"):
    rows.row(f"{_prefix}quantile")(_quantile(1, bool(_prefix)))
    rows.row(f"{_prefix}percentile")(_quantile(100, bool(_prefix)))


def _median(skip_nan: bool) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = False
    ) -> Any:
        x = _as_floats(b, a)
        line, place, axes = _merge_axes(b, x, axis)
        if place is None:
            line, place = b.reshape(line, shape=(product(line.shape),)), 0
        found = _medians(b, line, place, skip_nan)
        return _with_reduced_axes(b, found, x, axes) if keepdims is True else found

    return row


def _medians(b: NumpyBuilder, x: Value, axis: int, skip_nan: bool) -> Value:
    """Return the medians along ``axis``; with ``skip_nan``, those of the elements that are not NaN."""
    size, rest = x.shape[axis], tuple(dim for place, dim in enumerate(x.shape) if place != axis)
    if not hint_of(size):
        b.fix(size)
        return b.full(shape=rest, fill_value=math.nan, dtype=x.dtype)
    # NaN are sorted last.
    ordered = b.sort(x, axis=axis)
    is_odd: Any
    if skip_nan:
        count = b.sum(b.astype(b.logical_not(b.isnan(x)), dtype="int64"), axis=(axis,), keepdims=True)
        before = b.maximum(b.subtract(count, 1), 0)
        low, high = (
            b.reshape(b.take_along_axis(ordered, b.floor_divide(place, 2), axis=axis), shape=rest)
            for place in (before, count)
        )
        is_odd = b.reshape(b.equal(b.remainder(count, 2), 1), shape=rest)
    else:
        low, high, last = (pick(b, ordered, axis, place) for place in ((size - 1) // 2, size // 2, -1))
        low = b.where(b.isnan(last), last, low)
        is_odd = bool(size % 2) if isinstance(size, int) else b.equal(b.array(size % 2, "int64"), 1)
    if is_odd is True:
        return low
    # NumPy adds numbers of half precision in single precision. The sum of two equal numbers may overflow.
    wide = "float32" if x.dtype == "float16" else x.dtype
    mean = b.multiply(b.add(b.cast(low, wide), b.cast(high, wide)), 0.5)
    mean = b.cast(mean, x.dtype)
    return mean if is_odd is False else b.where(is_odd, low, mean)


rows.row("median")(_median(skip_nan=False))
rows.row("nanmedian")(_median(skip_nan=True))


# ---------------------------------------------------------------------------------------------- counting
@rows.row("bincount")
def bincount(b: NumpyBuilder, x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    extra = () if weights is None else (b.cast(b.array(weights), "float64"),)
    return b.bincount(b.cast(b.array(x), "int64"), *extra, minlength=minlength, hint=b.recorded[0].shape[0])


def _edges(b: NumpyBuilder, a: Value, bins: Any, range: Any) -> Value:
    if isinstance(bins, (Value, list, tuple)):
        return b.array(bins)
    if isinstance(bins, str):
        raise UnsupportedOperation(
            f"bins={bins!r} of a histogram have no row: their number depends on the elements"
        )
    count = b.fix(bins) if isinstance(bins, Size) else int(bins)
    if range is not None and any(isinstance(item, Value) for item in range):
        raise UnsupportedOperation("a histogram over a computed range has no row; pass the edges as bins")
    span = None if range is None else tuple(float(b.fix_number(item)) for item in range)
    return b.histogram_bin_edges(b.reshape(a, shape=(product(a.shape),)), bins=count, range=span)


@rows.row("histogram_bin_edges")
def histogram_bin_edges(
    b: NumpyBuilder, a: Any, bins: Any = 10, range: Any = None, weights: Any = None
) -> Any:
    return b.cast(_edges(b, b.floating(a), bins, range), b.recorded_dtype())


@rows.row("histogram")
def histogram(
    b: NumpyBuilder, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    x = _as_floats(b, a)
    edges = _edges(b, x, bins, range)
    kind = b.result_type(x, edges)
    flat = b.reshape(b.cast(x, kind), shape=(product(x.shape),))
    extra = () if weights is None else (b.reshape(b.array(weights), shape=(product(x.shape),)),)
    counted = b.cast(b.histogram(flat, b.cast(edges, kind), *extra, density=False), b.recorded_dtype())
    edges = b.cast(edges, b.recorded_dtype(1))
    return (_density(b, counted, edges) if density else counted), edges


def _density(b: NumpyBuilder, counted: Value, edges: Value) -> Value:
    widths = b.cast(diff(b, edges), "float64")
    return b.divide(b.divide(counted, widths), b.sum(counted, dtype=counted.dtype))


@rows.row("histogram2d")
def histogram2d(
    b: NumpyBuilder,
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    if density:
        raise UnsupportedOperation("density= of histogram2d has no row; divide by the areas and the sum")
    alone = not isinstance(bins, (list, tuple)) or len(bins) not in (1, 2)
    each, spans = (bins, bins) if alone else (bins * 2)[:2], (None, None) if range is None else range
    edges = [
        b.cast(_edges(b, _as_floats(b, points), *given), "float64")
        for points, *given in zip((x, y), each, spans)
    ]
    across, along = (
        _memberships(b, b.cast(b.array(points), "float64"), line) for points, line in zip((x, y), edges)
    )
    if weights is not None:
        across = b.multiply(
            across, b.reshape(b.cast(b.array(weights), "float64"), shape=(across.shape[0], 1))
        )
    # The counts are a matrix product of the bin memberships along both axes.
    counted = b.tensordot(across, along, axes=((0,), (0,)))
    return counted, *(b.cast(line, b.recorded_dtype(place)) for place, line in enumerate(edges, 1))


@rows.row("histogramdd")
def histogramdd(
    b: NumpyBuilder, sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    if density:
        raise UnsupportedOperation("density= of histogramdd has no row; divide by the volumes and the sum")
    points = (
        sample
        if isinstance(sample, (list, tuple))
        else b.unstack(b.array(sample), axis=1, count=b.fix(sample.shape[1]))
    )
    each = bins if isinstance(bins, (list, tuple)) else (bins,) * len(points)
    spans = range or (None,) * len(points)
    edges = [
        b.cast(_edges(b, _as_floats(b, item), *given), "float64")
        for item, *given in zip(points, each, spans, strict=True)
    ]
    inside = [
        _memberships(b, b.cast(b.array(item), "float64"), line)
        for item, line in zip(points, edges, strict=True)
    ]
    letters = string.ascii_lowercase[: len(points)]
    extra, more = ([], "") if weights is None else ([b.cast(b.array(weights), "float64")], ",z")
    counted = b.einsum(
        *inside, *extra, equation=f"{','.join(f'z{letter}' for letter in letters)}{more}->{letters}"
    )
    return counted, tuple(b.cast(line, b.recorded_dtype(place)) for place, line in enumerate(edges, 1))


def _memberships(b: NumpyBuilder, points: Value, edges: Value) -> Value:
    """Return a float64 array [points, bins] that is 1 where the point is in the bin, and 0 elsewhere.

    A bin includes its lower edge, and the last bin also its upper edge.
    """
    column = b.reshape(points, shape=(points.shape[0], 1))
    low, high = cut(b, edges, 0, None, -1), cut(b, edges, 0, 1, None)
    inside = b.logical_and(b.greater_equal(column, low), b.less(column, high))
    # Edges may repeat, so the last bin is known by its index.
    count = edges.shape[0] - 1
    numbers = b.arange(start=0, stop=count, dtype="int64")
    last = b.equal(numbers, b.array(count - 1, "int64"))
    return b.cast(b.logical_or(inside, b.logical_and(last, b.equal(column, high))), "float64")


# ---------------------------------------------------------------------------------------------- correlation
@rows.row("cov")
def cov(
    b: NumpyBuilder,
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    x = _variables(b, m, y, rowvar)
    frequencies = None if fweights is None else b.cast(b.array(fweights), "int64")
    importances = None if aweights is None else b.cast(b.array(aweights), x.dtype)
    return b.cov(x, frequencies, importances, correction=(0 if bias else 1) if ddof is None else ddof)


@rows.row("corrcoef")
def corrcoef(b: NumpyBuilder, x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    return b.corrcoef(_variables(b, x, y, rowvar))


def _variables(b: NumpyBuilder, m: Any, y: Any, rowvar: bool) -> Value:
    x = _observations(b, m, y, rowvar)
    if x.ndim < 2:
        return x
    # NumPy has a 0-d result for a matrix of a single row, as for a vector.
    is_single = hint_of(x.shape[0]) == 1
    b.guard(apply("eq" if is_single else "ne", x.shape[0], 1))
    return b.reshape(x, shape=(x.shape[1],)) if is_single else x


def _observations(b: NumpyBuilder, m: Any, y: Any, rowvar: bool) -> Value:
    x = b.cast(b.array(m), b.recorded_dtype())
    if y is None:
        return x if rowvar or x.ndim < 2 else b.permute_dims(x, axes=(1, 0))
    other = b.cast(b.array(y), x.dtype)
    lines = [
        b.reshape(item, shape=(1, *item.shape))
        if item.ndim == 1
        else item
        if rowvar
        else b.permute_dims(item, axes=(1, 0))
        for item in (x, other)
    ]
    return b.concat(*lines, axis=0)


def _sliding(flipped: bool) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, v: Any, mode: str = "full" if flipped else "valid") -> Any:
        x, y = b.promote(a, v)
        if not flipped and is_complex(y.dtype):
            y = b.conj(y)
        # NumPy slides the shorter array over the longer one. Swapping the arguments reverses a correlation.
        swapped = not holds_with_guard(b, y.shape[0], x.shape[0])
        if swapped:
            b.guard(apply("lt", x.shape[0], y.shape[0]))
            x, y = y, x
        taps = y.shape[0]
        before = after = 0
        if mode == "full":
            before = after = taps - 1
        elif mode == "same":
            before, after = taps // 2, taps - 1 - taps // 2
        padded = b.pad(x, padding=((before, after),), value=b.operand(0, x.dtype))
        windows = b.sliding_window(padded, axis=0, size=taps)
        found = b.matmul(windows, b.flip(y, axis=0) if flipped else y)
        return b.flip(found, axis=0) if swapped and not flipped else found

    return row


convolve = rows.row("convolve")(_sliding(flipped=True))
rows.row("correlate")(_sliding(flipped=False))


@rows.row("interp")
def interp(
    b: NumpyBuilder, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    kind = b.recorded_dtype()
    at, points, values = b.cast(b.array(x), "float64"), b.array(xp, "float64"), b.array(fp, kind)
    if period is not None:
        at, points, values = _periodic(b, at, points, values, abs(period))
        # A period leaves no point outside.
        left = right = None
    count = points.shape[0]
    place = b.clip(b.searchsorted(points, at, side="right"), 1, b.array(count - 1, "int64"))
    low = b.subtract(place, 1)
    x0, x1, y0, y1 = (b.take(item, where, axis=0) for item in (points, values) for where in (low, place))
    slope = b.divide(b.subtract(y1, y0), b.cast(b.subtract(x1, x0), kind))
    found = b.add(b.multiply(slope, b.cast(b.subtract(at, x0), kind)), y0)
    if not is_complex(kind):
        found = _beside_infinity(b, found, at, (x0, y0), (x1, y1), slope)
    first, last = (b.getitem(values, key=(index,)) for index in (0, -1))
    found = b.where(
        b.less(at, b.getitem(points, key=(0,))), first if left is None else b.array(left, kind), found
    )
    # The interpolation may round at the last point, where NumPy returns the last value itself.
    found = b.where(b.equal(at, b.getitem(points, key=(-1,))), last, found)
    return b.where(
        b.greater(at, b.getitem(points, key=(-1,))), last if right is None else b.array(right, kind), found
    )


def _beside_infinity(
    b: NumpyBuilder,
    found: Value,
    at: Value,
    left: tuple[Value, Value],
    right: tuple[Value, Value],
    slope: Value,
) -> Value:
    """Return the interpolated values ``found``, with NaN replaced as NumPy replaces it.

    left, right: coordinates and values of the points on both sides of each position in ``at``.
    """
    (x0, y0), (x1, y1) = left, right
    other = b.add(b.multiply(slope, b.cast(b.subtract(at, x1), found.dtype)), y1)
    other = b.where(b.logical_and(b.isnan(other), b.equal(y0, y1)), y0, other)
    other = b.where(b.equal(at, x0), y0, other)
    return b.where(b.logical_and(b.isnan(found), b.logical_not(b.isnan(at))), other, found)


def _periodic(
    b: NumpyBuilder, at: Value, points: Value, values: Value, period: Any
) -> tuple[Value, Value, Value]:
    at, points = b.remainder(at, period), b.remainder(points, period)
    order = b.argsort(points, axis=0, stable=True)
    points, values = b.take(points, order, axis=0), b.take(values, order, axis=0)
    first, last = cut(b, points, 0, None, 1), cut(b, points, 0, -1, None)
    # The added points are the last one a period earlier and the first one a period later.
    points = b.concat(b.subtract(last, period), points, b.add(first, period), axis=0)
    return at, points, b.concat(cut(b, values, 0, -1, None), values, cut(b, values, 0, None, 1), axis=0)


@rows.row("trapezoid", "trapz")
def trapezoid(b: NumpyBuilder, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    values = b.array(y)
    place = axis_of(axis, values.ndim)
    step = dx
    if x is not None:
        points = b.array(x)
        step = diff(b, points, axis=0 if points.ndim == 1 else place)
        step = _broadcast_along(b, step, place, values.ndim)
    heights = _of("add")(b, cut(b, values, place, 1, None), cut(b, values, place, None, -1))
    area = _of("divide")(b, _of("multiply")(b, step, heights), 2.0)
    return b.sum(b.cast(area, b.recorded_dtype()), axis=(place,), dtype=b.recorded_dtype())


def _of(ufunc: str) -> Callable[..., Any]:
    row = rows.get(ufunc)
    assert row is not None
    return row


def _broadcast_along(b: NumpyBuilder, line: Value, axis: int, rank: int) -> Value:
    if line.ndim != 1:
        return line
    return b.reshape(line, shape=tuple(line.shape[0] if i == axis else 1 for i in range(rank)))


@rows.row("gradient")
def gradient(b: NumpyBuilder, f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = b.floating(f)
    axes = axes_of(axis, x.ndim)
    axes = tuple(range(x.ndim)) if axes is None else axes
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    made = tuple(_slope(b, x, place, step, edge_order) for place, step in zip(axes, steps))
    return made[0] if len(made) == 1 else made


def _slope(b: NumpyBuilder, x: Value, axis: int, step: Any, edge_order: int) -> Value:
    if isinstance(step, (list, tuple)) or getattr(step, "ndim", False):
        distances = b.cast(diff(b, b.floating(step)), x.dtype)
        return _slope_between(b, x, axis, _broadcast_along(b, distances, axis, x.ndim), edge_order)
    by = b.array(step, x.dtype)
    inner = b.divide(b.subtract(cut(b, x, axis, 2, None), cut(b, x, axis, None, -2)), b.multiply(by, 2.0))
    if edge_order == 2:
        first = b.divide(_weighted(b, x, axis, (0, 1, 2), (-1.5, 2.0, -0.5)), by)
        last = b.divide(_weighted(b, x, axis, (-3, -2, -1), (0.5, -2.0, 1.5)), by)
    else:
        first = b.divide(_weighted(b, x, axis, (0, 1), (-1.0, 1.0)), by)
        last = b.divide(_weighted(b, x, axis, (-2, -1), (-1.0, 1.0)), by)
    return b.concat(first, inner, last, axis=axis)


def _slope_between(b: NumpyBuilder, x: Value, axis: int, steps: Value, edge_order: int) -> Value:
    """Compute the derivative along ``axis`` as ``np.gradient`` does for unequal distances ``steps``."""
    before, after = cut(b, steps, axis, None, -1), cut(b, steps, axis, 1, None)
    both, across = b.add(before, after), b.multiply(before, after)
    low, high = b.multiply(before, both), b.multiply(after, both)
    middle = (
        b.negative(b.divide(after, low)),
        b.divide(b.subtract(after, before), across),
        b.divide(before, high),
    )
    inner = _sum_of_products(b, _neighbours(b, x, axis), middle)
    if edge_order == 2:
        left = (
            b.negative(b.divide(b.add(before, both), low)),
            b.divide(both, across),
            b.negative(b.divide(before, high)),
        )
        right = (b.divide(after, low), b.negative(b.divide(both, across)), b.divide(b.add(after, both), high))
        first = cut(b, _sum_of_products(b, _neighbours(b, x, axis), left), axis, None, 1)
        last = cut(b, _sum_of_products(b, _neighbours(b, x, axis), right), axis, -1, None)
    else:
        first = b.divide(_weighted(b, x, axis, (0, 1), (-1.0, 1.0)), cut(b, steps, axis, None, 1))
        last = b.divide(_weighted(b, x, axis, (-2, -1), (-1.0, 1.0)), cut(b, steps, axis, -1, None))
    return b.concat(first, inner, last, axis=axis)


def _neighbours(b: NumpyBuilder, x: Value, axis: int) -> list[Value]:
    return [cut(b, x, axis, None, -2), cut(b, x, axis, 1, -1), cut(b, x, axis, 2, None)]


def _weighted(
    b: NumpyBuilder, x: Value, axis: int, places: tuple[int, ...], weights: tuple[float, ...]
) -> Value:
    return _sum_of_products(
        b, [cut(b, x, axis, place, None if place == -1 else place + 1) for place in places], weights
    )


def _sum_of_products(b: NumpyBuilder, parts: list[Value], weights: tuple[Any, ...]) -> Value:
    first, *rest = (b.multiply(part, weight) for part, weight in zip(parts, weights))
    for term in rest:
        first = b.add(first, term)
    return first


@rows.row("polyfit")
def polyfit(
    b: NumpyBuilder,
    x: Any,
    y: Any,
    deg: Any,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    deg = b.fix(deg) if isinstance(deg, Size) else deg
    if full or cov or not isinstance(deg, int):
        raise UnsupportedOperation("full=, cov= and chosen powers of polyfit have no row")
    x, y = (
        b.add(b.array(x), b.array(0.0, "float64")) if not isinstance(x, Value) else b.floating(x),
        b.floating(b.array(y)),
    )
    least = float(np.finfo(x.dtype).eps) * x.shape[0] if rcond is None else float(rcond)
    # numpy.vander promotes with int64, and so float32 to float64.
    kind = b.result_type(b.array(0, "int64"), x, y)
    x = b.cast(x, kind)
    powers = b.arange(start=deg, stop=-1, step=-1, dtype="int64")
    columns = b.pow(b.reshape(x, shape=(x.shape[0], 1)), b.cast(powers, kind))
    right = b.reshape(y, shape=(y.shape[0], 1)) if y.ndim == 1 else y
    if w is not None:
        weights = b.reshape(b.array(w, kind), shape=(x.shape[0], 1))
        columns = b.multiply(columns, weights)
        right = b.cast(b.multiply(b.cast(right, kind), weights), right.dtype)
    # NumPy scales the columns, too, for a better conditioned problem.
    scale = b.sqrt(b.sum(b.square(columns), axis=(0,)))
    solution = b.lstsq(b.divide(columns, scale), b.cast(right, kind), rcond=least)[0]
    solution = b.divide(solution, b.reshape(scale, shape=(deg + 1, 1)))
    return b.reshape(solution, shape=(deg + 1,)) if y.ndim == 1 else solution


def _sum_of_two(name: str) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a1: Any, a2: Any) -> Any:
        # The shorter polynomial has zeros as its leading coefficients.
        x, y = (item if item.ndim else b.reshape(item, shape=(1,)) for item in b.promote(a1, a2))
        length = (
            x.shape[0]
            if holds_with_guard(b, y.shape[0], x.shape[0])
            else apply("max", x.shape[0], y.shape[0])
        )
        return getattr(b, name)(
            *(
                b.pad(item, padding=((length - item.shape[0], 0),), value=b.operand(0, item.dtype))
                for item in (x, y)
            )
        )

    return row


rows.row("polyadd")(_sum_of_two("add"))
rows.row("polysub")(_sum_of_two("subtract"))


@rows.row("polymul")
def polymul(b: NumpyBuilder, a1: Any, a2: Any) -> Value:
    x, y = (_leading(b, item if item.ndim else b.reshape(item, shape=(1,))) for item in b.promote(a1, a2))
    # NumPy drops leading zeros, so the first coefficients are guarded not to be 0.
    if hint_of(x.shape[0]) + hint_of(y.shape[0]) - 1 != hint_of(b.recorded[0].shape[0]):
        raise UnsupportedOperation(
            "polymul of polynomials that begin with 0 has no row: how many coefficients it gives depends on "
            "them"
        )
    found: Value = convolve(b, x, y)
    return found


def _leading(b: NumpyBuilder, x: Value) -> Value:
    """Return the coefficients ``x``; guard that there is only one, or that the first of several is not 0."""
    count = x.shape[0]
    if hint_of(count) == 1:
        b.fix(count)
        return x
    b.guard(apply("gt", count, 1))
    b.expect(b.not_equal(b.getitem(x, key=(0,)), b.operand(0, x.dtype)), True)
    return x


@rows.row("poly")
def poly(b: NumpyBuilder, seq_of_zeros: Any) -> Value:
    roots = b.array(seq_of_zeros)
    if roots.ndim != 1 or is_complex(roots.dtype):
        raise UnsupportedOperation(
            "poly of a matrix, or of complex roots, has no row: whether it gives real numbers depends on the "
            "elements"
        )
    roots = b.cast(roots, b.recorded_dtype())
    result = b.asarray(data=(1,), dtype=roots.dtype)
    for root in b.unstack(roots, axis=0, count=b.fix(roots.shape[0])):
        shifted = b.pad(result, padding=((1, 0),), value=b.operand(0, roots.dtype))
        result = b.subtract(
            b.pad(result, padding=((0, 1),), value=b.operand(0, roots.dtype)), b.multiply(shifted, root)
        )
    return result


@rows.row("polyder")
def polyder(b: NumpyBuilder, p: Any, m: int = 1) -> Any:
    x = b.array(p)
    for _ in range(m):
        powers = b.arange(start=x.shape[0] - 1, stop=0, step=-1, dtype="int64")
        x = b.multiply(*b.promote(b.getitem(x, key=((None, -1, 1),)), powers))
    return x


@rows.row("polyint")
def polyint(b: NumpyBuilder, p: Any, m: int = 1, k: Any = None) -> Any:
    if k is not None:
        raise UnsupportedOperation("k= of polyint has no row")
    x = b.array(p)
    for _ in range(m):
        powers = b.arange(start=x.shape[0], stop=0, step=-1, dtype="int64")
        x = b.divide(*b.promote(b.floating(x), powers))
        x = b.concat(x, b.zeros(shape=(1,), dtype=x.dtype), axis=0)
    return x


@rows.row("polyval")
def polyval(b: NumpyBuilder, p: Any, x: Any) -> Any:
    kind = b.recorded_dtype()
    coefficients = (
        [b.array(item, kind) for item in p] if isinstance(p, (list, tuple)) else _parts(b, b.cast(p, kind))
    )
    at = b.cast(b.array(x, kind if not isinstance(x, Value) else None), kind)
    total = b.zeros(shape=at.shape, dtype=kind)
    for coefficient in coefficients:
        total = b.add(b.multiply(total, at), coefficient)
    return total


def _parts(b: NumpyBuilder, p: Value) -> list[Value]:
    return list(b.unstack(p, axis=0, count=b.fix(p.shape[0])))
