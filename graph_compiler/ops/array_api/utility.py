"""Utility functions (array API standard, "Utility Functions")."""

from __future__ import annotations

from ...sizes import hint_of
from ..registry import ArraySpec, Unknown, declare
from ..rules import reduced
from .statistical import Axis

_SECTION = "utility"


@declare(_SECTION)
def all_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Whether all elements over ``axis`` are true; numbers are true where they are not zero."""
    return reduced(x, axis, keepdims, "bool")


@declare(_SECTION)
def any_(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Whether any element over ``axis`` is true; numbers are true where they are not zero."""
    return reduced(x, axis, keepdims, "bool")


@declare(_SECTION)
def diff(x: ArraySpec, /, *, axis: int = -1, n: int = 1) -> ArraySpec:
    """The ``n``-th difference of neighbours along ``axis``; of bools whether they differ."""
    size = x.shape[axis]
    left = size - n if hint_of(size) >= n else 0 if isinstance(size, int) else Unknown(0)
    return ArraySpec((*x.shape[:axis], left, *x.shape[axis:][1:]), x.dtype)
