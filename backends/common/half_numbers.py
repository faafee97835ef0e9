"""Numbers beside arrays of half precision that are computed in a wider type: they are first what half
precision makes of them.

``x == 0.1`` is true of no float32 where ``x`` came from float16, and ``x % 0.1`` another number. Products and
quotients jump nowhere, and keep the number as it is.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from .rows import Operand, operand

HALF = ("float16", "bfloat16")
_AS_THEY_ARE = frozenset({"multiply", "divide"})


def held(item: Any, op: str, dtype: str) -> Any:
    """An operand of ``op`` beside arrays of this half precision: a number that is written out is rounded, all
    else stays as it is.
    """
    if not isinstance(item, Operand) or item.spec is not None or op in _AS_THEY_ARE:
        return item
    try:
        number = float(item.strip("()"))
    except ValueError:  # a size
        return item
    rounded = in_half(number, dtype)
    written = repr(abs(rounded)) if math.isfinite(rounded) else "math.inf"
    return item if rounded == number else operand(f"(-{written})" if rounded < 0 else written, None)


def in_half(number: float, dtype: str) -> float:
    """The number nearest to this one that the type has.

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
    return float(struct.unpack("f", struct.pack("I", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16))[0])
