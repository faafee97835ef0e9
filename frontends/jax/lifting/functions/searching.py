"""Searching, sorting and counting in ``jax.numpy``."""

from __future__ import annotations

from typing import Any

import jax

from .....ir import Value
from .....ops.dtypes import UNSIGNED
from ...dtypes import dtype_name
from ..primitives.gathering import default_fill
from ..ranges import inside, is_inside
from ..table import JaxBuilder, rows


@rows.row("jax.numpy.searchsorted")
def searchsorted(b: JaxBuilder, a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: Any = None) -> Any:
    """jax.numpy.searchsorted in a vector."""
    if a.ndim != 1:
        raise NotImplementedError
    v = b.array(v, a.dtype)
    kind = dtype_name(jax.numpy.promote_types(a.dtype, v.dtype)).replace("bool", "uint8")
    found = b.searchsorted(b.astype(a, dtype=kind), b.astype(v, dtype=kind), sorter, side=side)
    return b.astype(found, dtype=b.result.dtype)


@rows.row("jax.numpy.take")
def take(b: JaxBuilder, a: Any, indices: Any, axis: Any = None, *, mode: Any = None) -> Any:
    """jax.numpy.take along an axis; outside of it, computed indices give NaN, and targets refuse indices that come in as they are used."""
    if not isinstance(axis, int) or not isinstance(indices, Value) or mode is not None or indices.dtype == "bool":
        raise NotImplementedError
    axis, size = axis % a.ndim, a.shape[axis]
    if b.maker(indices) is None and indices in b.graph.inputs or is_inside(b, indices, -size, size - 1):
        return b.take(a, indices, axis=axis)
    if indices.dtype in UNSIGNED:
        raise NotImplementedError
    places = inside(b, indices, size)
    shape = (*(1,) * axis, *indices.shape, *(1,) * (a.ndim - axis - 1))
    is_there = b.reshape(b.equal(b.astype(indices, dtype=places.dtype), places), shape=shape)
    return b.where(is_there, b.take(a, places, axis=axis), default_fill(a.dtype))


@rows.row("jax.numpy.take_along_axis")
def take_along_axis(b: JaxBuilder, arr: Any, indices: Any, axis: Any = -1, *, mode: Any = None) -> Any:
    """jax.numpy.take_along_axis of places that are known to lie inside; others are filled."""
    if not isinstance(axis, int) or mode is not None or arr.ndim != indices.ndim:
        raise NotImplementedError
    if not is_inside(b, indices, -arr.shape[axis], arr.shape[axis] - 1):
        raise NotImplementedError
    return b.take_along_axis(arr, indices, axis=axis % arr.ndim)


@rows.row("jax.numpy.sort")
def sort(b: JaxBuilder, a: Any, axis: Any = -1, *, stable: bool = True, descending: bool = False) -> Any:
    """jax.numpy.sort along an axis."""
    if not isinstance(axis, int) or a.dtype.startswith("complex"):
        raise NotImplementedError
    ascending = b.sort(a, axis=axis % a.ndim, stable=True)
    return b.flip(ascending, axis=(axis % a.ndim,)) if descending else ascending  # of equal elements the last one comes first


@rows.row("jax.numpy.argsort")
def argsort(b: JaxBuilder, a: Any, axis: Any = -1, *, stable: bool = True, descending: bool = False) -> Any:
    """jax.numpy.argsort along an axis."""
    if not isinstance(axis, int) or a.dtype.startswith("complex"):
        raise NotImplementedError
    return b.astype(b.argsort(a, axis=axis % a.ndim, descending=bool(descending), stable=True), dtype=b.result.dtype)
