"""Rows that create, index, rearrange, search and sort arrays."""

from __future__ import annotations

from typing import Any

from ....ops import ArraySpec
from ....ops.dtypes import is_complex, is_floating, is_inexact
from ...common.row_texts import WHOLE, arrays_text, key_text, permute_text, reshape_text, unstack_texts
from ...common.rows import Operand
from .table import rows

rows.table({
    "asarray": "np.array({data}, {dtype})",
    "linspace": "linspace({start}, {stop}, {num}, {dtype})",
    "ones": "np.ones({shape}, {dtype})",
    "tril": "np.tril({x}, {k=})",
    "tril_indices": "np.array(np.tril_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "triu": "np.triu({x}, {k=})",
    "triu_indices": "np.array(np.triu_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "zeros": "np.zeros({shape}, {dtype})",
    # Without axes, `x` may be a NumPy scalar, whose copy would be no array.
    "copy": lambda x: f"{x}.copy()" if x.ndim else f"np.array({x})",
})  # fmt: skip


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    return f"np.full({shape!r}, {fill_value!r}, {dtype})" if shape else f"np.array({fill_value!r}, {dtype})"


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str, out: tuple[ArraySpec, ...] = ()) -> str:
    bounds = (
        [start, stop, step]
        if step != 1 or type(step) is float
        else [start, stop]
        if start != 0 or type(start) is float
        else [stop]
    )
    return f"np.arange({', '.join(map(repr, bounds))}, dtype={dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    # Sizes are texts here, so equal ones are found by their texts.
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"np.eye({n_rows!r}{columns}{f', k={k!r}' if k != 0 else ''}, dtype={dtype})"


_NARROW = ("int8", "int16", "uint8", "uint16")


@rows.row("astype")
def astype(x: Operand, *, dtype: str, out: tuple[object, ...] = ()) -> str:
    target = out[0].dtype  # type: ignore[attr-defined]
    if is_complex(x.dtype or "") and not is_complex(target) and target != "bool":
        # NumPy warns of a cast that discards the imaginary part.
        return f"{x}.real.astype({dtype})"
    if is_floating(x.dtype or "") and target in _NARROW:
        # A cast of a float beyond the range of a narrow integer is undefined in C. By way of int32, floats in
        # the range of int32 wrap around.
        return f"{x}.astype(np.int32).astype({dtype})"
    return f"{x}.astype({dtype})"


rows.table(
    {
        "broadcast_to": "np.broadcast_to({x}, {shape})",
        "concat": "np.concatenate([{*arrays}], {axis=})",
        "stack": "np.stack([{*arrays}], {axis=})",
        "tile": "np.tile({x}, {repetitions})",
        "sliding_window": "sliding_window({x}, {axis=}, {size=}, {step=})",
        "packbits": "np.packbits({x}, {axis=}, {bitorder=})",
        "unpackbits": "np.unpackbits({x}, {axis=}, {bitorder=})",
        "as_strided": "as_strided({x}, {shape}, {strides}, {offset=})",
    }
)
rows.row("permute_dims")(permute_text("transpose"))
rows.row("reshape")(reshape_text)


rows.table({
    # NumPy reads elements of another size only from contiguous rows.
    "bitcast": lambda x, *, dtype, out: (
        f"{x}.view({dtype})" if out[0].shape == x.shape else f"np.ascontiguousarray({x}).view({dtype})"
    ),
    "roll": lambda x, *, shift, axis: f"np.roll({x}, {shift!r}, axis={axis})",
    "repeat": lambda x, repeats, *, axis, total, hint: f"np.repeat({x}, {repeats}, axis={axis})",
})  # fmt: skip


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    along = f", axis={axis}" if axis else ""
    if len({spec.shape[axis] for spec in out}) == 1:
        return f"np.split({x}, {len(sizes)}{along})"
    return f"np.split({x}, np.cumsum({sizes[:-1]}){along})"


@rows.row("unstack")
def unstack(x: Operand, *, axis: int, count: int) -> str:
    if count <= 4:
        return ", ".join(unstack_texts(x, axis, count))
    # Python unpacks an array along its first axis.
    return f"np.moveaxis({x}, {axis}, 0)" if axis else str(x)


@rows.row("flip")
def flip(x: Operand, *, axis: Any) -> str:
    axes = axis if isinstance(axis, tuple) else (axis,)
    return f"{x}{key_text(tuple((None, None, -1) if i in axes else WHOLE for i in range(x.ndim)), x.ndim)}"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    constant = "" if mode != "constant" or value == 0 else f", constant_values={value!r}"
    if all(isinstance(amount, int) and amount >= 0 for pair in padding for amount in pair):
        return (
            f"np.pad({x}, {padding}{constant})"
            if mode == "constant"
            else f"np.pad({x}, {padding}, mode={mode!r})"
        )
    return f"pad({x}, {padding!r}, mode={mode!r}{constant.replace('constant_values', 'value')})".replace(
        ", mode='constant'", ""
    )


rows.table(
    {
        "take_along_axis": "np.take_along_axis({x}, {indices}, axis={axis})",
        "masked_scatter": "masked_scatter({x}, {mask}, {source})",
        "diag_embed": "diag_embed({x}, {offset=}, {axis1=}, {axis2=})",
    }
)


rows.table({
    # The texts are ``x[:, 1:, None]``, ``with_items(x, np.s_[:, 1:], value)``, ``x[:, indices]``,
    # ``x[i, :, j]`` and ``x[:, mask]``.
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",
    "setitem": lambda x, value, *, key: f"with_items({x}, np.s_{key_text(key, x.ndim)}, {value})",
    "take": lambda x, indices, *, axis: f"{x}{arrays_text((indices,), (axis,), x.ndim)}",
    "gather_nd": lambda x, *indices, axes: f"{x}{arrays_text(indices, axes, x.ndim)}",
    "boolean_mask": lambda x, mask, *, axis, hint: (
        f"{x}{arrays_text((mask,), (axis,), x.ndim - mask.ndim + 1)}"
    ),
})  # fmt: skip


@rows.row("scatter_nd")
def scatter_nd(
    x: Operand, values: Any, *indices: Operand, axes: tuple[int, ...], reduce: str | None, include_self: bool
) -> str:
    return _written(x, f"np.s_{arrays_text(indices, axes, x.ndim)}", values, reduce, include_self)


@rows.row("scatter")
def scatter(
    x: Operand, indices: Operand, values: Any, *, axis: int, reduce: str | None, include_self: bool
) -> str:
    return _written(
        x, str(indices) if x.ndim == 1 else f"along_axis({indices}, {axis})", values, reduce, include_self
    )


def _written(x: Operand, key: str, values: Any, reduce: str | None, include_self: bool) -> str:
    if reduce is None:
        return f"with_items({x}, {key}, {values})"
    return f"scatter_reduce({x}, {key}, {values}, {reduce!r}{'' if include_self else ', include_self=False'})"


@rows.row("diagonal")
def diagonal(x: Operand, *, offset: int, axis1: int, axis2: int) -> str:
    matrix = x.ndim == 2 and (axis1 % 2, axis2 % 2) == (0, 1)
    return (
        f"np.diagonal({x}{f', {offset}' if offset else ''})"
        if matrix
        else f"np.diagonal({x}, {offset}, {axis1}, {axis2})"
    )


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
    },
    unused={"stable": "the sort is stable", "hint": "it is a size of the recording"},
)


@rows.row("sort")
def _sort(x: Operand, *, axis: int, descending: bool, stable: bool) -> str:
    # Equal elements cannot be told apart, except for zeros of either sign.
    if stable and is_inexact(x.dtype or ""):
        return (
            f"sort_with_indices({x}, axis={axis}, descending=True)[0]"
            if descending
            else f"np.sort({x}, axis={axis}, stable=True)"
        )
    ascending = f"np.sort({x}, axis={axis})"
    return f"np.flip({ascending}, axis={axis})" if descending else ascending


@rows.row("argsort")
def _argsort(x: Operand, *, axis: int, descending: bool, stable: bool) -> str:
    return (
        f"sort_with_indices({x}, axis={axis}, descending=True)[1]"
        if descending
        else f"np.argsort({x}, axis={axis}, stable=True)"
    )


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    # An operation of one output does not return a tuple.
    return f"np.nonzero({x}){'[0]' if x.ndim == 1 else ''}"


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    return f"np.argwhere({x})" if size is None else f"argwhere_of_size({x}, {size!r}, {fill_value})"


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    function = "np.searchsorted" if x1.ndim == 1 else "searchsorted_rows"
    sorted_by = "" if sorter is None else f", sorter={sorter}"
    right = "" if side == "left" else f", side={side!r}"
    return f"{function}({x1}, {x2}{sorted_by}{right})"


rows.table(
    {
        "unique_values": lambda x, *, axis, hint: (
            f"np.unique({x}, {'' if axis is None else f'axis={axis}, '}equal_nan=False)"
        )
    }
)


@rows.row("unique_all")
def _unique_all(x: Operand, *, axis: int | None, hint: int) -> str:
    along = "" if axis is None else f"axis={axis}, "
    return (
        f"np.unique({x}, return_index=True, return_inverse=True, return_counts=True, {along}equal_nan=False)"
    )
