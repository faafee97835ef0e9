"""Sorting functions (array API standard, "Sorting Functions"), and what selects by order. NaN counts as the largest number."""

from __future__ import annotations

from typing import Any

from ...sizes import Dim
from ..registry import ArraySpec, declare, decomposition
from ..rules import reduced

_SECTION = "sorting"


@declare(_SECTION)
def sort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """The elements in order along ``axis``."""
    return x


@declare(_SECTION)
def argsort(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> ArraySpec:
    """The indices that put the elements in order along ``axis``."""
    return ArraySpec(x.shape, "int64")


@declare(_SECTION)
def sort_with_indices(x: ArraySpec, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> tuple[ArraySpec, ArraySpec]:
    """``sort`` and ``argsort`` in one."""
    return x, ArraySpec(x.shape, "int64")


@decomposition("sort_with_indices")
def _sort_with_indices(b: Any, x: Any, *, axis: int, descending: bool, stable: bool) -> Any:
    indices = b.argsort(x, axis=axis, descending=descending, stable=stable)
    return b.take_along_axis(x, indices, axis=axis), indices


@declare(_SECTION)
def top_k(x: ArraySpec, /, *, k: Dim, axis: int = -1, largest: bool = True) -> tuple[ArraySpec, ArraySpec]:
    """The ``k`` largest (or smallest) elements along ``axis``, the first one first, and their indices."""
    axis = axis % x.ndim
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return ArraySpec(shape, x.dtype), ArraySpec(shape, "int64")


@declare(_SECTION)
def kth_value(x: ArraySpec, /, *, k: Dim, axis: int = -1, keepdims: bool = False) -> tuple[ArraySpec, ArraySpec]:
    """The ``k``-th smallest element along ``axis``, counted from 1, and its index."""
    return reduced(x, axis, keepdims), reduced(x, axis, keepdims, "int64")
