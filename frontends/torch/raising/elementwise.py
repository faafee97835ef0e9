"""Element-wise functions of torch."""

from __future__ import annotations

from typing import Any

from .table import TorchBuilder, rows


@rows.row("add")
def add(b: TorchBuilder, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """torch.add: ``input + alpha * other``."""
    x, y = b.promote(input, other)
    return b.add(x, y if alpha == 1 else b.multiply(y, alpha))
