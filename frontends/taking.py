"""How a view that is there lies in the array that it is a view of: as an index, the order of the axes and a shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any, NamedTuple

from ..assumptions.overlap import lie_together


class Taking(NamedTuple):
    """``array[key]``, then its axes in this ``order``, then in this ``shape``; None where there is nothing to do."""

    key: tuple[Any, ...] | None
    order: tuple[int, ...] | None
    shape: tuple[int, ...] | None


def taking(shape: Sequence[int], steps: Sequence[int], offset: int, whole: Sequence[int]) -> Taking | None:
    """The index, axis order and shape that give a view with these ``steps`` (strides) and ``offset`` from a contiguous array; None if there
    is none. All counts are in elements.

    >>> taking((3,), (6,), 8, (4, 6))
    Taking(key=(slice(1, 4, 1), 2), order=None, shape=None)
    >>> taking((6, 4), (1, 6), 0, (4, 6))
    Taking(key=None, order=(1, 0), shape=None)
    """
    jumps = [*accumulate(reversed(whole[1:]), mul, initial=1)][::-1] if whole else []
    start = _start(offset, jumps)
    axes = [axis for axis, size in enumerate(shape) if size != 1]
    found = {axis: of for axis in axes if (of := _axis_of(shape[axis], steps[axis], whole, jumps, start)) is not None}
    if len(set(found.values())) != len(axes):
        return None
    index: list[Any] = list(start)
    for axis, of in found.items():
        step = steps[axis] // jumps[of]
        index[of] = slice(start[of], start[of] + (shape[axis] - 1) * step + 1, step)
    kept = sorted(found.values())
    order = tuple(kept.index(found[axis]) for axis in axes)
    all_kept = len(kept) == len(whole) and all(shape[axis] == whole[of] for axis, of in found.items())
    return Taking(
        None if all_kept else tuple(index),
        order if order != tuple(range(len(order))) else None,
        tuple(shape) if len(axes) != len(shape) else None,
    )


def views_among(arrays: Sequence[Any], is_view: Callable[[Any, Any], bool], rank: Callable[[Any], Any]) -> dict[int, tuple[Any, Any]]:
    """Maps the identity of each array that is a view to its owner, which contains all arrays that it overlaps. Of equal arrays the one of
    the highest ``rank`` is the owner."""
    found: dict[int, tuple[Any, Any]] = {}
    for owner in sorted(arrays, key=rank, reverse=True):
        if id(owner) not in found:
            around = [item for item in arrays if item is not owner and lie_together(item, owner)]
            if all(is_view(item, owner) for item in around):
                found.update({id(item): (item, owner) for item in around if id(item) not in found})
    return found


def _start(offset: int, jumps: list[int]) -> list[int]:
    """The place of the first element along each axis."""
    start = []
    for jump in jumps:
        start.append(offset // jump)
        offset %= jump
    return start


def _axis_of(size: int, step: int, whole: Sequence[int], jumps: list[int], start: list[int]) -> int | None:
    """The axis of the array along which an axis of the view goes."""
    fitting = (of for of, jump in enumerate(jumps) if step > 0 and step % jump == 0 and whole[of] != 1)
    return next((of for of in fitting if start[of] + (size - 1) * (step // jumps[of]) < whole[of]), None)
