"""Statistical functions (array API standard, "Statistical Functions").

``axis`` is one axis, several, or None for all; axes are counted from the front.
"""

from __future__ import annotations

from ...sizes import hint_of
from ..dtypes import UNSIGNED, is_bool, is_integer, real_of
from ..registry import ArraySpec, Unknown, declare
from ..rules import reduced

_SECTION = "statistical"
Axis = int | tuple[int, ...] | None


def accumulated(dtype: str) -> str:
    """Return the default dtype of sums and products: int64 or uint64 for integers and bools.

    Other dtypes are returned unchanged.
    """
    if is_bool(dtype) or is_integer(dtype):
        return "uint64" if dtype in UNSIGNED else "int64"
    return dtype


@declare(_SECTION)
def sum_(
    x: ArraySpec, /, *, axis: Axis = None, dtype: str | None = None, keepdims: bool = False
) -> ArraySpec:
    """Sum over ``axis``; without ``dtype`` integers are summed in 64 bits."""
    return reduced(x, axis, keepdims, dtype or accumulated(x.dtype))


@declare(_SECTION)
def prod(
    x: ArraySpec, /, *, axis: Axis = None, dtype: str | None = None, keepdims: bool = False
) -> ArraySpec:
    """Multiply over ``axis``; dtypes as in ``sum``."""
    return reduced(x, axis, keepdims, dtype or accumulated(x.dtype))


@declare(_SECTION)
def mean(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Compute the mean over ``axis`` of a float or complex array; NaN if there are no elements."""
    return reduced(x, axis, keepdims)


@declare(_SECTION)
def var(x: ArraySpec, /, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> ArraySpec:
    """Compute the variance over ``axis``, divided by ``max(0, N - correction)``; real for complex arrays."""
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_SECTION)
def std(x: ArraySpec, /, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> ArraySpec:
    """Compute the square root of ``var``; its derivative is zero where it is zero."""
    return reduced(x, axis, keepdims, real_of(x.dtype))


@declare(_SECTION)
def max_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False, first: bool = False) -> ArraySpec:
    """Compute the maximum over ``axis``; NaN if any element is. Ties share the gradient.

    With ``first`` and one axis, the first of equal elements gets the gradient.
    """
    return reduced(x, axis, keepdims)


@declare(_SECTION)
def min_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False, first: bool = False) -> ArraySpec:
    """Compute the minimum over ``axis``; NaN if any element is. Ties share the gradient.

    With ``first`` and one axis, the first of equal elements gets the gradient.
    """
    return reduced(x, axis, keepdims)


@declare(_SECTION)
def cumulative_sum(x: ArraySpec, /, *, axis: int, dtype: str | None = None) -> ArraySpec:
    """Compute the cumulative sum along ``axis``; dtypes as in ``sum``."""
    return ArraySpec(x.shape, dtype or accumulated(x.dtype))


@declare(_SECTION)
def cumulative_prod(x: ArraySpec, /, *, axis: int, dtype: str | None = None) -> ArraySpec:
    """Compute the cumulative product along ``axis``; dtypes as in ``sum``."""
    return ArraySpec(x.shape, dtype or accumulated(x.dtype))


_UTILITY = "utility"


@declare(_UTILITY)
def all_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Return True where all elements over ``axis`` are true; numbers are true if they are not zero."""
    return reduced(x, axis, keepdims, "bool")


@declare(_UTILITY)
def any_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Return True where any element over ``axis`` is true; numbers are true if they are not zero."""
    return reduced(x, axis, keepdims, "bool")


@declare(_UTILITY)
def diff(x: ArraySpec, /, *, axis: int = -1, n: int = 1) -> ArraySpec:
    """Compute the ``n``-th difference of neighbours along ``axis``; for bools, True where they differ."""
    size = x.shape[axis]
    # The result of too few elements is empty, not of negative size.
    left = size - n if hint_of(size) >= n else 0 if isinstance(size, int) else Unknown(0)
    return ArraySpec((*x.shape[:axis], left, *x.shape[axis:][1:]), x.dtype)
