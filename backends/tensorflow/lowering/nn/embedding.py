"""Embeddings in TensorFlow. ``tf.gather`` on a CPU raises for an index that is too large, as torch does."""

from __future__ import annotations

from typing import Any

from ....rows import Operand
from ..table import rows


@rows.row("embedding")
def _embedding(weight: Operand, indices: Operand, *, padding_idx: int | None) -> str:
    return f"tf.gather({weight}, {indices})" if padding_idx is None else f"padded_embedding({weight}, {indices}, {padding_idx})"


@rows.row("one_hot")
def _one_hot(indices: Operand, *, num_classes: Any, dtype: str, out: Any) -> str:
    """``tf.one_hot``, which wants to be told what is on and what is off where these are no numbers."""
    if out[0].dtype == "bool":
        return f"tf.one_hot({indices}, {num_classes!r}, True, False, dtype={dtype})"
    return f"tf.one_hot({indices}, {num_classes!r}, dtype={dtype})"
