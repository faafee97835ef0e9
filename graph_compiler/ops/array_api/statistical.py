"""Statistical functions (array API standard, "Statistical Functions").

``axis`` is one axis, several, or None for all; axes are counted from the front.
"""

from __future__ import annotations

from ..dtypes import UNSIGNED, is_bool, is_integer, real_of
from ..registry import ArraySpec, declare
from ..rules import reduced

_SECTION = "statistical"
Axis = int | tuple[int, ...] | None


def accumulated(dtype: str) -> str:
    """The dtype that sums and products have by default: integers become the widest of their kind."""
    if is_bool(dtype) or is_integer(dtype):
        return "uint64" if dtype in UNSIGNED else "int64"
    return dtype


@declare(_SECTION)
def sum_(x: ArraySpec, /, *, axis: Axis = None, dtype: str | None = None, keepdims: bool = False) -> ArraySpec:
    """The sum over ``axis``; integers are summed as 64-bit ones where no ``dtype`` is given."""
    return reduced(x, axis, keepdims, dtype or accumulated(x.dtype))


@declare(_SECTION)
def prod(x: ArraySpec, /, *, axis: Axis = None, dtype: str | None = None, keepdims: bool = False) -> ArraySpec:
    """The product over ``axis``; dtypes as in ``sum``."""
    return reduced(x, axis, keepdims, dtype or accumulated(x.dtype))


@declare(_SECTION)
def mean(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """The arithmetic mean over ``axis`` of a float or complex array; NaN of no elements."""
    return reduced(x, axis, keepdims)


@declare(_SECTION)
def var(x: ArraySpec, /, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> ArraySpec:
    """The variance over ``axis``, divided by ``max(0, N - correction)``; real for complex arrays."""
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_SECTION)
def std(x: ArraySpec, /, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> ArraySpec:
    """The square root of ``var``; its derivative is zero where it is zero."""
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_SECTION)
def max_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False, first: bool = False) -> ArraySpec:
    """The largest element over ``axis``; NaN where there is one. Equal elements share the gradient; with ``first`` and one axis, the first
    has it."""
    return reduced(x, axis, keepdims)


@declare(_SECTION)
def min_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False, first: bool = False) -> ArraySpec:
    """The smallest element over ``axis``; NaN where there is one. Equal elements share the gradient as of ``max``."""
    return reduced(x, axis, keepdims)


@declare(_SECTION)
def cumulative_sum(x: ArraySpec, /, *, axis: int, dtype: str | None = None) -> ArraySpec:
    """The running sum along ``axis``; dtypes as in ``sum``."""
    return ArraySpec(x.shape, dtype or accumulated(x.dtype))


@declare(_SECTION)
def cumulative_prod(x: ArraySpec, /, *, axis: int, dtype: str | None = None) -> ArraySpec:
    """The running product along ``axis``; dtypes as in ``sum``."""
    return ArraySpec(x.shape, dtype or accumulated(x.dtype))
