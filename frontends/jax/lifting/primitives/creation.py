"""Arrays out of nothing."""

from __future__ import annotations

from typing import Any

from ..table import JaxBuilder, rows
from .shapes import spread

_COUNTED = ("int32", "int64", "float32", "float64")  # types that every target counts in


@rows.row("iota_p")
def iota(b: JaxBuilder, *, shape: Any, dimension: int, **_: Any) -> Any:
    """0, 1, 2 ... along one axis."""
    shape = tuple(shape)
    dtype = b.result.dtype
    numbers = b.arange(start=0, stop=shape[dimension], step=1, dtype=dtype if dtype in _COUNTED else "int64")
    numbers = b.astype(numbers, dtype=dtype)
    if len(shape) > 1:
        numbers = b.reshape(numbers, shape=spread((shape[dimension],), (dimension,), len(shape), skip_leading=True))
    return b.broadcast_to(numbers, shape=shape)


rows.table({"empty_p": lambda b, *, shape, **_: b.zeros(shape=tuple(shape), dtype=b.result.dtype)})  # JAX fills it with zeros


@rows.row("empty2_p")
def empty2(b: JaxBuilder, **_: Any) -> Any:
    """One element that is never looked at: what a derivative of ``lax.cond`` gives for a residual of the other branch. JAX makes it a
    zero."""
    return b.zeros(shape=(), dtype=b.result.dtype)
