"""Manipulation functions in numpy."""

from __future__ import annotations

from typing import Any

from ...keys import WHOLE, key_text
from ...rows import Operand
from ...shapes import permute_text, reshape_text, unstack_texts
from .table import rows

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
    # ``x.view(...)``; elements of another size are cut out of rows that lie together
    "bitcast": lambda x, *, dtype, out: f"{x}.view({dtype})" if out[0].shape == x.shape else f"np.ascontiguousarray({x}).view({dtype})",
    "roll": lambda x, *, shift, axis: f"np.roll({x}, {shift!r}, axis={axis})",
    "repeat": lambda x, repeats, *, axis, total, hint: f"np.repeat({x}, {repeats}, axis={axis})",
})  # fmt: skip


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    """np.split into equal parts, or at where the parts end."""
    along = f", axis={axis}" if axis else ""
    if len({spec.shape[axis] for spec in out}) == 1:
        return f"np.split({x}, {len(sizes)}{along})"
    return f"np.split({x}, np.cumsum({sizes[:-1]}){along})"


@rows.row("unstack")
def unstack(x: Operand, *, axis: int, count: int) -> str:
    """The slices one by one while they are few."""
    if count <= 4:
        return ", ".join(unstack_texts(x, axis, count))
    return f"np.moveaxis({x}, {axis}, 0)" if axis else str(x)


@rows.row("flip")
def flip(x: Operand, *, axis: Any) -> str:
    """``x[:, ::-1]``."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    return f"{x}{key_text(tuple((None, None, -1) if i in axes else WHOLE for i in range(x.ndim)), x.ndim)}"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    """np.pad, or the helper where an amount may be negative."""
    constant = "" if mode != "constant" or value == 0 else f", constant_values={value!r}"
    if all(isinstance(amount, int) and amount >= 0 for pair in padding for amount in pair):
        return f"np.pad({x}, {padding}{constant})" if mode == "constant" else f"np.pad({x}, {padding}, mode={mode!r})"
    return f"pad({x}, {padding!r}, mode={mode!r}{constant.replace('constant_values', 'value')})".replace(", mode='constant'", "")
