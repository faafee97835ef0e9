"""Indexing in TensorFlow."""

from __future__ import annotations

from typing import Any

from ...keys import WHOLE, key_text
from ...rows import Operand
from .table import rows

_OF_BOOLS = {"sum": "max", "prod": "min"}

rows.table(
    {
        "take_along_axis": "take_along_axis({x}, {indices}, {axis})",
        "masked_scatter": "masked_scatter({x}, {mask}, {source})",
        "diag_embed": "diag_embed({x}, {offset=}, {axis1=}, {axis2=})",
        "diagonal": "diagonal({x}, {offset=}, {axis1=}, {axis2=})",
    }
)


rows.table({
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",  # ``x[:, 1:, None]``
    # a helper around ``tf.gather``, for negative indices
    "take": lambda x, indices, *, axis: f"take({x}, {indices}{f', axis={axis}' if axis else ''})",
    # a helper around ``tf.gather_nd``, for indices at any axes
    "gather_nd": lambda x, *indices, axes: f"gather_at({x}, [{', '.join(indices)}], {axes})",
})  # fmt: skip


@rows.row("setitem")
def setitem(x: Operand, value: Any, *, key: Any) -> str:
    """``updated(x, (slice(None), 1), value)``: TensorFlow's arrays cannot be written to."""
    items = ", ".join(_item(item) for item in key)
    return f"updated({x}, ({items}{',' if len(key) == 1 else ''}), {value})"


def _item(item: Any) -> str:
    if not isinstance(item, tuple):
        return repr(item)
    if item == WHOLE:
        return "slice(None)"
    start, stop, step = item
    return f"slice({start!r}, {stop!r})" if step == 1 else f"slice({start!r}, {stop!r}, {step!r})"


@rows.row("scatter_nd")
def scatter_nd(x: Operand, values: Any, *indices: Operand, axes: tuple[int, ...], reduce: str | None, include_self: bool) -> str:
    """A helper around ``tf.tensor_scatter_nd_update`` and its relatives."""
    return f"scatter_at({x}, {values}, [{', '.join(indices)}], {axes}{_options(x, reduce, include_self)})"


@rows.row("scatter")
def scatter(x: Operand, indices: Operand, values: Any, *, axis: int, reduce: str | None, include_self: bool) -> str:
    """As ``scatter_nd``, counting along the other axes."""
    return f"scatter_along({x}, {indices}, {values}, {axis}{_options(x, reduce, include_self)})"


def _options(x: Operand, reduce: str | None, include_self: bool) -> str:
    if x.dtype == "bool" and reduce:
        reduce = _OF_BOOLS.get(reduce, reduce)
    return ("" if reduce is None else f", reduce={reduce!r}") + ("" if include_self or reduce is None else ", include_self=False")


@rows.row("boolean_mask")
def boolean_mask(x: Operand, mask: Operand, *, axis: int, hint: int) -> str:
    """``tf.boolean_mask``; a mask of no axes, which adds an axis, by way of a shape."""
    if mask.ndim == 0:
        return f"tf.boolean_mask(tf.expand_dims({x}, {axis}), {mask}[None], axis={axis})"
    return f"tf.boolean_mask({x}, {mask}{f', axis={axis}' if axis else ''})"
