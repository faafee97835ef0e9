"""Searching functions (array API standard, "Searching Functions").

How many elements some of these find depends on the data: ``hint`` is the number found while recording.
"""

from __future__ import annotations

from typing import Any

from ...sizes import Dim
from ..registry import ArraySpec, Unknown, declare, decomposition
from ..rules import Input, broadcast, dtype_of, reduced, shape_of
from .statistical import Axis

_SECTION = "searching"


@declare(_SECTION)
def argmax(x: ArraySpec, /, *, axis: int | None = None, keepdims: bool = False) -> ArraySpec:
    """The index of the first largest element, of the first NaN where there is one; into the flattened array
    without ``axis``.
    """
    return reduced(x, axis, keepdims, "int64")


@declare(_SECTION)
def argmin(x: ArraySpec, /, *, axis: int | None = None, keepdims: bool = False) -> ArraySpec:
    """The index of the first smallest element, of the first NaN where there is one; into the flattened array
    without ``axis``.
    """
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
    """The indices of the elements that are not zero, in row-major order: one row an element, or ``size``
    rows, cut or filled.
    """
    return ArraySpec((Unknown(hint) if size is None else size, x.ndim), "int64")


@declare(_SECTION)
def searchsorted(
    x1: ArraySpec, x2: ArraySpec, sorter: ArraySpec | None = None, /, *, side: str = "left"
) -> ArraySpec:
    """Where to insert ``x2`` so that ``x1``, ascending along its last axis, stays so.

    ``x1`` is a vector, or has the leading axes of ``x2``: row by row then. ``sorter`` holds the indices that
    sort ``x1``.
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


_SETS = "sets"


@declare(_SETS)
def unique_all(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """The sorted unique elements (or slices along ``axis``), where each comes first, where it is in the
    result, and how often it comes.
    """
    values, inverse, counts = _unique(x, axis, hint)
    return values, counts, inverse, counts  # as many first places as counts


@declare(_SETS)
def unique_values(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> ArraySpec:
    """The sorted unique elements (or slices along ``axis``)."""
    return _unique(x, axis, hint)[0]


@declare(_SETS)
def unique_consecutive(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """The first element (or slice along ``axis``) of each run of equal ones, which run each element is in,
    and how long the runs are.
    """
    return _unique(x, axis, hint)


def _unique(x: ArraySpec, axis: int | None, hint: int) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    count = Unknown(hint)  # one object: as many values as counts
    if axis is None:
        shape, inverse = (count,), x.shape
    else:
        shape, inverse = (*x.shape[:axis], count, *x.shape[axis + 1 :]), (x.shape[axis],)
    return ArraySpec(shape, x.dtype), ArraySpec(inverse, "int64"), ArraySpec((count,), "int64")


_SORTING = "sorting"


@declare(_SORTING)
def sort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """The elements in order along ``axis``."""
    return x


@declare(_SORTING)
def argsort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """The indices that put the elements in order along ``axis``."""
    return ArraySpec(x.shape, "int64")


@declare(_SORTING)
def sort_with_indices(
    x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> tuple[ArraySpec, ArraySpec]:
    """``sort`` and ``argsort`` in one."""
    return x, ArraySpec(x.shape, "int64")


@decomposition("sort_with_indices")
def _sort_with_indices(b: Any, x: Any, *, axis: int, descending: bool, stable: bool) -> Any:
    indices = b.argsort(x, axis=axis, descending=descending, stable=stable)
    return b.take_along_axis(x, indices, axis=axis), indices


@declare(_SORTING)
def top_k(x: ArraySpec, /, *, k: Dim, axis: int = -1, largest: bool = True) -> tuple[ArraySpec, ArraySpec]:
    """The ``k`` largest (or smallest) elements along ``axis``, the first one first, and their indices."""
    axis = axis % x.ndim
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return ArraySpec(shape, x.dtype), ArraySpec(shape, "int64")


@declare(_SORTING)
def kth_value(
    x: ArraySpec, /, *, k: Dim, axis: int = -1, keepdims: bool = False
) -> tuple[ArraySpec, ArraySpec]:
    """The ``k``-th smallest element along ``axis``, counted from 1, and its index."""
    return reduced(x, axis, keepdims), reduced(x, axis, keepdims, "int64")
