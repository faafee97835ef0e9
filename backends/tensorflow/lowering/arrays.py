"""Creation, conversion, shape, indexing, sorting, searching and sets in TensorFlow."""

from __future__ import annotations

import re
from typing import Any

from ....ops import ArraySpec
from ....ops.dtypes import is_complex, is_floating
from ....ops.text import Text
from ....sizes import hint_of
from ....trees import iterate_structure
from ...common.row_texts import WHOLE, added_axes, key_text, with_inferred_size
from ...common.rows import Operand
from .table import rows

Out = tuple[ArraySpec, ...]
_RANGES = ("int32", "int64", "float32", "float64")
# Text that matches may be a fraction.
_FRACTION = re.compile(r"(?<!/)/(?!/)|\d\.\d|\bfloat\(|\bmath\.")

rows.table({
    "linspace": "linspace({start}, {stop}, {num}, {dtype})",
    "copy": "tf.identity({x})",
    "ones": "tf.ones({shape}, {dtype})",
    "tril_indices": "triangle_indices({n_rows}, {n_cols}, {k}, {dtype}, upper=False)",
    "triu_indices": "triangle_indices({n_rows}, {n_cols}, {k}, {dtype}, upper=True)",
    "zeros": "tf.zeros({shape}, {dtype})",
    # tf.linalg.band_part always keeps the main diagonal, so a helper masks at other diagonals.
    "tril": lambda x, *, k: (
        f"tf.linalg.band_part({x}, -1, 0)"
        if k == 0
        else f"triangle({x}, {k!r}, upper=False)"
    ),
    "triu": lambda x, *, k: (
        f"tf.linalg.band_part({x}, 0, -1)"
        if k == 0
        else f"triangle({x}, {k!r}, upper=True)"
    ),
})  # fmt: skip


def _is_known(*numbers: Any) -> bool:
    return not any(isinstance(number, Text) and "math." not in number for number in numbers)


@rows.row("asarray")
def asarray(*, data: Any, dtype: str) -> str:
    if _is_known(*iterate_structure((data,))):
        return f"tf.constant({data!r}, {dtype})"
    return f"numbers_as({data!r}, {dtype})"


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    # tf.constant does not convert numbers to bool.
    if dtype == "tf.bool" and _is_known(fill_value):
        fill_value = bool(fill_value)
    value = (
        f"tf.constant({fill_value!r}, {dtype})"
        if _is_known(fill_value)
        else f"scalar({fill_value!r}, {dtype})"
    )
    return f"tf.fill({shape!r}, {value})" if shape else value


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str, out: Out = ()) -> str:
    # The helper `spaced` multiplies the step instead of adding it up.
    fractions = any(
        isinstance(number, float) or isinstance(number, Text) and _FRACTION.search(number)
        for number in (start, stop, step)
    )
    if fractions or (is_floating(out[0].dtype) and step != 1):
        return f"spaced({start!r}, {stop!r}, {step!r}, {dtype})"
    bounds = [start, stop, step] if step != 1 else [start, stop] if start != 0 else [stop]
    text = ", ".join(map(repr, bounds))
    if out[0].dtype in _RANGES:
        return f"tf.range({text}, dtype={dtype})"
    return f"tf.cast(tf.range({text}, dtype=tf.int64), {dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    if k != 0:
        return f"shifted_eye({n_rows!r}, {n_cols!r}, {k!r}, {dtype})"
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"tf.eye({n_rows!r}{columns}, dtype={dtype})"


_WRAPPING_DTYPES = {
    "int8": "int32",
    "int16": "int32",
    "uint8": "int32",
    "uint16": "int32",
    "uint32": "int64",
}


@rows.row("astype")
def astype(x: Operand, *, dtype: str, out: tuple[object, ...] = ()) -> str:
    # Floats are cast to narrow integers through wider ones, where they wrap around instead of saturating.
    target = out[0].dtype  # type: ignore[attr-defined]
    source = x.dtype or ""
    if is_complex(source) and target == "bool":
        return f"({x} != 0)"
    is_real_part = is_complex(source) and not is_complex(target)
    real = f"tf.math.real({x})" if is_real_part else str(x)
    if (is_real_part or is_floating(source)) and target in _WRAPPING_DTYPES:
        return f"tf.cast(tf.cast({real}, tf.{_WRAPPING_DTYPES[target]}), {dtype})"
    if (is_real_part or is_floating(source)) and target == "uint64":
        return f"uint64_of_floats({real})"
    return f"tf.cast({real}, {dtype})"


rows.table(
    {
        "broadcast_to": "tf.broadcast_to({x}, {shape})",
        "concat": "tf.concat([{*arrays}], {axis})",
        "stack": "tf.stack([{*arrays}], {axis=})",
        "sliding_window": "sliding_window({x}, {axis=}, {size=}, {step=})",
        "as_strided": "as_strided({x}, {shape}, {strides}, {offset=})",
        "bitcast": "bitcast({x}, {dtype})",
    }
)


@rows.row("permute_dims")
def permute_dims(x: Operand, *, axes: tuple[int, ...]) -> str:
    if x.ndim == 2:
        return f"tf.transpose({x})"
    if axes == (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2):
        return f"tf.linalg.matrix_transpose({x})"
    return f"tf.transpose({x}, {list(axes)})"


@rows.row("reshape")
def reshape(x: Operand, *, shape: tuple[Any, ...], out: Any) -> str:
    new = added_axes(x.shape, out[0].shape)
    if len(new) == 1:
        return f"tf.expand_dims({x}, {new[0]})"
    gone = added_axes(out[0].shape, x.shape, symbolic=True)
    if gone:
        return f"tf.squeeze({x}, {list(gone)})"
    if len(shape) == 1:
        return f"tf.reshape({x}, [-1])"
    return f"tf.reshape({x}, {_infer_one_size(shape, out[0].shape)})"


def _infer_one_size(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> list[Any]:
    if sum(not isinstance(dim, int) for dim in shape) == 1 and 0 not in shape:
        return [-1 if not isinstance(dim, int) else dim for dim in shape]
    return list(with_inferred_size(shape, sizes))


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    along = f", axis={axis}" if axis else ""
    if len(sizes) == 1:
        return f"tf.identity({x})"
    if len({spec.shape[axis] for spec in out}) == 1 and 0 not in out[0].shape:
        return f"tf.split({x}, {len(sizes)}{along})"
    return f"tf.split({x}, {list(sizes)}{along})"


rows.table({
    "unstack": lambda x, *, axis, count: (
        f"tf.unstack({x}, {count}{f', axis={axis}' if axis else ''}){'[0]' if count == 1 else ''}"
    ),
    "flip": lambda x, *, axis: f"tf.reverse({x}, {list(axis) if isinstance(axis, tuple) else [axis]})",
    "roll": lambda x, *, shift, axis: f"tf.roll({x}, {shift!r}, {axis!r})",
    "repeat": lambda x, repeats, *, axis, total, hint: f"tf.repeat({x}, {repeats}, axis={axis})",
})  # fmt: skip


@rows.row("tile")
def tile(x: Operand, *, repetitions: tuple[Any, ...]) -> str:
    missing = len(repetitions) - x.ndim
    if missing > 0:
        return f"tf.tile({x}[{', '.join(['None'] * missing)}, ...], {list(repetitions)})"
    return f"tf.tile({x}, {[1] * -missing + list(repetitions)})"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    # `tf.pad` supports neither negative amounts nor all modes, and raises an error for reflections of empty
    # axes.
    amounts = [list(pair) for pair in padding]
    grows = all(isinstance(amount, int) and amount >= 0 for pair in padding for amount in pair)
    if grows and mode == "constant":
        constant = "" if value == 0 else f", constant_values={_typed(value, x)}"
        return f"tf.pad({x}, {amounts}{constant})"
    if grows and mode == "reflect" and all(map(hint_of, x.shape)):
        return f'tf.pad({x}, {amounts}, "REFLECT")'
    options = (
        ""
        if mode == "constant" and value == 0
        else f", {_typed(value, x)}"
        if mode == "constant"
        else f", mode={mode!r}"
    )
    return f"{'resized' if mode == 'constant' else 'pad_with_elements'}({x}, {amounts}{options})"


def _typed(value: Any, x: Operand) -> str:
    return f"tf.constant({value!r}, tf.{x.dtype})"


# The sum of bools is true if any of them is, as is their maximum.
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
    "getitem": lambda x, *, key: f"{x}{key_text(key, x.ndim)}",
    # The helper supports negative indices, which tf.gather does not.
    "take": lambda x, indices, *, axis: f"take({x}, {indices}{f', axis={axis}' if axis else ''})",
    # The helper supports indices into any axes.
    "gather_nd": lambda x, *indices, axes: f"gather_at({x}, [{', '.join(indices)}], {axes})",
})  # fmt: skip


@rows.row("setitem")
def setitem(x: Operand, value: Any, *, key: Any) -> str:
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
def scatter_nd(
    x: Operand, values: Any, *indices: Operand, axes: tuple[int, ...], reduce: str | None, include_self: bool
) -> str:
    return f"scatter_at({x}, {values}, [{', '.join(indices)}], {axes}{_options(x, reduce, include_self)})"


@rows.row("scatter")
def scatter(
    x: Operand, indices: Operand, values: Any, *, axis: int, reduce: str | None, include_self: bool
) -> str:
    return f"scatter_along({x}, {indices}, {values}, {axis}{_options(x, reduce, include_self)})"


def _options(x: Operand, reduce: str | None, include_self: bool) -> str:
    if x.dtype == "bool" and reduce:
        reduce = _OF_BOOLS.get(reduce, reduce)
    return ("" if reduce is None else f", reduce={reduce!r}") + (
        "" if include_self or reduce is None else ", include_self=False"
    )


@rows.row("boolean_mask")
def boolean_mask(x: Operand, mask: Operand, *, axis: int, hint: int) -> str:
    # `tf.boolean_mask` needs a mask with an axis.
    if mask.ndim == 0:
        return f"tf.boolean_mask(tf.expand_dims({x}, {axis}), {mask}[None], axis={axis})"
    return f"tf.boolean_mask({x}, {mask}{f', axis={axis}' if axis else ''})"


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
    },
    unused={"stable": "the sort is stable", "hint": "it is a size of the recording"},
)


def _arg_extreme(name: str) -> None:
    @rows.row(name)
    def row(x: Operand, *, axis: int | None, keepdims: bool) -> str:
        return f"index_of_extreme(tf.{name}, {x}, {axis}{', keepdims=True' if keepdims else ''})"


_arg_extreme("argmax")
_arg_extreme("argmin")


@rows.row("count_nonzero")
def _count_nonzero(x: Operand, *, axis: Any, keepdims: bool) -> str:
    along = "" if axis is None else f", {list(axis) if isinstance(axis, tuple) else axis}"
    return f"tf.math.count_nonzero({x}{along}{', keepdims=True' if keepdims else ''})"


@rows.row("nonzero")
def _nonzero(x: Operand, *, hint: int) -> str:
    if x.ndim == 1:
        return f"tf.where({_as_condition(x)})[:, 0]"
    return f"tf.unstack(tf.where({_as_condition(x)}), {x.ndim}, axis=1)"


@rows.row("argwhere")
def _argwhere(x: Operand, *, hint: int, size: Any, fill_value: int) -> str:
    if x.ndim == 0 and size is None:
        return f"tf.zeros([tf.math.count_nonzero({x}), 0], tf.int64)"
    return (
        f"tf.where({_as_condition(x)})"
        if size is None
        else f"argwhere({_as_condition(x)}, {size!r}, {fill_value})"
    )


def _as_condition(x: Operand) -> str:
    return f"{x} != 0" if x.dtype in ("float16", "bfloat16") else str(x)


@rows.row("searchsorted")
def _searchsorted(x1: Operand, x2: Operand, sorter: Operand | None = None, *, side: str) -> str:
    sorted_by = "" if sorter is None else f", {sorter}"
    return f"searchsorted({x1}, {x2}{sorted_by}{'' if side == 'left' else f', side={side!r}'})"


rows.table({
    "unique_values": lambda x, *, axis, hint: f"unique_all({x}{'' if axis is None else f', axis={axis}'})[0]",
    "unique_all": lambda x, *, axis, hint: f"unique_all({x}{'' if axis is None else f', axis={axis}'})",
})  # fmt: skip
