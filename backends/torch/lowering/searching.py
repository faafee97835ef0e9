"""Searching, sorting and sets in torch."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows
from .texts import index, over

rows.table(
    {
        "where": "torch.where({condition}, {x1}, {x2})",
        "isin": "torch.isin({x1}, {x2}, {invert=})",
        "sort": "torch.sort({x}, {dim=axis}, {descending=}, stable={stable})[0]",
        "argsort": "torch.argsort({x}, {dim=axis}, {descending=}, stable={stable})",
        "sort_with_indices": "torch.sort({x}, {dim=axis}, {descending=}, stable={stable})",
        "top_k": "torch.topk({x}, {k}, {dim=axis}, {largest=})",
        "kth_value": "torch.kthvalue({x}, {k}, {dim=axis}, {keepdim=keepdims})",
        "unique_all": "unique_with_first({x}, {dim=axis})",
        "unique_values": "torch.unique({x}, {dim=axis})",
        "unique_consecutive": "torch.unique_consecutive({x}, return_inverse=True, return_counts=True, {dim=axis})",
    }
)


def _place(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int | None, keepdims: bool) -> str:
        """torch compares no bools."""
        return f"torch.{name}({x}{'.byte()' if x.dtype == 'bool' else ''}{over(axis, keepdims)})"


_place("argmax")
_place("argmin")


@rows.row("count_nonzero")
def _count_nonzero(x: Operand, *, axis: Any, keepdims: bool) -> str:
    """torch.count_nonzero keeps no axis."""
    if keepdims:
        return f"({x} != 0).sum({over(axis, keepdims)[2:]})"
    return f"torch.count_nonzero({x}{over(axis, keepdims)})"


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    return f"torch.nonzero({x}, as_tuple=True){'[0]' if x.ndim == 1 else ''}"  # one output is no tuple


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    return f"torch.argwhere({x})" if size is None else f"torch.nonzero_static({x}, size={size!r}, fill_value={fill_value})"


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    """torch warns of operands that are not contiguous, for it copies them."""
    sorted_by = "" if sorter is None else f", sorter={index(sorter)}"
    right = "" if side == "left" else f", side={side!r}"
    return f"torch.searchsorted({x1}.contiguous(), {x2}.contiguous(){sorted_by}{right})"
