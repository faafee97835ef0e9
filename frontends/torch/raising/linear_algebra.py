"""Matrix products and linear algebra of torch."""

from __future__ import annotations

from typing import Any

from .table import TorchBuilder, rows


@rows.row("matmul", "mm", "bmm")
def matmul(b: TorchBuilder, input: Any, other: Any) -> Any:
    """torch.matmul, torch.mm, torch.bmm."""
    return b.matmul(input, other)
