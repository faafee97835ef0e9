"""Helpers of several preludes: all prefixes of an array by an associative function, for targets that have no
such loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def prefixes(
    combine: Callable[..., tuple[Any, ...]],
    arrays: tuple[Any, ...],
    axis: int,
    joined: Callable[[Any, Any, int], Any],
    interleaved: Callable[[Any, Any, int], Any],
) -> tuple[Any, ...]:
    """The elements along ``axis``, each combined with all before it, in the order of
    ``jax.lax.associative_scan``.

    Neighbours are combined, and of these all prefixes taken, which are those at odd places; one more step
    gives those at even places. So ``combine`` is called about twice for each power of two, on as many pairs
    as there are elements at all. Lengths are numbers here. ``joined`` puts two arrays behind each other,
    ``interleaved`` takes elements in turn, of which the first array may have one more.
    """
    length = arrays[0].shape[axis]
    if length < 2:
        return arrays
    left, right = (
        tuple(section(array, axis, start, length - 1 + start, 2) for array in arrays) for start in (0, 1)
    )
    odd = prefixes(combine, combine(*left, *right), axis, joined, interleaved)
    even = tuple(section(array, axis, 0, 1) for array in arrays)
    if length > 2:
        left = tuple(section(array, axis, 0, (length - 1) // 2) for array in odd)
        right = tuple(section(array, axis, 2, length, 2) for array in arrays)
        even = tuple(joined(first, rest, axis) for first, rest in zip(even, combine(*left, *right)))
    return tuple(interleaved(*pair, axis) for pair in zip(even, odd))


def section(array: Any, axis: int, start: Any, stop: Any, step: int = 1) -> Any:
    return array[(slice(None),) * axis + (slice(start, stop, step),)]
