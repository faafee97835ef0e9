"""Manipulation functions in torch."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import ITEMSIZE, is_inexact
from ...rows import Operand
from ...shapes import permute_text, reshape_text, unstack_texts
from .table import rows

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
    """The bytes of other sizes must lie side by side."""
    alike = ITEMSIZE[x.dtype or ""] == ITEMSIZE[out[0].dtype]
    return f"{x}{'' if alike else '.contiguous()'}.view({dtype})"


@rows.row("split")
def split(x: Operand, *, sizes: tuple[Any, ...], axis: int, out: Any) -> str:
    """``x.chunk(3)`` into equal parts, ``x.split((1, 2))`` into others."""
    if len(sizes) == 1:
        return str(x)
    along = f", dim={axis}" if axis else ""
    return f"{x}.chunk({len(sizes)}{along})" if len({spec.shape[axis] for spec in out}) == 1 else f"{x}.split({sizes}{along})"


rows.table({
    # ``x.unbind(1)``; one slice alone is no tuple
    "unstack": lambda x, *, axis, count: unstack_texts(x, axis, count)[0] if count == 1 else f"{x}.unbind({axis or ''})",
    "flip": lambda x, *, axis: f"torch.flip({x}, {axis if isinstance(axis, tuple) else (axis,)})",  # torch.flip takes several axes
    "roll": lambda x, *, shift, axis: f"torch.roll({x}, {shift!r}, {axis!r})",
})  # fmt: skip


@rows.row("repeat")
def repeat(x: Operand, repeats: Any, *, axis: int, total: Any, hint: int) -> str:
    """torch.repeat_interleave."""
    known = "" if total is None or repeats.spec is None else f", output_size={total!r}"
    return f"torch.repeat_interleave({x}, {repeats}, dim={axis}{known})"


@rows.row("pad")
def pad(x: Operand, *, padding: Any, mode: str, value: Any) -> str:
    """``F.pad``, which counts axes from the last one; in other modes than constant only over as many axes as it takes."""
    padded = next((axis for axis, pair in enumerate(padding) if pair != (0, 0)), x.ndim)
    flat = tuple(amount for pair in reversed(padding[padded:]) for amount in pair)
    if mode == "constant":
        return f"F.pad({x}, {flat}{'' if value == 0 else f', value={value!r}'})"
    grows = all(isinstance(amount, int) and amount >= 0 for amount in flat)
    if grows and is_inexact(x.dtype or "") and x.ndim - padded <= 3 and padded in (1, 2):
        return f"F.pad({x}, {flat}, mode={_MODES[mode]!r})"
    return f"pad_with_elements({x}, {padding!r}, {mode!r})"
