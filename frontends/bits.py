"""The bits of integers."""

from __future__ import annotations

from typing import Any

from ..ops.dtypes import ITEMSIZE


def bits_of(b: Any, x: Any) -> Any:
    """The bits along a last axis, the lowest first, as 0 and 1 in the type of ``x``."""
    places = b.arange(start=0, stop=8 * ITEMSIZE[x.dtype], step=1, dtype=x.dtype)
    return b.bitwise_and(b.bitwise_right_shift(b.reshape(x, shape=(*x.shape, 1)), places), b.array(1, x.dtype))
