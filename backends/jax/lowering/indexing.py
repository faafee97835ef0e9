"""Indexing in JAX."""

from __future__ import annotations

from typing import Any

from ...keys import arrays_text, key_text
from ...rows import Operand
from .table import rows

_OF_BOOLS = {"sum": "max", "prod": "min"}
_METHODS = {None: "set", "sum": "add", "prod": "multiply", "min": "min", "max": "max"}

rows.table(
    {
        "take_along_axis": "jnp.take_along_axis({x}, {indices}, axis={axis})",
        "masked_scatter": "masked_scatter({x}, {mask}, {source})",
        "diag_embed": "diag_embed({x}, {offset=}, {axis1=}, {axis2=})",
    }
)


rows.table({
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",  # ``x[:, 1:, None]``
    "setitem": lambda x, value, *, key: f"{x}.at{key_text(key, x.ndim)}.set({value})",  # ``x.at[:, 1:].set(value)``
    "take": lambda x, indices, *, axis: f"{x}{arrays_text((indices,), (axis,), x.ndim)}",  # ``x[:, indices]``
    "gather_nd": lambda x, *indices, axes: f"{x}{arrays_text(indices, axes, x.ndim)}",  # ``x[i, :, j]``
    # ``x[:, mask]``; outside of jax.jit only, as the result's size depends on data
    "boolean_mask": lambda x, mask, *, axis, hint: f"{x}{arrays_text((mask,), (axis,), x.ndim)}",
})  # fmt: skip


@rows.row("dynamic_slice")
def dynamic_slice(x: Operand, *starts: Any, axes: tuple[int, ...], sizes: tuple[Any, ...]) -> str:
    """``lax.dynamic_slice_in_dim`` along one axis after the other: the sizes of the others need not be written."""
    text = str(x)
    for start, axis, size in zip(starts, axes, sizes):
        text = f"lax.dynamic_slice_in_dim({text}, {start}, {size!r}{f', {axis}' if axis else ''})"
    return text


@rows.row("dynamic_update_slice")
def dynamic_update_slice(x: Operand, update: Operand, *starts: Any, axes: tuple[int, ...]) -> str:
    """``lax.dynamic_update_slice``, or the shorter form for one axis."""
    if len(axes) == 1:
        return f"lax.dynamic_update_slice_in_dim({x}, {update}, {starts[0]}, {axes[0]})"
    start_at = dict(zip(axes, starts))
    return f"lax.dynamic_update_slice({x}, {update}, ({', '.join(str(start_at.get(axis, 0)) for axis in range(x.ndim))}))"


@rows.row("scatter_nd")
def scatter_nd(x: Operand, values: Any, *indices: Operand, axes: tuple[int, ...], reduce: str | None, include_self: bool) -> str:
    """``x.at[i, :, j].set(values)``, or the helper for what no method of ``at`` does."""
    reduce = _reduction(x, reduce)
    if _has_method(reduce, include_self):
        return f"{x}.at{arrays_text(indices, axes, x.ndim)}.{_METHODS[reduce]}({values})"
    at = dict(zip(axes, indices, strict=False))
    key = ", ".join(str(at.get(axis, "slice(None)")) for axis in range(axes[-1] + 1))
    return _helper(x, f"({key},)", values, reduce, include_self)


@rows.row("scatter")
def scatter(x: Operand, indices: Operand, values: Any, *, axis: int, reduce: str | None, include_self: bool) -> str:
    """``x.at[along_axis(indices, 1)].set(values)``, or the helper for what no method of ``at`` does."""
    reduce = _reduction(x, reduce)
    key = str(indices) if x.ndim == 1 else f"along_axis({indices}, {axis})"
    if _has_method(reduce, include_self):
        return f"{x}.at[{key}].{_METHODS[reduce]}({values})"
    return _helper(x, key, values, reduce, include_self)


def _reduction(x: Operand, reduce: str | None) -> str | None:
    return _OF_BOOLS.get(reduce, reduce) if x.dtype == "bool" and reduce else reduce


def _has_method(reduce: str | None, include_self: bool) -> bool:
    return reduce is None or (include_self and reduce in ("sum", "min", "max"))


def _helper(x: Operand, key: str, values: Any, reduce: str | None, include_self: bool) -> str:
    return f"scatter_reduce({x}, {key}, {values}, {reduce!r}{'' if include_self else ', include_self=False'})"


@rows.row("diagonal")
def diagonal(x: Operand, *, offset: int, axis1: int, axis2: int) -> str:
    """jnp.diagonal."""
    matrix = x.ndim == 2 and (axis1 % 2, axis2 % 2) == (0, 1)
    return f"jnp.diagonal({x}{f', {offset}' if offset else ''})" if matrix else f"jnp.diagonal({x}, {offset}, {axis1}, {axis2})"
