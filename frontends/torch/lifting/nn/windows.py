"""How torch gives one number for all axes of space, or one for each."""

from __future__ import annotations

from typing import Any


def spread(value: Any, rank: int) -> tuple[Any, ...]:
    """``value`` for each of ``rank`` axes: a number, a sequence of one, or one for each.

    >>> spread(2, 3), spread([1], 2), spread((1, 2), 2)
    ((2, 2, 2), (1, 1), (1, 2))
    """
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * rank if len(values) == 1 else values


def strides_or(stride: Any, kernel: tuple[Any, ...]) -> tuple[Any, ...]:
    """The strides of a pooling: where none are given, its kernel."""
    return kernel if stride in (None, [], ()) else spread(stride, len(kernel))


def both_sides(padding: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    """torch's padding, as much before as behind, as pairs.

    >>> both_sides(1, 2)
    ((1, 1), (1, 1))
    """
    return tuple((amount, amount) for amount in spread(padding, rank))
