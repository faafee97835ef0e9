"""Element-wise functions (array API standard, "Element-wise Functions").

Operands are arrays of one dtype, or one array and numbers; raising inserts ``astype`` where the source would have promoted.
"""

from __future__ import annotations

from ..registry import ArraySpec, declare
from ..rules import Input, elementwise

_SECTION = "elementwise"


@declare(_SECTION)
def add(x1: Input, x2: Input, /) -> ArraySpec:
    """``x1 + x2``, broadcast."""
    return elementwise(x1, x2)
