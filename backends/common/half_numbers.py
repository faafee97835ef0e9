"""Rounding of Python numbers to half precision, for operations on such arrays computed in float32.

Without it ``x == 0.1`` is false for every float32 ``x`` that came from float16, and ``x % 0.1`` has
another result. Products and quotients are continuous in the number, so they keep it unrounded.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from .rows import Operand, operand

HALF = ("float16", "bfloat16")
_AS_THEY_ARE = frozenset({"multiply", "divide"})


def rounded_literal(item: Any, op: str, dtype: str) -> Any:
    """Round ``item`` to ``dtype`` if it is the literal of a number and the operation ``op`` needs that.

    Return arrays, symbolic sizes and the operands of ``multiply`` and ``divide`` unchanged.
    """
    if not isinstance(item, Operand) or item.spec is not None or op in _AS_THEY_ARE:
        return item
    try:
        number = float(item.strip("()"))
    # The text of a symbolic size is no number.
    except ValueError:
        return item
    rounded = in_half(number, dtype)
    written = repr(abs(rounded)) if math.isfinite(rounded) else "math.inf"
    return item if rounded == number else operand(f"(-{written})" if rounded < 0 else written, None)


def in_half(number: float, dtype: str) -> float:
    """Round ``number`` to the nearest value of the half-precision ``dtype``.

    >>> in_half(0.1, "float16"), in_half(0.1, "bfloat16"), in_half(1e5, "float16")
    (0.0999755859375, 0.10009765625, inf)
    """
    if not math.isfinite(number):
        return number
    try:
        if dtype == "float16":
            return float(struct.unpack("e", struct.pack("e", number))[0])
        bits = struct.unpack("I", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    # The sum of almost half of the lowest bit that remains and of that bit itself rounds to nearest, ties to
    # even.
    return float(struct.unpack("f", struct.pack("I", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16))[0])
