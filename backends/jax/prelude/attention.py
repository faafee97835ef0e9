"""Attention."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


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
    return jnp.matmul(weights.astype(value.dtype), value)


def attention_weights(
    query: jax.Array, key: jax.Array, mask: jax.Array | None = None, *, is_causal: bool = False, scale: float | None = None
) -> jax.Array:
    """``softmax(query @ key.T * scale + mask)``, in float32 at least; 0 in rows without any kept score.

    The scores see nothing but arithmetic: XLA puts product, sum and softmax into one loop then, which it does not do around a choice.
    """
    wide = jnp.promote_types(query.dtype, jnp.float32)
    scores = jnp.matmul(query, jnp.swapaxes(key, -1, -2), preferred_element_type=wide)
    scores *= query.shape[-1] ** -0.5 if scale is None else scale
    if is_causal:
        kept = jnp.tri(*scores.shape[-2:], dtype=bool)
        mask = kept if mask is None else kept & mask if mask.dtype == bool else jnp.where(kept, mask, -jnp.inf)
    if mask is not None:
        scores = scores + (jnp.where(mask, 0, -jnp.inf).astype(wide) if mask.dtype == bool else mask)
    return softmax_or_zero(scores)


def softmax_or_zero(scores: jax.Array) -> jax.Array:
    """Softmax over the last axis; 0 where all scores are -inf.

    Both reductions start at a number that is nothing beside those of any other row: the lowest for the peak, the least for the total,
    which is 1 at least elsewhere. So nothing stands between total and quotient: that would cost a loop of its own, and 1.5 times the time
    with 1,500 keys on a CPU. The derivative of that quotient would leave the range of the type.
    """

    @jax.custom_jvp
    def softmax(scores: jax.Array) -> jax.Array:
        peaks = lax.reduce(scores, jnp.finfo(scores.dtype).min, lax.max, (scores.ndim - 1,))
        weights = jnp.exp(scores - peaks[..., None])
        totals = lax.reduce(weights, jnp.finfo(scores.dtype).tiny, lax.add, (scores.ndim - 1,))
        return weights / totals[..., None]

    @softmax.defjvp
    def slopes(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
        result, tangent = softmax(*primals), *tangents
        return result, result * (tangent - jnp.sum(result * tangent, -1, keepdims=True))

    return softmax(scores)
