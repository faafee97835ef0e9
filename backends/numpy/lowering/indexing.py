"""Indexing in numpy. What writes makes a copy first: operations are pure."""

from __future__ import annotations

from typing import Any

from ...keys import arrays_text, key_text
from ...rows import Operand
from .table import rows

rows.table(
    {
        "take_along_axis": "np.take_along_axis({x}, {indices}, axis={axis})",
        "masked_scatter": "masked_scatter({x}, {mask}, {source})",
        "diag_embed": "diag_embed({x}, {offset=}, {axis1=}, {axis2=})",
    }
)


rows.table({
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",  # ``x[:, 1:, None]``
    "setitem": lambda x, value, *, key: f"with_items({x}, np.s_{key_text(key, x.ndim)}, {value})",  # ``with_items(x, np.s_[:, 1:], value)``
    "take": lambda x, indices, *, axis: f"{x}{arrays_text((indices,), (axis,), x.ndim)}",  # ``x[:, indices]``
    "gather_nd": lambda x, *indices, axes: f"{x}{arrays_text(indices, axes, x.ndim)}",  # ``x[i, :, j]``
    "boolean_mask": lambda x, mask, *, axis, hint: f"{x}{arrays_text((mask,), (axis,), x.ndim - mask.ndim + 1)}",  # ``x[:, mask]``
})  # fmt: skip


@rows.row("scatter_nd")
def scatter_nd(x: Operand, values: Any, *indices: Operand, axes: tuple[int, ...], reduce: str | None, include_self: bool) -> str:
    """``with_items(x, np.s_[i, :, j], values)``, or the helper that reduces."""
    return _written(x, f"np.s_{arrays_text(indices, axes, x.ndim)}", values, reduce, include_self)


@rows.row("scatter")
def scatter(x: Operand, indices: Operand, values: Any, *, axis: int, reduce: str | None, include_self: bool) -> str:
    """``with_items(x, along_axis(indices, 1), values)``, or the helper that reduces."""
    return _written(x, str(indices) if x.ndim == 1 else f"along_axis({indices}, {axis})", values, reduce, include_self)


def _written(x: Operand, key: str, values: Any, reduce: str | None, include_self: bool) -> str:
    if reduce is None:
        return f"with_items({x}, {key}, {values})"
    return f"scatter_reduce({x}, {key}, {values}, {reduce!r}{'' if include_self else ', include_self=False'})"


@rows.row("diagonal")
def diagonal(x: Operand, *, offset: int, axis1: int, axis2: int) -> str:
    """np.diagonal."""
    matrix = x.ndim == 2 and (axis1 % 2, axis2 % 2) == (0, 1)
    return f"np.diagonal({x}{f', {offset}' if offset else ''})" if matrix else f"np.diagonal({x}, {offset}, {axis1}, {axis2})"
