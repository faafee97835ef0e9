"""Attention with grouped heads."""

from __future__ import annotations

from .own import Array, scaled_dot_product_attention


def grouped_query_attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Compute attention in which groups of consecutive query heads share a head of ``key`` and ``value``.

    Heads are on axis -3.
    """
    heads, shared = query.shape[-3], key.shape[-3]
    groups = query.reshape(*query.shape[:-3], shared, heads // shared, *query.shape[-2:])
    if mask is not None and mask.ndim > 2:
        split = (1, 1) if mask.shape[-3] == 1 else (shared, heads // shared)
        mask = mask.reshape(*mask.shape[:-3], *split, *mask.shape[-2:])
    key, value = key[..., None, :, :], value[..., None, :, :]
    result = scaled_dot_product_attention(groups, key, value, mask, is_causal=is_causal, scale=scale)
    return result.reshape(*result.shape[:-4], heads, *result.shape[-2:])
