"""The bits of integers."""

from __future__ import annotations

from typing import Any

from ..ops.dtypes import ITEMSIZE


def bits_of(b: Any, x: Any) -> Any:
    """The bits along a last axis, the lowest first, as 0 and 1 in the type of ``x``."""
    places = b.arange(start=0, stop=8 * ITEMSIZE[x.dtype], step=1, dtype=x.dtype)
    return b.bitwise_and(b.bitwise_right_shift(b.reshape(x, shape=(*x.shape, 1)), places), b.array(1, x.dtype))


def from_bits(b: Any, bits: Any) -> Any:
    """The integers of bits along a last axis, as :func:`bits_of` gives them."""
    places = b.arange(start=0, stop=8 * ITEMSIZE[bits.dtype], step=1, dtype=bits.dtype)
    return b.sum(b.bitwise_left_shift(bits, places), axis=bits.ndim - 1, dtype=bits.dtype)


def reduced_bits(b: Any, x: Any, how: str, axis: Any, keepdims: bool = False) -> Any:
    """``and``, ``or`` or ``xor`` of integers over axes, which are counted from the front."""
    bits = bits_of(b, x)
    if how == "xor":
        odd = b.bitwise_and(b.sum(bits, axis=axis, dtype=x.dtype, keepdims=keepdims), b.array(1, x.dtype))
        return from_bits(b, odd)
    found = (b.any if how == "or" else b.all)(b.not_equal(bits, 0), axis=axis, keepdims=keepdims)
    return from_bits(b, b.astype(found, dtype=x.dtype))
