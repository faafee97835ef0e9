"""Attention."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def scaled_dot_product_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> jax.Array:
    """``softmax(query @ key.T * scale + mask) @ value``; a row without any kept score gives 0."""
    weights = attention_weights(query, key, mask, is_causal=is_causal, scale=scale)
    return weights.astype(value.dtype) @ value


def attention_weights(
    query: jax.Array, key: jax.Array, mask: jax.Array | None = None, *, is_causal: bool = False, scale: float | None = None
) -> jax.Array:
    """``softmax(query @ key.T * scale + mask)``, in float32 at least."""
    wide = jnp.promote_types(query.dtype, jnp.float32)
    scores = jnp.matmul(query, jnp.swapaxes(key, -1, -2), preferred_element_type=wide)
    scores *= query.shape[-1] ** -0.5 if scale is None else scale
    if is_causal:
        kept = jnp.tri(*scores.shape[-2:], dtype=bool)
        mask = kept if mask is None else kept & mask if mask.dtype == bool else jnp.where(kept, mask, -jnp.inf)
    return jax.nn.softmax(scores) if mask is None else masked_softmax(scores, mask)


def masked_softmax(scores: jax.Array, mask: jax.Array) -> jax.Array:
    """Softmax over the last axis of the scores that a bool mask keeps, or that a float mask is added to; 0 where nothing is kept.

    What concerns the mask alone happens to the mask, which is smaller than the scores and the same in all layers, and the scores see
    nothing but arithmetic: XLA puts product, sum, peak and exponential into one loop then, which it does not do around a choice.
    """
    bias = jnp.where(mask, 0, -jnp.inf).astype(scores.dtype) if mask.dtype == bool else mask
    empty = (bias == -jnp.inf).all(-1, keepdims=True)
    weights = jax.nn.softmax(scores + jnp.where(empty, 0, bias))
    return jnp.where(empty, 0, weights)


def grouped_query_attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    mask: jax.Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> jax.Array:
    """Attention in which groups of consecutive query heads (axis -3) share a head of key and value."""
    heads, shared = query.shape[-3], key.shape[-3]
    groups = query.reshape(*query.shape[:-3], shared, heads // shared, *query.shape[-2:])
    if mask is not None and mask.ndim > 2:
        split = (1, 1) if mask.shape[-3] == 1 else (shared, heads // shared)
        mask = mask.reshape(*mask.shape[:-3], *split, *mask.shape[-2:])
    key, value = key[..., None, :, :], value[..., None, :, :]
    result = scaled_dot_product_attention(groups, key, value, mask, is_causal=is_causal, scale=scale)
    return result.reshape(*result.shape[:-4], heads, *result.shape[-2:])
