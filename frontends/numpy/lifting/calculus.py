"""Integrals and slopes of sampled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import Value
from ...slicing import cut
from .manipulation import diff
from .table import NumpyBuilder, axes_of, axis_of, rows


@rows.row("trapezoid", "trapz")
def trapezoid(b: NumpyBuilder, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
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
    x = b.floating(f)
    axes = axes_of(axis, x.ndim)
    axes = tuple(range(x.ndim)) if axes is None else axes
    steps = list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    made = tuple(_slope(b, x, place, step, edge_order) for place, step in zip(axes, steps))
    return made[0] if len(made) == 1 else made


def _slope(b: NumpyBuilder, x: Value, axis: int, step: Any, edge_order: int) -> Value:
    if isinstance(step, (list, tuple)) or getattr(step, "ndim", False):
        distances = b.cast(diff(b, b.floating(step)), x.dtype)
        return _slope_between(b, x, axis, _along(b, distances, axis, x.ndim), edge_order)
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
    """The slope at points of unequal distance: of the parabola through three neighbours."""
    before, after = cut(b, steps, axis, None, -1), cut(b, steps, axis, 1, None)
    both, across = b.add(before, after), b.multiply(before, after)
    low, high = b.multiply(before, both), b.multiply(after, both)
    middle = (b.negative(b.divide(after, low)), b.divide(b.subtract(after, before), across), b.divide(before, high))
    inner = _sum_of_products(b, _neighbours(b, x, axis), middle)
    if edge_order == 2:
        left = (b.negative(b.divide(b.add(before, both), low)), b.divide(both, across), b.negative(b.divide(before, high)))
        right = (b.divide(after, low), b.negative(b.divide(both, across)), b.divide(b.add(after, both), high))
        first = cut(b, _sum_of_products(b, _neighbours(b, x, axis), left), axis, None, 1)
        last = cut(b, _sum_of_products(b, _neighbours(b, x, axis), right), axis, -1, None)
    else:
        first = b.divide(_weighted(b, x, axis, (0, 1), (-1.0, 1.0)), cut(b, steps, axis, None, 1))
        last = b.divide(_weighted(b, x, axis, (-2, -1), (-1.0, 1.0)), cut(b, steps, axis, -1, None))
    return b.concat(first, inner, last, axis=axis)


def _neighbours(b: NumpyBuilder, x: Value, axis: int) -> list[Value]:
    """Of every element but the first and the last: the one before it, itself, and the one after it."""
    return [cut(b, x, axis, None, -2), cut(b, x, axis, 1, -1), cut(b, x, axis, 2, None)]


def _weighted(b: NumpyBuilder, x: Value, axis: int, places: tuple[int, ...], weights: tuple[float, ...]) -> Value:
    """The sum of a few slices of one element, each with a factor."""
    return _sum_of_products(b, [cut(b, x, axis, place, None if place == -1 else place + 1) for place in places], weights)


def _sum_of_products(b: NumpyBuilder, parts: list[Value], weights: tuple[Any, ...]) -> Value:
    first, *rest = (b.multiply(part, weight) for part, weight in zip(parts, weights))
    for term in rest:
        first = b.add(first, term)
    return first
