"""Finite differences: torch.gradient."""

from __future__ import annotations

from typing import Any

from ....ir import Value
from ...slicing import cut
from .table import TorchBuilder, axis, rows

Weights = tuple[Value, Value, Value]
Bounds = tuple[int | None, int | None]


@rows.row("gradient")
def gradient(b: TorchBuilder, input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Value, ...]:
    """torch.gradient: second-order central differences; ``spacing`` is a step, a step an axis, or the coordinates along each axis."""
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    spacing = 1 if spacing is None else spacing
    spacings = spacing if isinstance(spacing, (tuple, list)) else (spacing,) * len(dims)
    return tuple(_along(b, input, axis(place, input.ndim), step, b.fix(edge_order)) for place, step in zip(dims, spacings))


def _along(b: TorchBuilder, x: Value, place: int, step: Any, edge_order: int) -> Value:
    """The derivative along one axis: inside from both neighbours, at the edges from one or two."""
    if isinstance(step, Value) and step.ndim == 1:
        inside = _at_coordinates(b, x, place, step)
        edges = [_at_uneven_edge(b, x, place, side, step, edge_order) for side in (0, -1)]
    else:
        inside = _ratio(b, _difference(b, x, place, 2), _double(b, step))
        edges = [_at_even_edge(b, x, place, side, step, edge_order) for side in (0, -1)]
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


def _at_coordinates(b: TorchBuilder, x: Value, place: int, coordinates: Value) -> Value:
    """The derivative of the parabola through three neighbours at uneven distances, inside."""
    before, after = _pairs_of_steps(b, coordinates)
    return _weighted(b, x, place, _in_the_middle(b, before, after), ((0, -2), (1, -1), (2, None)))


def _at_uneven_edge(b: TorchBuilder, x: Value, place: int, side: int, coordinates: Value, edge_order: int) -> Value:
    """The slope to the next element, or that of the parabola through the last three."""
    if edge_order == 1:
        steps = _difference(b, coordinates, 0, 1)
        return _ratio(b, _edge(b, x, place, side), _spread(b, _outermost(b, steps, side), x, place))
    before, after = (_outermost(b, steps, side) for steps in _pairs_of_steps(b, coordinates))
    weights = _at_first(b, before, after) if side == 0 else tuple(b.negative(weight) for weight in _at_first(b, after, before)[::-1])
    cuts = ((0, 1), (1, 2), (2, 3)) if side == 0 else ((-3, -2), (-2, -1), (-1, None))
    return _weighted(b, x, place, weights, cuts)


def _pairs_of_steps(b: TorchBuilder, coordinates: Value) -> tuple[Value, Value]:
    """The distances before and after each coordinate that has both."""
    steps = _difference(b, coordinates, 0, 1)
    return cut(b, steps, 0, None, -1), cut(b, steps, 0, 1)


def _outermost(b: TorchBuilder, steps: Value, side: int) -> Value:
    return cut(b, steps, 0, None, 1) if side == 0 else cut(b, steps, 0, -1)


def _in_the_middle(b: TorchBuilder, before: Value, after: Value) -> Weights:
    """What the three elements count for in the middle one: torch's own terms, for they decide what a distance of 0 gives."""
    both = b.add(before, after)
    return (
        _ratio(b, b.negative(after), b.multiply(before, both)),
        _ratio(b, b.subtract(after, before), b.multiply(before, after)),
        _ratio(b, before, b.multiply(after, both)),
    )


def _at_first(b: TorchBuilder, near: Value, far: Value) -> Weights:
    """What the three elements count for in the first one, ``near`` the second and ``far`` further on the third."""
    both = b.add(near, far)
    return (
        _ratio(b, b.negative(b.add(b.multiply(near, 2), far)), b.multiply(near, both)),
        _ratio(b, both, b.multiply(near, far)),
        _ratio(b, b.negative(near), b.multiply(far, both)),
    )


def _weighted(b: TorchBuilder, x: Value, place: int, weights: Weights, cuts: tuple[Bounds, ...]) -> Value:
    """The sum of three parts of ``x``, each times its weights along one axis."""
    parts = [
        b.combined("multiply", _spread(b, weight, x, place), cut(b, x, place, *part)) for weight, part in zip(weights, cuts, strict=True)
    ]
    return b.add(b.add(parts[0], parts[1]), parts[2])


def _at_even_edge(b: TorchBuilder, x: Value, place: int, side: int, step: Any, edge_order: int) -> Value:
    """The slope to the next element; of the second order extrapolated by half a step from it and the next slope."""
    near = _ratio(b, _edge(b, x, place, side), step)
    if edge_order == 1:
        return near
    next_slope = _ratio(b, _edge(b, x, place, side, 1), step)
    return b.subtract(b.multiply(near, 1.5), b.multiply(next_slope, 0.5))
