"""Searching functions (array API standard, "Searching Functions").

How many elements some of these find depends on the data: ``hint`` is the number found while recording.
"""

from __future__ import annotations

from ...sizes import Dim
from ..registry import ArraySpec, Unknown, declare
from ..rules import Input, broadcast, dtype_of, reduced, shape_of
from .statistical import Axis

_SECTION = "searching"


@declare(_SECTION)
def argmax(x: ArraySpec, /, *, axis: int | None = None, keepdims: bool = False) -> ArraySpec:
    """The index of the first largest element, of the first NaN where there is one; into the flattened array without ``axis``."""
    return reduced(x, axis, keepdims, "int64")


@declare(_SECTION)
def argmin(x: ArraySpec, /, *, axis: int | None = None, keepdims: bool = False) -> ArraySpec:
    """The index of the first smallest element, of the first NaN where there is one; into the flattened array without ``axis``."""
    return reduced(x, axis, keepdims, "int64")


@declare(_SECTION)
def count_nonzero(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """How many elements over ``axis`` are not zero."""
    return reduced(x, axis, keepdims, "int64")


@declare(_SECTION)
def nonzero(x: ArraySpec, /, *, hint: int = 0) -> tuple[ArraySpec, ...]:
    """The indices of the elements that are not zero, in row-major order: one array an axis."""
    count = Unknown(hint)  # one object: the arrays are equally long
    return (ArraySpec((count,), "int64"),) * x.ndim


@declare(_SECTION)
def argwhere(x: ArraySpec, /, *, hint: int = 0, size: Dim | None = None, fill_value: int = -1) -> ArraySpec:
    """The indices of the elements that are not zero, in row-major order: one row an element, or ``size`` rows, cut or filled."""
    return ArraySpec((Unknown(hint) if size is None else size, x.ndim), "int64")


@declare(_SECTION)
def searchsorted(x1: ArraySpec, x2: ArraySpec, sorter: ArraySpec | None = None, /, *, side: str = "left") -> ArraySpec:
    """Where to insert ``x2`` so that ``x1``, ascending along its last axis, stays so.

    ``x1`` is a vector, or has the leading axes of ``x2``: row by row then. ``sorter`` holds the indices that sort ``x1``.
    """
    return ArraySpec(x2.shape, "int64")


@declare(_SECTION)
def where(condition: ArraySpec, x1: Input, x2: Input, /) -> ArraySpec:
    """``x1`` where ``condition`` is true, ``x2`` elsewhere, broadcast."""
    return ArraySpec(broadcast(condition.shape, shape_of(x1), shape_of(x2)), dtype_of(x1, x2))


@declare(_SECTION)
def isin(x1: ArraySpec, x2: ArraySpec, /, *, invert: bool = False) -> ArraySpec:
    """Whether each element of ``x1`` is (with ``invert``: is not) among the elements of ``x2``."""
    return ArraySpec(x1.shape, "bool")
