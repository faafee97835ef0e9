"""Creation, conversion, shape, indexing, sorting, searching and sets in torch."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import ITEMSIZE, is_complex, is_inexact
from ...common.row_texts import arrays_text, key_text, permute_text, reshape_text, unstack_texts
from ...common.rows import Operand
from .nn import index, reduction_arguments, tensor
from .table import rows

rows.table({
    "asarray": "torch.tensor({data}, {dtype=})",
    "copy": "{x}.clone()",
    "linspace": "torch.linspace({start}, {stop}, {num}, {dtype=})",
    "ones": "torch.ones({shape}, {dtype=})",
    "tril": "torch.tril({x}, {diagonal=k})",
    "tril_indices": "torch.tril_indices({n_rows}, {n_cols}, {k}, {dtype=})",
    "triu": "torch.triu({x}, {diagonal=k})",
    "triu_indices": "torch.triu_indices({n_rows}, {n_cols}, {k}, {dtype=})",
    "zeros": "torch.zeros({shape}, {dtype=})",
})  # fmt: skip


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    return (
        f"torch.full({shape!r}, {fill_value!r}, dtype={dtype})"
        if shape
        else f"torch.tensor({fill_value!r}, dtype={dtype})"
    )


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str) -> str:
    bounds = (
        [start, stop, step]
        if step != 1 or type(step) is float
        else [start, stop]
        if start != 0 or type(start) is float
        else [stop]
    )
    return f"torch.arange({', '.join(map(repr, bounds))}, dtype={dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    # torch.eye has the main diagonal only.
    if k != 0:
        return f"torch.ones({n_rows!r}, {n_cols!r}, dtype={dtype}).triu({k!r}).tril({k!r})"
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"torch.eye({n_rows!r}{columns}, dtype={dtype})"


@rows.row("astype")
def astype(x: Operand, *, dtype: str, out: Any) -> str:
    # torch warns if a cast discards imaginary parts.
    if is_complex(x.dtype or "") and not is_complex(out[0].dtype) and out[0].dtype != "bool":
        return f"{x}.real.to({dtype})"
    return f"{x}.to({dtype})"


_MODES = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}

rows.table(
    {
        "broadcast_to": "torch.broadcast_to({x}, {shape})",
        "concat": "torch.cat([{*arrays}], {dim=axis})",
        "stack": "torch.stack([{*arrays}], {dim=axis})",
        "tile": "torch.tile({x}, {repetitions})",
        "sliding_window": "{x}.unfold({axis}, {size}, {step})",
        "as_strided": "as_strided({x}, {shape}, {strides}, {offset=})",
    }
)
rows.row("permute_dims")(permute_text("permute"))
rows.row("reshape")(reshape_text)


@rows.row("bitcast")
def bitcast(x: Operand, *, dtype: str, out: Any) -> str:
    # If the sizes of elements differ, torch requires a contiguous last axis.
    alike = ITEMSIZE[x.dtype or ""] == ITEMSIZE[out[0].dtype]
    return f"{x}{'' if alike else '.contiguous()'}.view({dtype})"


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    if len(sizes) == 1:
        return str(x)
    along = f", dim={axis}" if axis else ""
    return (
        f"{x}.chunk({len(sizes)}{along})"
        if len({spec.shape[axis] for spec in out}) == 1
        else f"{x}.split({sizes}{along})"
    )


rows.table({
    # An operation of one output does not return a tuple.
    "unstack": lambda x, *, axis, count: (
        unstack_texts(x, axis, count)[0]
        if count == 1
        else f"{x}.unbind({axis or ''})"
    ),
    # torch.flip takes a tuple of axes.
    "flip": lambda x, *, axis: f"torch.flip({x}, {axis if isinstance(axis, tuple) else (axis,)})",
    "roll": lambda x, *, shift, axis: f"torch.roll({x}, {shift!r}, {axis!r})",
})  # fmt: skip


@rows.row("repeat")
def repeat(x: Operand, repeats: Any, *, axis: int, total: Any, hint: int) -> str:
    # A known output size saves a synchronization with the device.
    known = "" if total is None or repeats.spec is None else f", output_size={total!r}"
    return f"torch.repeat_interleave({x}, {repeats}, dim={axis}{known})"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    # F.pad counts axes from the last one. Modes other than constant support few axes and dtypes.
    padded = next((axis for axis, pair in enumerate(padding) if pair != (0, 0)), x.ndim)
    flat = tuple(amount for pair in reversed(padding[padded:]) for amount in pair)
    if mode == "constant":
        return f"F.pad({x}, {flat}{'' if value == 0 else f', value={value!r}'})"
    grows = all(isinstance(amount, int) and amount >= 0 for amount in flat)
    if grows and is_inexact(x.dtype or "") and x.ndim - padded <= 3 and padded in (1, 2):
        return f"F.pad({x}, {flat}, mode={_MODES[mode]!r})"
    return f"pad_with_elements({x}, {padding!r}, {mode!r})"


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
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",
    "take": lambda x, indices, *, axis: (
        _copy_scalars(f"{x}{arrays_text((_index(indices),), (axis,), x.ndim)}", indices)
    ),
    "gather_nd": lambda x, *indices, axes: (
        _copy_scalars(f"{x}{arrays_text(tuple(map(_index, indices)), axes, x.ndim)}", *indices)
    ),
    "boolean_mask": lambda x, mask, *, axis, hint: f"{x}{arrays_text((mask,), (axis,), x.ndim)}",
})  # fmt: skip


@rows.row("setitem")
def setitem(x: Operand, value: Any, *, key: Any) -> str:
    items = [
        f"slice({', '.join(map(repr, item[: 3 if item[2] != 1 else 2]))})"
        if isinstance(item, tuple)
        else repr(item)
        for item in key
    ]
    return f"updated({x}, ({', '.join(items)}{',' if len(items) == 1 else ''}), {value})"


def _index(indices: Operand) -> str:
    return str(indices) if indices.dtype in ("int32", "int64") else f"{indices}.long()"


def _copy_scalars(taken: str, *indices: Operand) -> str:
    # torch takes 0-d indices for numbers, for which it returns a view.
    return f"{taken}.clone()" if all(item.ndim == 0 for item in indices) else taken


@rows.row("take_along_axis")
def take_along_axis(x: Operand, indices: Operand, *, axis: int) -> str:
    return f"take_along_axis({x}, {index(indices)}, {axis})"


@rows.row("scatter_nd")
def scatter_nd(
    x: Operand,
    values: Operand,
    *indices: Operand,
    axes: tuple[int, ...],
    reduce: str | None,
    include_self: bool,
) -> str:
    reduce = _reduction(x, reduce)
    if axes == tuple(range(len(axes))) and reduce in (None, "sum") and include_self:
        key = f"({', '.join(map(_index, indices))}{',' if len(axes) == 1 else ''})"
        return f"{x}.index_put({key}, {tensor(values, x)}{', accumulate=True' if reduce else ''})"
    at = dict(zip(axes, map(_index, indices), strict=True))
    key = ", ".join(at.get(axis, "slice(None)") for axis in range(axes[-1] + 1)) + (
        "," if axes[-1] == 0 else ""
    )
    if reduce is None:
        return f"updated({x}, ({key}), {values})"
    return (
        f"scatter_reduce_at({x}, ({key}), {tensor(values, x)}, {_REDUCTIONS.get(reduce, reduce)!r}, "
        f"{include_self})"
    )


@rows.row("scatter")
def scatter(
    x: Operand, indices: Operand, values: Operand, *, axis: int, reduce: str | None, include_self: bool
) -> str:
    # The functions of torch do not reduce bools, so bools are reduced as uint8.
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
        return (
            f"torch.scatter_reduce({x}.byte(), {axis}, {index(indices)}, {values_text}.byte(), "
            f"{method}{self_too}).bool()"
        )
    return f"torch.scatter_reduce({x}, {axis}, {index(indices)}, {values_text}, {method}{self_too})"


def _reduction(x: Operand, reduce: str | None) -> str | None:
    return _OF_BOOLS.get(reduce, reduce) if x.dtype == "bool" and reduce else reduce


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
        "unique_consecutive": (
            "torch.unique_consecutive({x}, return_inverse=True, return_counts=True, {dim=axis})"
        ),
    },
    unused={"hint": "it is a size of the recording"},
)


def _arg_extreme(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int | None, keepdims: bool) -> str:
        # torch has no argmax and argmin of booleans and of uint64. With the highest bit inverted, the bits of
        # uint64 compare as int64 like the numbers do.
        key = {"bool": f"{x}.byte()", "uint64": f"bits_as_int64({x}) ^ -(2**63)"}.get(x.dtype or "", str(x))
        return f"torch.{name}({reduction_arguments(key, axis, keepdims)})"


_arg_extreme("argmax")
_arg_extreme("argmin")


@rows.row("count_nonzero")
def _count_nonzero(x: Operand, *, axis: Any, keepdims: bool) -> str:
    # torch.count_nonzero has no keepdim.
    if keepdims:
        return f"torch.sum({reduction_arguments(f'{x} != 0', axis, keepdims)})"
    return f"torch.count_nonzero({reduction_arguments(x, axis, keepdims)})"


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    # An operation of one output does not return a tuple.
    return f"torch.nonzero({x}, as_tuple=True){'[0]' if x.ndim == 1 else ''}"


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    return (
        f"torch.argwhere({x})"
        if size is None
        else f"torch.nonzero_static({x}, size={size!r}, fill_value={fill_value})"
    )


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    # torch warns about arrays that are not contiguous, which it would copy itself.
    sorted_by = "" if sorter is None else f", sorter={index(sorter)}"
    right = "" if side == "left" else f", side={side!r}"
    return f"torch.searchsorted({x1}.contiguous(), {x2}.contiguous(){sorted_by}{right})"
