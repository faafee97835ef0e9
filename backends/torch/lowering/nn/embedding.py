"""Look-up in tables of vectors in torch."""

from __future__ import annotations

from typing import Any

from ....calls import call, unless
from ....rows import Operand
from ..table import rows
from ..texts import index


@rows.row("embedding")
def _embedding(weight: Operand, indices: Operand, *, padding_idx: int | None) -> str:
    return call("F.embedding", indices if indices.dtype == "int32" else index(indices), weight, padding_idx=padding_idx)


@rows.row("one_hot")
def _one_hot(indices: Operand, *, num_classes: Any, dtype: str) -> str:
    """Not ``F.one_hot``, which raises where an index is no class."""
    return f"({indices}[..., None] == torch.arange({num_classes!r}, device={indices}.device)).to({dtype})"


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
    options = {"mode": unless(mode, "mean"), "per_sample_weights": per_sample_weights, "include_last_offset": include_last_offset or None}
    return call("F.embedding_bag", indices, weight, offsets, **options, padding_idx=padding_idx)
