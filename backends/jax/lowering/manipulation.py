"""Manipulation functions in JAX."""

from __future__ import annotations

from typing import Any

from ....sizes import hint_of
from ...keys import WHOLE, key_text
from ...rows import Operand
from .table import rows

rows.table(
    {
        "broadcast_to": "jnp.broadcast_to({x}, {shape})",
        "concat": "jnp.concatenate([{*arrays}], {axis=})",
        "stack": "jnp.stack([{*arrays}], {axis=})",
        "tile": "jnp.tile({x}, {repetitions})",
        "sliding_window": "sliding_window({x}, {axis=}, {size=}, {step=})",
        "as_strided": "as_strided({x}, {shape}, {strides}, {offset=})",
        "bitcast": "{x}.view({dtype})",
    }
)


@rows.row("permute_dims")
def permute_dims(x: Operand, *, axes: tuple[int, ...]) -> str:
    """``x.T``, ``x.mT`` or ``x.transpose(...)``."""
    swapped = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    if axes == swapped:
        return f"{x}.{'T' if x.ndim == 2 else 'mT'}"
    return f"{x}.transpose({', '.join(map(str, axes))})"


@rows.row("reshape")
def reshape(x: Operand, *, shape: tuple[Any, ...], out: Any) -> str:
    """``x[:, None]`` where axes of size 1 are added, ``x.squeeze(1)`` where they go, otherwise ``x.reshape(...)``."""
    new = _added(x.shape, out[0].shape)
    if new and len(new) <= 3:
        return f"{x}{key_text(tuple(None if axis in new else WHOLE for axis in range(len(shape))), x.ndim)}"
    gone = _added(out[0].shape, x.shape, symbolic=True)
    if gone:
        return f"{x}.squeeze({gone[0] if len(gone) == 1 else gone})"
    if len(shape) == 1:
        return f"{x}.reshape(-1)"
    return f"{x}.reshape({', '.join(map(repr, _with_free_size(shape))) or '()'})"


def _added(small: tuple[Any, ...], large: tuple[Any, ...], symbolic: bool = False) -> tuple[int, ...]:
    """The axes of ``large`` that are 1 and without which it is ``small``; none where there are no such axes.

    Shapes of as many elements are given, so a symbolic size that is only in ``large`` must be 1.
    """
    added, place = [], 0
    for axis, dim in enumerate(large):
        if place < len(small) and small[place] == dim:
            place += 1
        elif dim == 1 if isinstance(dim, int) else symbolic and hint_of(dim) == 1:
            added.append(axis)
        else:
            return ()
    return tuple(added) if place == len(small) else ()


def _with_free_size(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """-1 for the only size that is an expression, if no other one can be 0."""
    if sum(not isinstance(dim, int) for dim in shape) == 1 and 0 not in shape:
        return tuple(-1 if not isinstance(dim, int) and " " in str(dim) else dim for dim in shape)
    return shape


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    """jnp.split into equal parts, lax.split into others."""
    along = f", axis={axis}" if axis else ""
    if len({spec.shape[axis] for spec in out}) == 1:
        return f"jnp.split({x}, {len(sizes)}{along})"
    return f"lax.split({x}, {sizes}{along})"


@rows.row("unstack")
def unstack(x: Operand, *, axis: int, count: int) -> str:
    """The slices one by one while they are few."""
    parts = [f"{x}{key_text((*(WHOLE,) * axis, i), x.ndim)}" for i in range(count)]
    return ", ".join(parts) if count <= 4 else f"jnp.unstack({x}, axis={axis})"


@rows.row("flip")
def flip(x: Operand, *, axis: Any) -> str:
    """``x[:, ::-1]``."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    return f"{x}{key_text(tuple((None, None, -1) if i in axes else WHOLE for i in range(x.ndim)), x.ndim)}"


@rows.row("roll")
def roll(x: Operand, *, shift: Any, axis: Any) -> str:
    """jnp.roll."""
    return f"jnp.roll({x}, {shift!r}, axis={axis})"


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
    return f"pad({x}, {padding!r}, mode={mode!r}{constant.replace('constant_values', 'value')})".replace(", mode='constant'", "")
