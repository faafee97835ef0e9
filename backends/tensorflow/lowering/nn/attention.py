"""Attention in TensorFlow, which has no function for it."""

from __future__ import annotations

from typing import Any

from ....rows import Operand
from ..table import rows


@rows.row("scaled_dot_product_attention")
def _attention(
    query: Operand,
    key: Operand,
    value: Operand,
    mask: Operand | None = None,
    random_key: Operand | None = None,
    *,
    is_causal: bool,
    scale: Any,
    enable_gqa: bool,
    dropout_rate: float,
) -> str:
    """With dropout the weights are dropped between the two products."""
    options = [str(mask)] if mask is not None else []
    options += ["is_causal=True"] if is_causal else []
    options += [f"scale={scale!r}"] if scale is not None else []
    if random_key is not None:
        return f"dropout({random_key}, attention_weights({', '.join([query, key, *options])}), {dropout_rate!r}) @ {value}"
    function = "grouped_query_attention" if enable_gqa else "scaled_dot_product_attention"
    return f"{function}({', '.join([query, key, value, *options])})"
