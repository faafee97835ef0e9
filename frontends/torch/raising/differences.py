"""Finite differences: torch.gradient."""

from __future__ import annotations

from typing import Any

from ....ir import Value
from ...slicing import cut
from .table import TorchBuilder, axis, rows


@rows.row("gradient")
def gradient(b: TorchBuilder, input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Value, ...]:
    """torch.gradient: second-order central differences; ``spacing`` is a step, a step an axis, or the coordinates along each axis."""
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    spacing = 1 if spacing is None else spacing
    spacings = spacing if isinstance(spacing, (tuple, list)) else (spacing,) * len(dims)
    return tuple(_along(b, input, axis(place, input.ndim), step, b.fix(edge_order)) for place, step in zip(dims, spacings))


def _along(b: TorchBuilder, x: Value, place: int, step: Any, edge_order: int) -> Value:
    """The derivative along one axis: inside from both neighbours, at the edges from one or two."""
    coordinates = isinstance(step, Value) and step.ndim == 1
    inside = _at_coordinates(b, x, place, step) if coordinates else _ratio(b, _difference(b, x, place, 2), _double(b, step))
    edges = []
    for side in (0, -1):
        width = _width(b, step, side, x, place) if coordinates else step
        near = _ratio(b, _edge(b, x, place, side), width)
        if edge_order == 2:
            near = _second_order(b, x, place, side, step, near)
        edges.append(near)
    return b.concat(*b.promote(edges[0], inside, edges[1]), axis=place)


def _double(b: TorchBuilder, step: Any) -> Any:
    return b.multiply(step, 2) if isinstance(step, Value) else step * 2


def _ratio(b: TorchBuilder, x: Value, width: Any) -> Value:
    above, below = b.promote(b.floating(x), width) if isinstance(width, Value) else (b.floating(x), float(width))
    return b.divide(above, below)


def _difference(b: TorchBuilder, x: Value, place: int, distance: int) -> Value:
    return b.subtract(cut(b, x, place, distance), cut(b, x, place, None, -distance))


def _edge(b: TorchBuilder, x: Value, place: int, side: int, further: int = 0) -> Value:
    """The difference of two neighbours at an edge, or as many places ``further`` inside."""
    pair = cut(b, x, place, further, further + 2) if side == 0 else cut(b, x, place, -2 - further, -further or None)
    return _difference(b, pair, place, 1)


def _spread(b: TorchBuilder, steps: Value, x: Value, place: int) -> Value:
    """A vector along one axis of ``x``."""
    return b.reshape(steps, shape=(*(1,) * place, steps.shape[0], *(1,) * (x.ndim - place - 1)))


def _width(b: TorchBuilder, coordinates: Value, side: int, x: Value, place: int, further: int = 0) -> Value:
    return _spread(b, _edge(b, coordinates, 0, side, further), x, place)


def _at_coordinates(b: TorchBuilder, x: Value, place: int, coordinates: Value) -> Value:
    """The derivative of the parabola through three neighbours at uneven distances."""
    steps = _difference(b, coordinates, 0, 1)
    before, after = (_spread(b, cut(b, steps, 0, *bounds), x, place) for bounds in ((None, -1), (1, None)))
    slopes = _ratio(b, _difference(b, x, place, 1), _spread(b, steps, x, place))
    left, right = cut(b, slopes, place, None, -1), cut(b, slopes, place, 1)
    weighted = b.add(*b.promote(b.multiply(*b.promote(left, after)), b.multiply(*b.promote(right, before))))
    return b.divide(*b.promote(weighted, b.add(before, after)))


def _second_order(b: TorchBuilder, x: Value, place: int, side: int, step: Any, near: Value) -> Value:
    """The slope at an edge, from its slope and the next one: extrapolated by half a step, at uneven distances by as much as these say."""
    if not (isinstance(step, Value) and step.ndim == 1):
        next_slope = _ratio(b, _edge(b, x, place, side, 1), step)
        return b.subtract(b.multiply(near, 1.5), b.multiply(next_slope, 0.5))
    first, second = (_width(b, step, side, x, place, further) for further in (0, 1))
    next_slope = _ratio(b, _edge(b, x, place, side, 1), second)
    share = b.divide(*b.promote(first, b.add(first, second)))
    return b.add(near, b.multiply(*b.promote(share, b.subtract(near, next_slope))))
