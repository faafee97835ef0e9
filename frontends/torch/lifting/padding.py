"""Padding."""

from __future__ import annotations

from typing import Any

from .manipulation import given
from .table import TorchBuilder, rows

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@rows.row("pad")
def _pad(b: TorchBuilder, input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """torch.nn.functional.pad: pairs of (before, after), the last axis first; negative numbers cut off."""
    amounts = given((pad,))
    pairs = tuple(zip(amounts[::2], amounts[1::2], strict=False))[::-1]
    padding = ((0, 0),) * (input.ndim - len(pairs)) + pairs
    return b.pad(input, padding=padding, mode=_MODES[mode], value=b.operand(value or 0, input.dtype))


rows.table({
    "constant_pad_nd": lambda b, input, pad, value=0: _pad(b, input, pad, "constant", value),
    # aten.reflection_pad2d and its like
    ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"): lambda b, input, padding: _pad(b, input, padding, "reflect"),
    # aten.replication_pad2d and its like
    ("replication_pad1d", "replication_pad2d", "replication_pad3d"): lambda b, input, padding: _pad(b, input, padding, "replicate"),
})  # fmt: skip
