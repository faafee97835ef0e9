"""Rows that create, index, rearrange, search and sort arrays."""

from __future__ import annotations

from typing import Any

from ....errors import UnsupportedOperation
from ....ops import ArraySpec
from ....ops.dtypes import is_complex, is_floating
from ...common.row_texts import WHOLE, arrays_text, key_text, permute_text, reshape_text, unstack_texts
from ...common.rows import Operand
from ..native import jax_dtype
from .table import rows

Out = tuple[ArraySpec, ...]

rows.table({
    "asarray": "jnp.array({data}, {dtype})",
    "copy": "jnp.copy({x})",
    "linspace": "linspace({start}, {stop}, {num}, {dtype})",
    "ones": "jnp.ones({shape}, {dtype})",
    "tril": "jnp.tril({x}, {k=})",
    "tril_indices": "jnp.array(np.tril_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "triu": "jnp.triu({x}, {k=})",
    "triu_indices": "jnp.array(np.triu_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "zeros": "jnp.zeros({shape}, {dtype})",
})  # fmt: skip


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    return f"jnp.full({shape!r}, {fill_value!r}, {dtype})" if shape else f"jnp.array({fill_value!r}, {dtype})"


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str, out: Out = ()) -> str:
    bounds = (
        [start, stop, step]
        if step != 1 or type(step) is float
        else [start, stop]
        if start != 0 or type(start) is float
        else [stop]
    )
    text = ", ".join(map(repr, bounds))
    if out[0].dtype in ("float16", "bfloat16"):
        return f"jnp.arange({text}, dtype=jnp.float32).astype({dtype})"
    return f"jnp.arange({text}, dtype={dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    # Sizes are texts here, so equal ones are found by their texts.
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"jnp.eye({n_rows!r}{columns}{f', k={k!r}' if k != 0 else ''}, dtype={dtype})"


_NARROW = ("int8", "int16", "uint8", "uint16")


@rows.row("astype")
def astype(x: Operand, *, dtype: str, out: tuple[object, ...] = ()) -> str:
    target = out[0].dtype  # type: ignore[attr-defined]
    if is_complex(x.dtype or "") and not is_complex(target) and target != "bool":
        # JAX warns of a cast that discards the imaginary part.
        return f"{x}.real.astype({dtype})"
    if is_floating(x.dtype or "") and target in _NARROW:
        # XLA saturates a cast from floats to narrow integers, where other frameworks wrap around.
        return f"{x}.astype(jnp.int32).astype({dtype})"
    return f"{x}.astype({dtype})"


rows.table(
    {
        "broadcast_to": "jnp.broadcast_to({x}, {shape})",
        "concat": "jnp.concatenate([{*arrays}], {axis=})",
        "stack": "jnp.stack([{*arrays}], {axis=})",
        "tile": "jnp.tile({x}, {repetitions})",
        "sliding_window": "sliding_window({x}, {axis=}, {size=}, {step=})",
        "packbits": "jnp.packbits({x}, {axis=}, {bitorder=})",
        "unpackbits": "jnp.unpackbits({x}, {axis=}, {bitorder=})",
        "as_strided": "as_strided({x}, {shape}, {strides}, {offset=})",
    }
)


rows.row("permute_dims")(permute_text("transpose"))
rows.row("reshape")(reshape_text)


@rows.row("bitcast")
def bitcast(x: Operand, *, dtype: Any, out: Any) -> str:
    # JAX would narrow a dtype that it does not have, and so change the bytes.
    for name in (x.dtype or "", out[0].dtype):
        if jax_dtype(name) != name:
            raise UnsupportedOperation(
                f"memory of {name} is read as another dtype, and JAX has no {name} unless jax_enable_x64 is "
                "set"
            )
    return f"{x}.view({dtype!r})"


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    along = f", axis={axis}" if axis else ""
    if len({spec.shape[axis] for spec in out}) == 1:
        return f"jnp.split({x}, {len(sizes)}{along})"
    return f"lax.split({x}, {sizes}{along})"


rows.table({
    # Up to four slices are written one by one, which reads better.
    "unstack": lambda x, *, axis, count: (
        ", ".join(unstack_texts(x, axis, count)) if count <= 4 else f"jnp.unstack({x}, axis={axis})"
    ),
    "roll": lambda x, *, shift, axis: f"jnp.roll({x}, {shift!r}, axis={axis})",
})  # fmt: skip


@rows.row("flip")
def flip(x: Operand, *, axis: Any) -> str:
    axes = axis if isinstance(axis, tuple) else (axis,)
    return f"{x}{key_text(tuple((None, None, -1) if i in axes else WHOLE for i in range(x.ndim)), x.ndim)}"


@rows.row("repeat")
def repeat(x: Operand, repeats: Any, *, axis: int, total: Any, hint: int) -> str:
    known = "" if total is None else f", total_repeat_length={total!r}"
    return f"jnp.repeat({x}, {repeats}, axis={axis}{known})"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    constant = "" if mode != "constant" or value == 0 else f", constant_values={value!r}"
    if all(isinstance(amount, int) and amount >= 0 for pair in padding for amount in pair):
        return (
            f"jnp.pad({x}, {padding}{constant})"
            if mode == "constant"
            else f"jnp.pad({x}, {padding}, mode={mode!r})"
        )
    if mode == "constant":
        return f"pad({x}, {padding!r}{constant.replace('constant_values', 'value')})"
    return f"pad_from_inside({x}, {padding!r}, {mode!r})"


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
    # The texts are ``x[:, 1:, None]``, ``x.at[:, 1:].set(value)``, ``x[:, indices]`` and ``x[i, :, j]``.
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",
    "setitem": lambda x, value, *, key: f"{x}.at{key_text(key, x.ndim)}.set({value})",
    "take": lambda x, indices, *, axis: f"{x}{arrays_text((indices,), (axis,), x.ndim)}",
    "gather_nd": lambda x, *indices, axes: f"{x}{arrays_text(indices, axes, x.ndim)}",
    # The text is ``x[:, mask]``, which runs only outside of ``jax.jit``: the size depends on elements.
    "boolean_mask": lambda x, mask, *, axis, hint: f"{x}{arrays_text((mask,), (axis,), x.ndim)}",
})  # fmt: skip


@rows.row("dynamic_slice")
def dynamic_slice(x: Operand, *starts: Any, axes: tuple[int, ...], sizes: tuple[Any, ...]) -> str:
    text = str(x)
    # One nested slice per axis does not need the sizes of the other axes.
    for start, axis, size in zip(starts, axes, sizes):
        text = f"lax.dynamic_slice_in_dim({text}, {start}, {size!r}{f', {axis}' if axis else ''})"
    return text


@rows.row("dynamic_update_slice")
def dynamic_update_slice(x: Operand, update: Operand, *starts: Any, axes: tuple[int, ...]) -> str:
    if len(axes) == 1:
        return f"lax.dynamic_update_slice_in_dim({x}, {update}, {starts[0]}, {axes[0]})"
    start_at = dict(zip(axes, starts))
    texts = ", ".join(str(start_at.get(axis, 0)) for axis in range(x.ndim))
    return f"lax.dynamic_update_slice({x}, {update}, ({texts}))"


@rows.row("scatter_nd")
def scatter_nd(
    x: Operand, values: Any, *indices: Operand, axes: tuple[int, ...], reduce: str | None, include_self: bool
) -> str:
    reduce = _reduction(x, reduce)
    if _has_method(reduce, include_self):
        return f"{x}.at{arrays_text(indices, axes, x.ndim)}.{_METHODS[reduce]}({values})"
    at = dict(zip(axes, indices, strict=False))
    key = ", ".join(str(at.get(axis, "slice(None)")) for axis in range(axes[-1] + 1))
    return _helper(x, f"({key},)", values, reduce, include_self)


@rows.row("scatter")
def scatter(
    x: Operand, indices: Operand, values: Any, *, axis: int, reduce: str | None, include_self: bool
) -> str:
    reduce = _reduction(x, reduce)
    key = str(indices) if x.ndim == 1 else f"along_axis({indices}, {axis})"
    if _has_method(reduce, include_self):
        return f"{x}.at[{key}].{_METHODS[reduce]}({values})"
    return _helper(x, key, values, reduce, include_self)


def _reduction(x: Operand, reduce: str | None) -> str | None:
    # The sum of booleans is True if any is, and the product if all are.
    return _OF_BOOLS.get(reduce, reduce) if x.dtype == "bool" and reduce else reduce


def _has_method(reduce: str | None, include_self: bool) -> bool:
    return reduce is None or (include_self and reduce in ("sum", "min", "max"))


def _helper(x: Operand, key: str, values: Any, reduce: str | None, include_self: bool) -> str:
    return f"scatter_reduce({x}, {key}, {values}, {reduce!r}{'' if include_self else ', include_self=False'})"


@rows.row("diagonal")
def diagonal(x: Operand, *, offset: int, axis1: int, axis2: int) -> str:
    matrix = x.ndim == 2 and (axis1 % 2, axis2 % 2) == (0, 1)
    return (
        f"jnp.diagonal({x}{f', {offset}' if offset else ''})"
        if matrix
        else f"jnp.diagonal({x}, {offset}, {axis1}, {axis2})"
    )


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
    },
    unused={"stable": "the sort is stable", "hint": "it is a size of the recording"},
)


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    # An operation of one output does not return a tuple.
    return f"jnp.nonzero({x}){'[0]' if x.ndim == 1 else ''}"


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    return (
        f"jnp.argwhere({x})" if size is None else f"jnp.argwhere({x}, size={size!r}, fill_value={fill_value})"
    )


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    function = "jnp.searchsorted" if x1.ndim == 1 else "searchsorted_rows"
    sorted_by = "" if sorter is None else f", sorter={sorter}"
    right = "" if side == "left" else f", side={side!r}"
    # For short sequences JAX returns int32.
    return f"{function}({x1}, {x2}{sorted_by}{right}).astype(int)"


rows.table(
    {
        "unique_values": lambda x, *, axis, hint: (
            f"jnp.unique({x}, {'' if axis is None else f'axis={axis}, '}equal_nan=False)"
        )
    }
)


@rows.row("unique_all")
def _unique_all(x: Operand, *, axis: int | None, hint: int) -> str:
    along = "" if axis is None else f"axis={axis}, "
    return (
        f"jnp.unique({x}, return_index=True, return_inverse=True, return_counts=True, {along}equal_nan=False)"
    )
