"""Embeddings in JAX. ``jnp.take`` gives NaN for an index that is too large; ``weight[indices]`` costs the same and would clamp it."""

from __future__ import annotations

from ..table import rows

rows.table(
    {
        "embedding": "jnp.take({weight}, {indices}, axis=0)",
        "one_hot": "jax.nn.one_hot({indices}, {num_classes}, dtype={dtype})",
    }
)
