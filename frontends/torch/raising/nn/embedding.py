"""Embeddings of torch."""

from __future__ import annotations

from typing import Any

from ..table import TorchBuilder, rows
from .linear import optional


@rows.row("nn.functional.embedding")
def functional_embedding(
    b: TorchBuilder,
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """torch.nn.functional.embedding; ``max_norm`` writes to the weight, which no pure call can."""
    _no_max_norm(max_norm)
    return embedding(b, weight, input, -1 if padding_idx is None else padding_idx)


@rows.row("embedding")
def embedding(b: TorchBuilder, weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    """aten::embedding; ``padding_idx`` concerns only gradients."""
    return b.embedding(weight, indices)


def _no_max_norm(max_norm: float | None) -> None:
    if max_norm is not None:
        raise NotImplementedError("embedding with max_norm renormalises its weight in place; renormalise before the call")
