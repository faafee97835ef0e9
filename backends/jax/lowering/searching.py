"""Searching, sorting and set functions in JAX."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "argmax": "jnp.argmax({x}, {axis=}, {keepdims=})",
        "argmin": "jnp.argmin({x}, {axis=}, {keepdims=})",
        "count_nonzero": "jnp.count_nonzero({x}, {axis=}, {keepdims=})",
        "where": "jnp.where({condition}, {x1}, {x2})",
        "isin": "jnp.isin({x1}, {x2}, {invert=})",
        "sort": "jnp.sort({x}, {axis=}, {descending=})",
        "argsort": "jnp.argsort({x}, {axis=}, {descending=})",
        "sort_with_indices": "sort_with_indices({x}, {axis=}, {descending=})",
        "top_k": "top_k({x}, {k=}, {axis=}, {largest=})",
        "kth_value": "kth_value({x}, {k=}, {axis=}, {keepdims=})",
        "unique_consecutive": "unique_consecutive({x}, {axis=})",
    }
)


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    return f"jnp.nonzero({x}){'[0]' if x.ndim == 1 else ''}"  # one output is no tuple


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    return f"jnp.argwhere({x})" if size is None else f"jnp.argwhere({x}, size={size!r}, fill_value={fill_value})"


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    function = "jnp.searchsorted" if x1.ndim == 1 else "searchsorted_rows"
    sorted_by = "" if sorter is None else f", sorter={sorter}"
    right = "" if side == "left" else f", side={side!r}"
    return f"{function}({x1}, {x2}{sorted_by}{right}).astype(int)"  # its own dtype is int32 for short sequences


rows.table({"unique_values": lambda x, *, axis, hint: f"jnp.unique({x}, {'' if axis is None else f'axis={axis}, '}equal_nan=False)"})


@rows.row("unique_all")
def _unique_all(x: Operand, *, axis: int | None, hint: int) -> str:
    along = "" if axis is None else f"axis={axis}, "
    return f"jnp.unique({x}, return_index=True, return_inverse=True, return_counts=True, {along}equal_nan=False)"
