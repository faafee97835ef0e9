"""Embeddings in JAX. ``jnp.take`` gives NaN for an index that is too large; ``weight[indices]`` costs the same and would clamp it."""

from __future__ import annotations

from typing import Any

from ....rows import Operand
from ..table import rows

rows.table(
    {
        "embedding": "jnp.take({weight}, {indices}, axis=0)",
        "one_hot": "jax.nn.one_hot({indices}, {num_classes}, dtype={dtype})",
    }
)


@rows.row("embedding_bag")
def _embedding_bag(
    weight: Operand,
    indices: Operand,
    offsets: Operand,
    per_sample_weights: Operand | None = None,
    *,
    mode: str,
    include_last_offset: bool,
    padding_idx: Any,
) -> str:
    options = f"{mode!r}, {padding_idx!r}, {include_last_offset!r}"
    return f"embedding_bag({weight}, {indices}, {offsets}, {per_sample_weights}, {options})"
