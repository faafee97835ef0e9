"""Searching, sorting and counting in ``jax.numpy``."""

from __future__ import annotations

from typing import Any

import jax

from .....ir import Value
from ...dtypes import dtype_name
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
    """jax.numpy.take along an axis."""
    if not isinstance(axis, int) or not isinstance(indices, Value) or mode is not None or indices.dtype == "bool":
        raise NotImplementedError
    return b.take(a, indices, axis=axis % a.ndim)


@rows.row("jax.numpy.take_along_axis")
def take_along_axis(b: JaxBuilder, arr: Any, indices: Any, axis: Any = -1, *, mode: Any = None) -> Any:
    """jax.numpy.take_along_axis of places that a search along an axis of this size has found; others may lie outside, and are filled."""
    if not isinstance(axis, int) or mode is not None or arr.ndim != indices.ndim or not _found(b, indices, arr.shape[axis]):
        raise NotImplementedError
    return b.take_along_axis(arr, indices, axis=axis % arr.ndim)


_SEARCHES = ("argmax", "argmin", "argsort")
_SAME_NUMBERS = ("astype", "broadcast_to", "flip", "getitem", "permute_dims", "reshape")


def _found(b: JaxBuilder, indices: Value, size: Any) -> bool:
    node = b.maker(indices)
    while node is not None and node.op in _SAME_NUMBERS:
        node = b.maker(node.inputs[0])
    if node is None or node.op not in _SEARCHES:
        return False
    axis = node.params["axis"]
    return isinstance(axis, int) and bool(node.inputs[0].shape[axis] == size)


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
