"""Searching functions (array API standard, "Searching Functions"), sets and sorting.

Some of them find a number of elements that depends on data: ``hint`` is the number found while recording.
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
    """Return the index of the first maximum over ``axis``, or of the first NaN.

    Without ``axis`` it is an index into the flattened array.
    """
    return reduced(x, axis, keepdims, "int64")


@declare(_SECTION)
def argmin(x: ArraySpec, /, *, axis: int | None = None, keepdims: bool = False) -> ArraySpec:
    """Return the index of the first minimum over ``axis``, or of the first NaN.

    Without ``axis`` it is an index into the flattened array.
    """
    return reduced(x, axis, keepdims, "int64")


@declare(_SECTION)
def count_nonzero(x: ArraySpec, /, *, axis: Axis = None, keepdims: bool = False) -> ArraySpec:
    """Count the nonzero elements over ``axis``."""
    return reduced(x, axis, keepdims, "int64")


@declare(_SECTION)
def nonzero(x: ArraySpec, /, *, hint: int = 0) -> tuple[ArraySpec, ...]:
    """Return the indices of the nonzero elements in row-major order, as one array per axis."""
    # All arrays share one object, because they have equal lengths.
    count = Unknown(hint)
    return (ArraySpec((count,), "int64"),) * x.ndim


@declare(_SECTION)
def argwhere(x: ArraySpec, /, *, hint: int = 0, size: Dim | None = None, fill_value: int = -1) -> ArraySpec:
    """Return the indices of the nonzero elements in row-major order, one row for each element.

    With ``size`` there are that many rows, truncated or filled with ``fill_value``.
    """
    return ArraySpec((Unknown(hint) if size is None else size, x.ndim), "int64")


@declare(_SECTION)
def searchsorted(
    x1: ArraySpec, x2: ArraySpec, sorter: ArraySpec | None = None, /, *, side: str = "left"
) -> ArraySpec:
    """Return the indices at which to insert ``x2`` into ``x1``, which is sorted along its last axis.

    With ``side="left"`` an index precedes elements equal to the inserted one, with "right" it follows
    these. ``x1`` is a vector, or has the leading axes of ``x2`` and is searched row by row. ``sorter``
    holds indices that sort ``x1``.
    """
    return ArraySpec(x2.shape, "int64")


@declare(_SECTION)
def where(condition: ArraySpec, x1: Input, x2: Input, /) -> ArraySpec:
    """Return ``x1`` where ``condition`` is true and ``x2`` elsewhere; all three broadcast."""
    return ArraySpec(broadcast(condition.shape, shape_of(x1), shape_of(x2)), dtype_of(x1, x2))


@declare(_SECTION)
def isin(x1: ArraySpec, x2: ArraySpec, /, *, invert: bool = False) -> ArraySpec:
    """Return True where an element of ``x1`` is in ``x2``; with ``invert``, where it is not."""
    return ArraySpec(x1.shape, "bool")


_SETS = "sets"


@declare(_SETS)
def unique_all(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """Return the sorted unique elements, with their first indices, inverse indices and counts.

    With ``axis``, slices along it are compared.
    """
    values, inverse, counts = _unique(x, axis, hint)
    # There are as many first indices as counts.
    return values, counts, inverse, counts


@declare(_SETS)
def unique_values(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> ArraySpec:
    """Return the sorted unique elements, or with ``axis`` the unique slices along it."""
    return _unique(x, axis, hint)[0]


@declare(_SETS)
def unique_consecutive(x: ArraySpec, /, *, axis: int | None = None, hint: int = 0) -> tuple[ArraySpec, ...]:
    """Return the first element of each run of equal elements, with inverse indices and run lengths.

    With ``axis``, slices along it are compared.
    """
    return _unique(x, axis, hint)


def _unique(x: ArraySpec, axis: int | None, hint: int) -> tuple[ArraySpec, ArraySpec, ArraySpec]:
    # Both shapes share one object, because there are as many values as counts.
    count = Unknown(hint)
    if axis is None:
        shape, inverse = (count,), x.shape
    else:
        shape, inverse = (*x.shape[:axis], count, *x.shape[axis + 1 :]), (x.shape[axis],)
    return ArraySpec(shape, x.dtype), ArraySpec(inverse, "int64"), ArraySpec((count,), "int64")


_SORTING = "sorting"


@declare(_SORTING)
def sort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """Sort the elements along ``axis``, in ascending order unless ``descending``."""
    return x


@declare(_SORTING)
def argsort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """Return the indices that sort the elements along ``axis``."""
    return ArraySpec(x.shape, "int64")


@declare(_SORTING)
def sort_with_indices(
    x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> tuple[ArraySpec, ArraySpec]:
    """Compute ``sort`` and ``argsort`` together."""
    return x, ArraySpec(x.shape, "int64")


@decomposition("sort_with_indices")
def _sort_with_indices(b: Any, x: Any, *, axis: int, descending: bool, stable: bool) -> Any:
    indices = b.argsort(x, axis=axis, descending=descending, stable=stable)
    return b.take_along_axis(x, indices, axis=axis), indices


@declare(_SORTING)
def top_k(x: ArraySpec, /, *, k: Dim, axis: int = -1, largest: bool = True) -> tuple[ArraySpec, ArraySpec]:
    """Return the ``k`` largest (or smallest) elements along ``axis``, in order, and their indices."""
    axis = axis % x.ndim
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return ArraySpec(shape, x.dtype), ArraySpec(shape, "int64")


@declare(_SORTING)
def kth_value(
    x: ArraySpec, /, *, k: Dim, axis: int = -1, keepdims: bool = False
) -> tuple[ArraySpec, ArraySpec]:
    """Return the ``k``-th smallest element along ``axis``, counted from 1, and its index."""
    return reduced(x, axis, keepdims), reduced(x, axis, keepdims, "int64")
