"""Manipulation functions in TensorFlow."""

from __future__ import annotations

from typing import Any

from ....sizes import hint_of
from ...rows import Operand
from ...shapes import added_axes, with_what_is_left
from .table import rows

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
    """``tf.transpose``, of the last two axes ``tf.linalg.matrix_transpose``."""
    if x.ndim == 2:
        return f"tf.transpose({x})"
    if axes == (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2):
        return f"tf.linalg.matrix_transpose({x})"
    return f"tf.transpose({x}, {list(axes)})"


@rows.row("reshape")
def reshape(x: Operand, *, shape: tuple[Any, ...], out: Any) -> str:
    """``tf.expand_dims`` where an axis of size 1 is added, ``tf.squeeze`` where some go, otherwise ``tf.reshape``."""
    new = added_axes(x.shape, out[0].shape)
    if len(new) == 1:
        return f"tf.expand_dims({x}, {new[0]})"
    gone = added_axes(out[0].shape, x.shape, symbolic=True)
    if gone:
        return f"tf.squeeze({x}, {list(gone)})"
    if len(shape) == 1:
        return f"tf.reshape({x}, [-1])"
    return f"tf.reshape({x}, {_with_free_size(shape, out[0].shape)})"


def _with_free_size(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> list[Any]:
    """-1 for the only size that is an expression, if no other one can be 0, or for what is left of the elements."""
    if sum(not isinstance(dim, int) for dim in shape) == 1 and 0 not in shape:
        return [-1 if not isinstance(dim, int) else dim for dim in shape]
    return list(with_what_is_left(shape, sizes))


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    """``tf.split`` into equal parts or into parts of given sizes."""
    along = f", axis={axis}" if axis else ""
    if len(sizes) == 1:
        return f"tf.identity({x})"
    if len({spec.shape[axis] for spec in out}) == 1 and 0 not in out[0].shape:
        return f"tf.split({x}, {len(sizes)}{along})"
    return f"tf.split({x}, {list(sizes)}{along})"


rows.table({
    "unstack": lambda x, *, axis, count: f"tf.unstack({x}, {count}{f', axis={axis}' if axis else ''}){'[0]' if count == 1 else ''}",
    "flip": lambda x, *, axis: f"tf.reverse({x}, {list(axis) if isinstance(axis, tuple) else [axis]})",
    "roll": lambda x, *, shift, axis: f"tf.roll({x}, {shift!r}, {axis!r})",
    "repeat": lambda x, repeats, *, axis, total, hint: f"tf.repeat({x}, {repeats}, axis={axis})",
})  # fmt: skip


@rows.row("tile")
def tile(x: Operand, *, repetitions: tuple[Any, ...]) -> str:
    """``tf.tile``, which takes one number an axis."""
    missing = len(repetitions) - x.ndim
    if missing > 0:
        return f"tf.tile({x}[{', '.join(['None'] * missing)}, ...], {list(repetitions)})"
    return f"tf.tile({x}, {[1] * -missing + list(repetitions)})"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    """``tf.pad``, or the helper where an amount may be negative, for the modes that TensorFlow lacks, and where it refuses to reflect for
    an empty axis."""
    amounts = [list(pair) for pair in padding]
    grows = all(isinstance(amount, int) and amount >= 0 for pair in padding for amount in pair)
    if grows and mode == "constant":
        constant = "" if value == 0 else f", constant_values={_typed(value, x)}"
        return f"tf.pad({x}, {amounts}{constant})"
    if grows and mode == "reflect" and all(map(hint_of, x.shape)):
        return f'tf.pad({x}, {amounts}, "REFLECT")'
    options = "" if mode == "constant" and value == 0 else f", {_typed(value, x)}" if mode == "constant" else f", mode={mode!r}"
    return f"{'resized' if mode == 'constant' else 'pad_with_elements'}({x}, {amounts}{options})"


def _typed(value: Any, x: Operand) -> str:
    return f"tf.constant({value!r}, tf.{x.dtype})"
