"""Searching, sorting and set functions in TensorFlow."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "where": "tf.where({condition}, {x1}, {x2})",
        "isin": "isin({x1}, {x2}, {invert=})",
        "sort": "sort_with_indices({x}, {axis=}, {descending=})[0]",
        "argsort": "argsort({x}, {axis=}, {descending=})",
        "sort_with_indices": "sort_with_indices({x}, {axis=}, {descending=})",
        "top_k": "top_k({x}, {k=}, {axis=}, {largest=})",
        "kth_value": "kth_value({x}, {k=}, {axis=}, {keepdims=})",
        "unique_consecutive": "unique_consecutive({x}, {axis=})",
    }
)


def _place(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int | None, keepdims: bool) -> str:
        return f"place_of_extreme(tf.{name}, {x}, {axis}{', keepdims=True' if keepdims else ''})"


_place("argmax")
_place("argmin")


@rows.row("count_nonzero")
def _count_nonzero(x: Operand, *, axis: Any, keepdims: bool) -> str:
    along = "" if axis is None else f", {list(axis) if isinstance(axis, tuple) else axis}"
    return f"tf.math.count_nonzero({x}{along}{', keepdims=True' if keepdims else ''})"


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    if x.ndim == 1:
        return f"tf.where({_truth(x)})[:, 0]"
    return f"tf.unstack(tf.where({_truth(x)}), {x.ndim}, axis=1)"


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    if x.ndim == 0 and size is None:
        return f"tf.zeros([tf.math.count_nonzero({x}), 0], tf.int64)"
    return f"tf.where({_truth(x)})" if size is None else f"argwhere({_truth(x)}, {size!r}, {fill_value})"


def _truth(x: Operand) -> str:
    """``tf.where`` has no kernel for half precision."""
    return f"{x} != 0" if x.dtype in ("float16", "bfloat16") else str(x)


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    sorted_by = "" if sorter is None else f", {sorter}"
    return f"searchsorted({x1}, {x2}{sorted_by}{'' if side == 'left' else f', side={side!r}'})"


rows.table({
    "unique_values": lambda x, *, axis, hint: f"unique_all({x}{'' if axis is None else f', axis={axis}'})[0]",
    "unique_all": lambda x, *, axis, hint: f"unique_all({x}{'' if axis is None else f', axis={axis}'})",
})  # fmt: skip
