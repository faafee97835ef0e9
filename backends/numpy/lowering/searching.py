"""Searching, sorting and set functions in numpy."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "argmax": "np.argmax({x}, {axis=}, {keepdims=})",
        "argmin": "np.argmin({x}, {axis=}, {keepdims=})",
        "count_nonzero": "np.sum({x} != 0, {axis=}, {keepdims=})",
        "where": "np.where({condition}, {x1}, {x2})",
        "isin": "np.isin({x1}, {x2}, {invert=})",
        "sort_with_indices": "sort_with_indices({x}, {axis=}, {descending=})",
        "top_k": "top_k({x}, {k=}, {axis=}, {largest=})",
        "kth_value": "kth_value({x}, {k=}, {axis=}, {keepdims=})",
        "unique_consecutive": "unique_consecutive({x}, {axis=})",
    }
)


@rows.row("sort")
def _sort(x: Operand, *, axis: int, descending: bool, stable: bool) -> str:
    """Equal elements are alike, so that the reverse of the ascending order will do."""
    ascending = f"np.sort({x}, axis={axis})"
    return f"np.flip({ascending}, axis={axis})" if descending else ascending


@rows.row("argsort")
def _argsort(x: Operand, *, axis: int, descending: bool, stable: bool) -> str:
    return f"sort_with_indices({x}, axis={axis}, descending=True)[1]" if descending else f"np.argsort({x}, axis={axis}, stable=True)"


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    return f"np.nonzero({x}){'[0]' if x.ndim == 1 else ''}"  # one output is no tuple


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    return f"np.argwhere({x})" if size is None else f"argwhere_of_size({x}, {size!r}, {fill_value})"


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    function = "np.searchsorted" if x1.ndim == 1 else "searchsorted_rows"
    sorted_by = "" if sorter is None else f", sorter={sorter}"
    right = "" if side == "left" else f", side={side!r}"
    return f"{function}({x1}, {x2}{sorted_by}{right})"


rows.table({"unique_values": lambda x, *, axis, hint: f"np.unique({x}, {'' if axis is None else f'axis={axis}, '}equal_nan=False)"})


@rows.row("unique_all")
def _unique_all(x: Operand, *, axis: int | None, hint: int) -> str:
    along = "" if axis is None else f"axis={axis}, "
    return f"np.unique({x}, return_index=True, return_inverse=True, return_counts=True, {along}equal_nan=False)"
