"""Manipulation functions in JAX."""

from __future__ import annotations

from typing import Any

from ....errors import UnsupportedOperation
from ...keys import WHOLE, key_text
from ...rows import Operand
from ...shapes import permute_text, reshape_text, unstack_texts
from ..native import jax_dtype
from .table import rows

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
    """``x.view(dtype)``; memory of a 64-bit type is not there where JAX uses a 32-bit one for it."""
    for name in (x.dtype or "", out[0].dtype):
        if jax_dtype(name) != name:
            raise UnsupportedOperation(f"memory of {name} is read as another dtype, and JAX has no {name} unless jax_enable_x64 is set")
    return f"{x}.view({dtype!r})"


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    """jnp.split into equal parts, lax.split into others."""
    along = f", axis={axis}" if axis else ""
    if len({spec.shape[axis] for spec in out}) == 1:
        return f"jnp.split({x}, {len(sizes)}{along})"
    return f"lax.split({x}, {sizes}{along})"


rows.table({
    # the slices one by one while they are few
    "unstack": lambda x, *, axis, count: ", ".join(unstack_texts(x, axis, count)) if count <= 4 else f"jnp.unstack({x}, axis={axis})",
    "roll": lambda x, *, shift, axis: f"jnp.roll({x}, {shift!r}, axis={axis})",
})  # fmt: skip


@rows.row("flip")
def flip(x: Operand, *, axis: Any) -> str:
    """``x[:, ::-1]``."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    return f"{x}{key_text(tuple((None, None, -1) if i in axes else WHOLE for i in range(x.ndim)), x.ndim)}"


@rows.row("repeat")
def repeat(x: Operand, repeats: Any, *, axis: int, total: Any, hint: int) -> str:
    """jnp.repeat."""
    known = "" if total is None else f", total_repeat_length={total!r}"
    return f"jnp.repeat({x}, {repeats}, axis={axis}{known})"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    """jnp.pad, or the helper where an amount may be negative."""
    constant = "" if mode != "constant" or value == 0 else f", constant_values={value!r}"
    if all(isinstance(amount, int) and amount >= 0 for pair in padding for amount in pair):
        return f"jnp.pad({x}, {padding}{constant})" if mode == "constant" else f"jnp.pad({x}, {padding}, mode={mode!r})"
    if mode == "constant":
        return f"pad({x}, {padding!r}{constant.replace('constant_values', 'value')})"
    return f"pad_from_inside({x}, {padding!r}, {mode!r})"
