"""Linear layers."""

from __future__ import annotations

from typing import Any

from ..table import TorchBuilder, rows


@rows.row("linear")
def linear(b: TorchBuilder, input: Any, weight: Any, bias: Any = None) -> Any:
    """torch.nn.functional.linear: ``input @ weight.T + bias``."""
    product = b.matmul(input, b.permute_dims(weight, axes=(1, 0)) if weight.ndim == 2 else weight)
    return product if bias is None else b.add(product, bias)
