"""Bounds of slices and indices as Python takes them, made to lie inside of the axis.

A bound that did not leave the axis while recording is taken never to leave it, under a guard where that is not sure; one that
did is written exactly, with ``min`` and ``max``. So sizes stay simple, and no target has to clamp.
"""

from __future__ import annotations

from typing import Any

from ..ir import Value
from ..ops.bounds import at_most, nonnegative
from ..sizes import Size, apply, hint_of
from .building import RaisingBuilder

WHOLE = (None, None, 1)


def holds(b: RaisingBuilder, small: Any, large: Any) -> bool:
    """Whether ``small <= large`` holds, from now on under a guard; False where it did not while recording."""
    if at_most(small, large):
        return True
    if hint_of(small) > hint_of(large):
        return False
    b.guard(apply("le", small, large))
    return True


def index_inside(b: RaisingBuilder, index: Any, size: Any) -> Any:
    """The index of one element, guarded to lie inside; negative ints stay, negative sizes are counted from the front."""
    if isinstance(index, Size) and _negative(b, index):
        index = index + size
    if not holds(b, -index if isinstance(index, int) and index < 0 else index + 1, size):
        b.left(index, size)
    return index


def slice_inside(b: RaisingBuilder, start: Any, stop: Any, step: Any, size: Any) -> tuple[Any, Any, Any]:
    """The item of a ``getitem`` key for ``start:stop:step`` on an axis of ``size``: None for the whole side, -1 for the last one."""
    first, last = _clamped(b, start, size, 0), _clamped(b, stop, size, size)
    if not holds(b, first, last):
        last = apply("max", first, last)
    step = 1 if step is None else step
    return (None if first == 0 else _short(first, start, size), None if last == size else _short(last, stop, size), step)


def _clamped(b: RaisingBuilder, given: Any, size: Any, absent: Any) -> Any:
    if given is None:
        return absent
    bound = given + size if _negative(b, given) else given
    if not holds(b, 0, bound):
        return 0 if isinstance(bound, int) else apply("max", bound, 0)
    return bound if holds(b, bound, size) else apply("min", bound, size)


def _negative(b: RaisingBuilder, bound: Any) -> bool:
    if isinstance(bound, int) or nonnegative(bound):
        return isinstance(bound, int) and bound < 0
    b.guard(apply("lt" if bound.hint < 0 else "ge", bound, 0))
    return bool(bound.hint < 0)


def _short(bound: Any, given: Any, size: Any) -> Any:
    """``-1`` for a bound one before the end, if the user wrote it so or the size is symbolic."""
    before_end = size - bound
    if isinstance(before_end, int) and before_end > 0 and (isinstance(bound, Size) or (isinstance(given, int) and given < 0)):
        return -before_end
    return bound


def slice_item(b: RaisingBuilder, given: slice, size: Any) -> tuple[Any, Any, Any]:
    """The item of a ``getitem`` key for a Python slice."""
    return slice_inside(b, given.start, given.stop, given.step, size)


def along(axis: int, item: Any) -> tuple[Any, ...]:
    """The ``getitem`` key that applies ``item`` to one axis."""
    return (*(WHOLE,) * axis, item)


def cut(b: RaisingBuilder, x: Value, axis: int, start: Any = None, stop: Any = None, step: Any = 1) -> Value:
    """``x[start:stop:step]`` along one axis, with bounds as Python takes them."""
    return b.getitem(x, key=along(axis, slice_inside(b, start, stop, step, x.shape[axis])))


def pick(b: RaisingBuilder, x: Value, axis: int, index: Any) -> Value:
    """The slice of ``x`` at one index along an axis, without that axis; the index is a number, a size or a 0-d array."""
    if isinstance(index, Value):
        return b.take(x, index, axis=axis)
    return b.getitem(x, key=along(axis, index_inside(b, index, x.shape[axis])))


def fitted(b: RaisingBuilder, x: Value, shape: tuple[Any, ...], but: int | None = None) -> Value:
    """``x`` cut to ``shape`` on all axes but one; where the sizes were equal while recording they are taken to be, under a guard."""
    for axis, (have, want) in enumerate(zip(x.shape, shape, strict=False)):
        if axis == but or have == want:
            continue
        if hint_of(have) == hint_of(want):
            b.guard(apply("eq", have, want))
        else:
            x = cut(b, x, axis, None, want)
    return x
