"""Order statistics, histograms, integrals, correlation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_complex, is_inexact
from ....sizes import Size, hint_of, product
from ...slicing import cut
from .manipulation import diff
from .table import NumpyBuilder, axes_of, axis_of, rows


# ---------------------------------------------------------------------------------------------- order statistics
def _in_a_line(b: NumpyBuilder, x: Value, axis: Any) -> tuple[Value, int | None, tuple[int, ...] | None]:
    """The array with the axes to be reduced as one at the end, where they are several."""
    axes = axes_of(axis, x.ndim)
    if axes is None or len(axes) == 1:
        return x, None if axes is None else axes[0], axes
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    moved = b.permute_dims(x, axes=(*rest, *axes))
    return b.reshape(moved, shape=(*(x.shape[i] for i in rest), product(x.shape[i] for i in axes))), len(rest), axes


def _quantile(scale: float, skip_nan: bool) -> Callable[..., Any]:
    def row(
        b: NumpyBuilder, a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: bool = False,
        *, weights: Any = None,
    ) -> Any:  # fmt: skip
        if weights is not None or method not in ("linear", "lower", "higher", "midpoint", "nearest"):
            raise UnsupportedOperation(f"quantiles with weights, or by the method {method!r}, have no row")
        x, kind = _ordered(b, a), b.recorded_dtype()
        wide = kind if is_inexact(kind) else "float64"
        line, place, axes = _in_a_line(b, b.cast(x, wide), axis)
        level = b.array(q, wide) if isinstance(q, (Value, list, tuple)) else b.operand(q, wide)
        level = level if scale == 1 else b.divide(level, scale) if isinstance(level, Value) else level / scale
        found = b.quantile(line, level, axis=place, keepdims=False, interpolation=method, skip_nan=skip_nan)
        return b.cast(_kept(b, found, x, axes, level) if keepdims else found, kind)

    return row


def _ordered(b: NumpyBuilder, a: Any) -> Value:
    """The array as floats, which have an order."""
    x = b.floating(a)
    if is_complex(x.dtype):
        raise UnsupportedOperation("order statistics of complex numbers have no row")
    return x


def _kept(b: NumpyBuilder, found: Value, x: Value, axes: tuple[int, ...] | None, level: Any = None) -> Value:
    front = level.shape if isinstance(level, Value) else ()
    gone = range(x.ndim) if axes is None else axes
    return b.reshape(found, shape=(*front, *(1 if i in gone else dim for i, dim in enumerate(x.shape))))


for _prefix in ("", "nan"):
    rows.row(f"{_prefix}quantile")(_quantile(1, bool(_prefix)))
    rows.row(f"{_prefix}percentile")(_quantile(100, bool(_prefix)))


def _median(skip_nan: bool) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
        x = _ordered(b, a)
        line, place, axes = _in_a_line(b, x, axis)
        found = b.quantile(line, 0.5, axis=place, keepdims=False, interpolation="midpoint", skip_nan=skip_nan)
        return _kept(b, found, x, axes) if keepdims is True else found

    return row


rows.row("median")(_median(skip_nan=False))
rows.row("nanmedian")(_median(skip_nan=True))


# ---------------------------------------------------------------------------------------------- counting
@rows.row("bincount")
def bincount(b: NumpyBuilder, x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """numpy.bincount."""
    extra = () if weights is None else (b.cast(b.array(weights), "float64"),)
    return b.bincount(b.cast(b.array(x), "int64"), *extra, minlength=minlength, hint=b.recorded[0].shape[0])


def _edges(b: NumpyBuilder, a: Value, bins: Any, range: Any) -> Value:
    if isinstance(bins, (Value, list, tuple)):
        return b.array(bins)
    if isinstance(bins, str):
        raise UnsupportedOperation(f"bins={bins!r} of a histogram have no row: their number depends on the elements")
    count = b.fix(bins) if isinstance(bins, Size) else int(bins)
    if range is not None and any(isinstance(item, Value) for item in range):
        raise UnsupportedOperation("a histogram over a computed range has no row; pass the edges as bins")
    span = None if range is None else tuple(float(hint_of(item)) for item in range)
    return b.histogram_bin_edges(b.reshape(a, shape=(product(a.shape),)), bins=count, range=span)


@rows.row("histogram_bin_edges")
def histogram_bin_edges(b: NumpyBuilder, a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """numpy.histogram_bin_edges."""
    return b.cast(_edges(b, b.floating(a), bins, range), b.recorded_dtype())


@rows.row("histogram")
def histogram(b: NumpyBuilder, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """numpy.histogram."""
    x = _ordered(b, a)
    edges = _edges(b, x, bins, range)
    kind = b.result_type(x, edges)
    flat = b.reshape(b.cast(x, kind), shape=(product(x.shape),))
    extra = () if weights is None else (b.reshape(b.array(weights), shape=(product(x.shape),)),)
    counted = b.histogram(flat, b.cast(edges, kind), *extra, density=bool(density))
    return b.cast(counted, b.recorded_dtype()), b.cast(edges, b.recorded_dtype(1))


@rows.row("histogram2d")
def histogram2d(b: NumpyBuilder, x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """numpy.histogram2d: a product of what says which bin each point is in, along each axis."""
    if density:
        raise UnsupportedOperation("density= of histogram2d has no row; divide by the areas and the sum")
    alone = not isinstance(bins, (list, tuple)) or len(bins) not in (1, 2)
    edges = [b.cast(_edges(b, _ordered(b, points), *given), "float64") for points, *given in zip(
        (x, y), (bins, bins) if alone else (bins * 2)[:2], (None, None) if range is None else range)]  # fmt: skip
    across, along = (_memberships(b, b.cast(b.array(points), "float64"), line) for points, line in zip((x, y), edges))
    if weights is not None:
        across = b.multiply(across, b.reshape(b.cast(b.array(weights), "float64"), shape=(across.shape[0], 1)))
    counted = b.tensordot(across, along, axes=((0,), (0,)))
    return counted, *(b.cast(line, b.recorded_dtype(place)) for place, line in enumerate(edges, 1))


def _memberships(b: NumpyBuilder, points: Value, edges: Value) -> Value:
    """[points, bins]: 1.0 where a point lies in a bin; the last bin has its upper edge too."""
    column = b.reshape(points, shape=(points.shape[0], 1))
    low, high = cut(b, edges, 0, None, -1), cut(b, edges, 0, 1, None)
    inside = b.logical_and(b.greater_equal(column, low), b.less(column, high))
    last = b.equal(high, b.max(edges))
    return b.cast(b.logical_or(inside, b.logical_and(last, b.equal(column, high))), "float64")


# ---------------------------------------------------------------------------------------------- integrals and differences
@rows.row("trapezoid", "trapz")
def trapezoid(b: NumpyBuilder, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """numpy.trapezoid."""
    values = b.array(y)
    place = axis_of(axis, values.ndim)
    step = dx
    if x is not None:
        points = b.array(x)
        step = diff(b, points, axis=0 if points.ndim == 1 else place)
        step = _along(b, step, place, values.ndim)
    heights = _of("add")(b, cut(b, values, place, 1, None), cut(b, values, place, None, -1))
    area = _of("divide")(b, _of("multiply")(b, step, heights), 2.0)
    return b.sum(b.cast(area, b.recorded_dtype()), axis=(place,), dtype=b.recorded_dtype())


def _of(ufunc: str) -> Callable[..., Any]:
    """The row of a ufunc, which promotes as numpy does."""
    row = rows.get(ufunc)
    assert row is not None
    return row


def _along(b: NumpyBuilder, line: Value, axis: int, rank: int) -> Value:
    """A vector along one of ``rank`` axes; arrays of more axes as they are."""
    if line.ndim != 1:
        return line
    return b.reshape(line, shape=tuple(line.shape[0] if i == axis else 1 for i in range(rank)))


@rows.row("gradient")
def gradient(b: NumpyBuilder, f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """numpy.gradient, at points of equal distance."""
    if edge_order != 1 or any(isinstance(step, (list, tuple)) or getattr(step, "ndim", 0) for step in varargs):
        raise UnsupportedOperation("gradient at points of unequal distance, or with edge_order=2, has no row")
    x = b.floating(f)
    axes = axes_of(axis, x.ndim)
    axes = tuple(range(x.ndim)) if axes is None else axes
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    made = tuple(_slope(b, x, place, step) for place, step in zip(axes, steps))
    return made[0] if len(made) == 1 else made


def _slope(b: NumpyBuilder, x: Value, axis: int, step: Any) -> Value:
    by = b.array(step, x.dtype)
    inner = b.divide(b.subtract(cut(b, x, axis, 2, None), cut(b, x, axis, None, -2)), b.multiply(by, 2.0))
    first = b.divide(b.subtract(cut(b, x, axis, 1, 2), cut(b, x, axis, None, 1)), by)
    last = b.divide(b.subtract(cut(b, x, axis, -1, None), cut(b, x, axis, -2, -1)), by)
    return b.concat(first, inner, last, axis=axis)


# ---------------------------------------------------------------------------------------------- correlation
@rows.row("cov")
def cov(
    b: NumpyBuilder, m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None, aweights: Any = None,
    *, dtype: Any = None,
) -> Any:  # fmt: skip
    """numpy.cov."""
    if fweights is not None or aweights is not None:
        raise UnsupportedOperation("cov with weights has no row")
    x = _observations(b, m, y, rowvar)
    return b.cov(x, correction=(0 if bias else 1) if ddof is None else ddof)


@rows.row("corrcoef")
def corrcoef(b: NumpyBuilder, x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """numpy.corrcoef."""
    return b.corrcoef(_observations(b, x, y, rowvar))


def _observations(b: NumpyBuilder, m: Any, y: Any, rowvar: bool) -> Value:
    x = b.cast(b.array(m), b.recorded_dtype())
    if y is None:
        return x if rowvar or x.ndim < 2 else b.permute_dims(x, axes=(1, 0))
    other = b.cast(b.array(y), x.dtype)
    lines = [
        b.reshape(item, shape=(1, *item.shape)) if item.ndim == 1 else item if rowvar else b.permute_dims(item, axes=(1, 0))
        for item in (x, other)
    ]
    return b.concat(*lines, axis=0)


def _sliding(flipped: bool) -> Callable[..., Any]:
    def row(b: NumpyBuilder, a: Any, v: Any, mode: str = "full" if flipped else "valid") -> Any:
        x, y = b.promote(a, v)
        if not flipped and is_complex(y.dtype):
            y = b.conj(y)
        swapped = hint_of(y.shape[0]) > hint_of(x.shape[0])
        x, y = (y, x) if swapped else (x, y)
        if swapped and not flipped:
            raise UnsupportedOperation("correlate with the longer array second has no row")
        taps = y.shape[0]
        before = after = 0
        if mode == "full":
            before = after = taps - 1
        elif mode == "same":
            before, after = taps // 2, taps - 1 - taps // 2
            before, after = (taps - 1) // 2 if flipped else taps // 2, taps - 1 - ((taps - 1) // 2 if flipped else taps // 2)
            if flipped:
                before, after = taps - 1 - (taps - 1) // 2, (taps - 1) // 2
        padded = b.pad(x, padding=((before, after),), value=b.operand(0, x.dtype))
        windows = b.sliding_window(padded, axis=0, size=taps)
        return b.matmul(windows, b.flip(y, axis=0) if flipped else y)

    return row


rows.row("convolve")(_sliding(flipped=True))
rows.row("correlate")(_sliding(flipped=False))


@rows.row("interp")
def interp(b: NumpyBuilder, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """numpy.interp."""
    if period is not None:
        raise UnsupportedOperation("interp with a period has no row")
    kind = b.recorded_dtype()
    at, points, values = b.cast(b.array(x), "float64"), b.array(xp, "float64"), b.array(fp, kind)
    points = b.cast(points, "float64")
    count = points.shape[0]
    place = b.clip(b.searchsorted(points, at, side="right"), 1, b.array(count - 1, "int64"))
    low = b.subtract(place, 1)
    x0, x1, y0, y1 = (b.take(item, where, axis=0) for item in (points, values) for where in (low, place))
    slope = b.divide(b.subtract(y1, y0), b.cast(b.subtract(x1, x0), kind))
    found = b.add(b.multiply(slope, b.cast(b.subtract(at, x0), kind)), y0)
    first, last = (b.getitem(values, key=(index,)) for index in (0, -1))
    found = b.where(b.less(at, b.getitem(points, key=(0,))), first if left is None else b.array(left, kind), found)
    found = b.where(b.equal(at, b.getitem(points, key=(-1,))), last, found)
    return b.where(b.greater(at, b.getitem(points, key=(-1,))), last if right is None else b.array(right, kind), found)


@rows.row("polyval")
def polyval(b: NumpyBuilder, p: Any, x: Any) -> Any:
    """numpy.polyval, by Horner's rule."""
    kind = b.recorded_dtype()
    coefficients = [b.array(item, kind) for item in p] if isinstance(p, (list, tuple)) else _parts(b, b.cast(p, kind))
    at = b.cast(b.array(x, kind if not isinstance(x, Value) else None), kind)
    total = b.zeros(shape=at.shape, dtype=kind)
    for coefficient in coefficients:
        total = b.add(b.multiply(total, at), coefficient)
    return total


def _parts(b: NumpyBuilder, p: Value) -> list[Value]:
    return list(b.unstack(p, axis=0, count=b.fix(p.shape[0])))
