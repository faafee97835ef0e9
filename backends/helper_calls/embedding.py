"""Embeddings."""

from __future__ import annotations

from typing import Any

from ..rows import Operand
from .table import rows


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
