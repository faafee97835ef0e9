"""Indexing, creation and shapes in ``jax.numpy``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....ir import Value
from .....sizes import Size
from ....indexing import read_index
from ....read_numbers import read
from ...names import READ_NUMBER
from ..table import JaxBuilder, rows


@rows.row("jax.numpy.asarray")
def asarray(b: JaxBuilder, x: Any, dtype: Any = None) -> Any:
    """A number, a size or an array as an array."""
    if isinstance(x, (tuple, list)):
        raise NotImplementedError
    return b.as_result(x)


@rows.row(READ_NUMBER)
def item(b: JaxBuilder, x: Value) -> Value:
    """The only element, of which Python has a number."""
    return read(b, x)


@rows.row("jax.numpy.copy")
def copy(b: JaxBuilder, x: Any) -> Any:
    """Arrays of JAX never change."""
    return b.as_result(x)


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
    return read_index(b, x, index)
