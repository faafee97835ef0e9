"""Embeddings in JAX. ``jnp.take`` gives NaN for an index that is too large; ``weight[indices]`` costs the same and would clamp it."""

from __future__ import annotations

from ....rows import Operand
from ..table import rows

rows.table({"one_hot": "jax.nn.one_hot({indices}, {num_classes}, dtype={dtype})"})


@rows.row("embedding")
def _embedding(weight: Operand, indices: Operand, *, padding_idx: int | None) -> str:
    return f"jnp.take({weight}, {indices}, axis=0)" if padding_idx is None else f"padded_embedding({weight}, {indices}, {padding_idx})"
