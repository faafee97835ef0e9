"""Attention of torch."""

from __future__ import annotations

from typing import Any

from ..table import TorchBuilder, rows
from .linear import optional


@rows.row("scaled_dot_product_attention")
def scaled_dot_product_attention(
    b: TorchBuilder,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """torch.nn.functional.scaled_dot_product_attention."""
    mask = attn_mask if attn_mask is None or attn_mask.dtype == "bool" else b.cast(attn_mask, query.dtype)
    return b.scaled_dot_product_attention(*optional(query, key, value, mask), is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
