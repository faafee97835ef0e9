"""Linear algebra functions (array API standard, "Linear Algebra Functions" and its ``linalg`` extension)."""

from __future__ import annotations

from ...errors import InvalidGraph
from ..registry import ArraySpec, declare
from ..rules import broadcast, dtype_of, is_symbolic

_SECTION = "linear algebra"


@declare(_SECTION)
def matmul(x1: ArraySpec, x2: ArraySpec, /) -> ArraySpec:
    """Matrix product over the last two axes, leading axes broadcast; a vector on either side is a row or column that is dropped again."""
    left, right = x1.shape, x2.shape
    inner = (left[-1], right[-1 if x2.ndim == 1 else -2])
    if inner[0] != inner[1] and not is_symbolic(*inner):
        raise InvalidGraph(f"matmul of {x1} and {x2}: {inner[0]} columns meet {inner[1]} rows")
    batch = broadcast(left[:-2], right[:-2])
    return ArraySpec(batch + left[-2:-1] + (right[-1:] if x2.ndim > 1 else ()), dtype_of(x1, x2))
