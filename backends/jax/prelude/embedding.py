"""Look-up in tables of vectors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def padded_embedding(weight: jax.Array, indices: jax.Array, padding_idx: int) -> jax.Array:
    """Rows of ``weight``; no gradient reaches the row ``padding_idx``."""
    rows = jnp.take(weight, indices, axis=0)
    return jnp.where((indices == padding_idx)[..., None], lax.stop_gradient(rows), rows)


def embedding_bag(
    weight: jax.Array,
    indices: jax.Array,
    offsets: jax.Array,
    per_sample_weights: jax.Array | None,
    mode: str,
    padding_idx: int | None,
    include_last_offset: bool,
) -> jax.Array:
    """Sum, mean or max of the rows of each bag; bag ``i`` is ``indices[offsets[i]:offsets[i + 1]]``."""
    starts = offsets[:-1] if include_last_offset else offsets
    bags = starts.shape[0]
    bag = jnp.searchsorted(starts, jnp.arange(indices.shape[0]), side="right") - 1
    if include_last_offset:
        bag = jnp.where(jnp.arange(indices.shape[0]) < offsets[-1], bag, bags)
    if padding_idx is not None:
        bag = jnp.where(indices == padding_idx, bags, bag)  # no such bag: dropped
    rows = jnp.take(weight, indices, axis=0).astype(jnp.promote_types(weight.dtype, jnp.float32))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if mode == "sum":
        return jax.ops.segment_sum(rows, bag, bags).astype(weight.dtype)
    count = jax.ops.segment_sum(jnp.ones_like(bag), bag, bags)[:, None]
    if mode == "max":
        return jnp.where(count == 0, 0, jax.ops.segment_max(rows, bag, bags)).astype(weight.dtype)
    return (jax.ops.segment_sum(rows, bag, bags) / jnp.maximum(count, 1)).astype(weight.dtype)
