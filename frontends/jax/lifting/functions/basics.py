"""Indexing, creation and shapes in ``jax.numpy``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....ir import Value
from .....sizes import Size
from ....indexing import read_index, write_index
from ....read_numbers import read
from ...names import READ_NUMBER, SETITEM
from ..ranges import inside
from ..table import JaxBuilder, rows


@rows.row("jax.numpy.asarray")
def asarray(b: JaxBuilder, x: Any, dtype: Any = None) -> Any:
    """A number, a size or an array as an array."""
    if isinstance(x, (tuple, list)):
        raise NotImplementedError
    return b.as_result(x)


@rows.row(READ_NUMBER)
def item(b: JaxBuilder, x: Value) -> Value:
    """Lift a number that Python has read. JAX has no derivative of it, so the graph has the one of the element."""
    return read(b, x, is_constant=False)


rows.table({
    # the numbers of the steps of a loop
    "jax.numpy.arange": lambda b, start, stop, step: b.arange(start=start, stop=stop, step=step, dtype="int64"),
    "jax.numpy.logical_and": lambda b, x, y: b.logical_and(x, y),  # two conditions of a loop, both of which have to hold
    "jax.numpy.logical_or": lambda b, x, y: b.logical_or(x, y),  # two conditions of a loop, one of which has to hold
    "jax.numpy.logical_not": lambda b, x: b.logical_not(x),  # a condition of a loop that must not hold
    "jax.numpy.copy": lambda b, x: b.as_result(x),  # arrays of JAX never change
})  # fmt: skip


@rows.row("jax.Array.__getitem__")
def getitem(b: JaxBuilder, x: Any, index: Any) -> Any:
    """``x[index]``; masks, whose results have sizes that JAX does not know, are opened."""
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, (list, bool, np.ndarray)) or (isinstance(item, Value) and item.dtype == "bool") for item in items):
        raise NotImplementedError
    if not all(item is None or item is Ellipsis or isinstance(item, (int, slice, Value, Size)) for item in items):
        raise NotImplementedError
    if any(isinstance(item, slice) and isinstance(item.step, int) and item.step < 0 for item in items):
        raise NotImplementedError
    return read_index(b, x, _clamped(b, x, items))


def _clamped(b: JaxBuilder, x: Value, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items of an index with the arrays among them inside of their axes."""
    axes = iter(x.shape[: sum(item is not None for item in items)])
    if Ellipsis in [item for item in items if not isinstance(item, Value)]:
        place = next(place for place, item in enumerate(items) if item is Ellipsis)
        behind = sum(item is not None for item in items[place + 1 :])
        axes = iter((*x.shape[: sum(item is not None for item in items[:place])], None, *x.shape[x.ndim - behind :]))
    sizes = [None if item is None else next(axes) for item in items]
    return tuple(inside(b, item, size) if isinstance(item, Value) else item for item, size in zip(items, sizes))


@rows.row(SETITEM)
def setitem(b: JaxBuilder, x: Value, index: Any, values: Any) -> Any:
    """``x.at[index].set(values)`` at numbers and slices."""
    return write_index(b, x, index, values)
