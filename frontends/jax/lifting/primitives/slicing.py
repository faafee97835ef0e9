"""Slices: of places known beforehand, and of such that are computed."""

from __future__ import annotations

from typing import Any

from .....ir import Value
from .....sizes import apply, hint_of
from ..ranges import is_inside
from ..table import JaxBuilder, rows
from .elementwise import known_number

_WHOLE = (None, None, 1)


@rows.row("slice_p")
def slice_(b: JaxBuilder, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    """``x[start:limit:stride]`` of every axis."""
    steps = strides or (1,) * x.ndim
    return b.getitem(x, key=tuple(_item(*bounds) for bounds in zip(start_indices, limit_indices, steps, x.shape)))


def _item(start: Any, stop: Any, step: Any, size: Any) -> Any:
    return (None if start == 0 else start, None if stop == size else stop, int(step))


def starts_inside(b: JaxBuilder, x: Value, starts: tuple[Any, ...], sizes: tuple[Any, ...]) -> list[Any]:
    """Where slices of these sizes begin: JAX moves them inside. 0 where the slice is the whole axis."""
    return [_start(b, known_number(b, start), have, size) for start, have, size in zip(starts, x.shape, sizes)]


def _start(b: JaxBuilder, start: Any, have: Any, size: Any) -> Any:
    if have == size:
        return 0
    last = have - size
    if isinstance(start, Value):
        if is_inside(b, start, 0, last):
            return start
        top = last if isinstance(last, int) else b.full(shape=(), fill_value=last, dtype=start.dtype)
        return b.clip(start, 0, top)
    if hint_of(last) >= hint_of(start) >= 0:
        if not isinstance(last, int) or not isinstance(start, int):
            b.guard(apply("le", start, last))
        return start
    return apply("max", apply("min", start, last), 0)


@rows.row("dynamic_slice_p")
def dynamic_slice(b: JaxBuilder, x: Any, *starts: Any, slice_sizes: Any) -> Any:
    """A slice of each axis, some of whose starts are computed."""
    sizes = tuple(slice_sizes)
    begin = starts_inside(b, x, starts, sizes)
    key = tuple(_WHOLE if isinstance(at, Value) or have == size else (at, at + size, 1) for at, size, have in zip(begin, sizes, x.shape))
    found = b.getitem(x, key=key)
    computed = [axis for axis, at in enumerate(begin) if isinstance(at, Value)]
    if not computed:
        return found
    return b.dynamic_slice(found, *(begin[axis] for axis in computed), axes=tuple(computed), sizes=tuple(sizes[axis] for axis in computed))


@rows.row("dynamic_update_slice_p")
def dynamic_update_slice(b: JaxBuilder, x: Any, update: Any, *starts: Any) -> Any:
    """A slice written to."""
    begin = starts_inside(b, x, starts, update.shape)
    if not any(isinstance(at, Value) for at in begin):
        return b.setitem(x, update, key=tuple((at, at + size, 1) for at, size in zip(begin, update.shape)))
    axes = tuple(axis for axis, (have, size) in enumerate(zip(x.shape, update.shape)) if have != size or isinstance(begin[axis], Value))
    return b.dynamic_update_slice(x, update, *(begin[axis] for axis in axes), axes=axes)
