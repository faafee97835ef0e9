"""Attention in torch."""

from __future__ import annotations

from typing import Any

from ....calls import call
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
    """torch's own, which takes either a mask or ``is_causal``, and no generator for its dropout."""
    options = {"is_causal": is_causal or None, "scale": scale, "enable_gqa": enable_gqa or None}
    if random_key is None and (mask is None or not is_causal):
        return call("F.scaled_dot_product_attention", query, key, value, attn_mask=mask, **options)
    weights = call("attention_weights", query, key, mask, **options)
    if random_key is not None:
        weights = f"dropout({random_key}, {weights}, {dropout_rate!r})"
    heads = f"{value}.repeat_interleave({query}.shape[-3] // {value}.shape[-3], -3)" if enable_gqa else value
    return f"{weights} @ {heads}"
