"""Indexing in torch."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_inexact
from ...keys import arrays_text, key_text
from ...rows import Operand
from .table import rows
from .texts import index, tensor

_REDUCTIONS = {"min": "amin", "max": "amax"}
_OF_BOOLS = {"sum": "max", "prod": "min"}

rows.table(
    {
        "masked_scatter": "torch.masked_scatter({x}, {mask}, {source})",
        "diagonal": "torch.diagonal({x}, {offset}, {axis1}, {axis2})",
        "diag_embed": "torch.diag_embed({x}, {offset}, {axis1}, {axis2})",
    }
)


rows.table({
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",  # ``x[:, 1:, None]``
    "take": lambda x, indices, *, axis: _copied(f"{x}{arrays_text((_index(indices),), (axis,), x.ndim)}", indices),  # ``x[:, indices]``
    # ``x[i, :, j]``
    "gather_nd": lambda x, *indices, axes: _copied(f"{x}{arrays_text(tuple(map(_index, indices)), axes, x.ndim)}", *indices),
    "boolean_mask": lambda x, mask, *, axis, hint: f"{x}{arrays_text((mask,), (axis,), x.ndim)}",  # ``x[:, mask]``
})  # fmt: skip


@rows.row("setitem")
def setitem(x: Operand, value: Any, *, key: Any) -> str:
    """The helper, which writes to a copy."""
    items = [f"slice({', '.join(map(repr, item[: 3 if item[2] != 1 else 2]))})" if isinstance(item, tuple) else repr(item) for item in key]
    return f"updated({x}, ({', '.join(items)}{',' if len(items) == 1 else ''}), {value})"


def _index(indices: Operand) -> str:
    """int32 and int64 index as they are, bytes would be taken for a mask."""
    return str(indices) if indices.dtype in ("int32", "int64") else f"{indices}.long()"


def _copied(taken: str, *indices: Operand) -> str:
    """Places without axes are numbers to torch: what it gives for them is a view, which shows what is written later."""
    return f"{taken}.clone()" if all(item.ndim == 0 for item in indices) else taken


@rows.row("take_along_axis")
def take_along_axis(x: Operand, indices: Operand, *, axis: int) -> str:
    """A helper: torch.take_along_dim takes an index beyond the end for one from the beginning."""
    return f"take_along_axis({x}, {index(indices)}, {axis})"


@rows.row("scatter_nd")
def scatter_nd(x: Operand, values: Operand, *indices: Operand, axes: tuple[int, ...], reduce: str | None, include_self: bool) -> str:
    """``x.index_put((i, j), values)`` on the first axes, the helpers elsewhere."""
    reduce = _reduction(x, reduce)
    if axes == tuple(range(len(axes))) and reduce in (None, "sum") and include_self:
        key = f"({', '.join(map(_index, indices))}{',' if len(axes) == 1 else ''})"
        return f"{x}.index_put({key}, {tensor(values, x)}{', accumulate=True' if reduce else ''})"
    at = dict(zip(axes, map(_index, indices), strict=True))
    key = ", ".join(at.get(axis, "slice(None)") for axis in range(axes[-1] + 1)) + ("," if axes[-1] == 0 else "")
    if reduce is None:
        return f"updated({x}, ({key}), {values})"
    return f"scatter_reduce_at({x}, ({key}), {tensor(values, x)}, {_REDUCTIONS.get(reduce, reduce)!r}, {include_self})"


@rows.row("scatter")
def scatter(x: Operand, indices: Operand, values: Operand, *, axis: int, reduce: str | None, include_self: bool) -> str:
    """torch.scatter and its kin; of bools, which they do not reduce, by way of bytes."""
    reduce = _reduction(x, reduce)
    if reduce is None:
        return f"torch.scatter({x}, {axis}, {index(indices)}, {values})"
    values_text = str(values) if values.spec is not None else f"{tensor(values, x)}.expand({indices}.shape)"
    if reduce == "sum" and include_self and x.dtype != "bool":
        return f"torch.scatter_add({x}, {axis}, {index(indices)}, {values_text})"
    if reduce == "prod" and is_inexact(x.dtype or ""):
        return f"scatter_product({x}, {axis}, {index(indices)}, {values_text}, {include_self})"
    method, self_too = repr(_REDUCTIONS.get(reduce, reduce)), "" if include_self else ", include_self=False"
    if x.dtype == "bool":
        return f"torch.scatter_reduce({x}.byte(), {axis}, {index(indices)}, {values_text}.byte(), {method}{self_too}).bool()"
    return f"torch.scatter_reduce({x}, {axis}, {index(indices)}, {values_text}, {method}{self_too})"


def _reduction(x: Operand, reduce: str | None) -> str | None:
    return _OF_BOOLS.get(reduce, reduce) if x.dtype == "bool" and reduce else reduce
