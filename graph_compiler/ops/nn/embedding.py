"""Look-up in tables of vectors."""

from __future__ import annotations

from typing import Any

from ...sizes import Dim
from ..registry import ArraySpec, declare, decomposition
from ..rules import dtype_of

_SECTION = "embedding"


@declare(_SECTION)
def embedding(weight: ArraySpec, indices: ArraySpec, /, *, padding_idx: int | None = None) -> ArraySpec:
    """Rows ``indices`` of ``weight`` [rows, width]. Indices lie in [0, rows): sources raise for others, a target may give NaN.

    The row ``padding_idx`` is taken as any other, but no gradient reaches it.
    """
    return ArraySpec(indices.shape + weight.shape[1:], weight.dtype)


@decomposition("embedding")
def _embedding(b: Any, weight: Any, indices: Any, *, padding_idx: int | None) -> Any:
    found = b.take(weight, indices, axis=0)
    if padding_idx is None:
        return found
    is_padding = b.reshape(b.equal(indices, padding_idx), shape=(*indices.shape, *(1,) * (weight.ndim - 1)))
    return b.where(is_padding, b.stop_gradient(found), found)


@declare(_SECTION)
def one_hot(indices: ArraySpec, /, *, num_classes: Dim, dtype: str) -> ArraySpec:
    """1 at position ``indices`` of a new last axis of length ``num_classes``, 0 elsewhere."""
    return ArraySpec((*indices.shape, num_classes), dtype)


@declare(_SECTION)
def embedding_bag(
    weight: ArraySpec,
    indices: ArraySpec,
    offsets: ArraySpec,
    per_sample_weights: ArraySpec | None = None,
    /,
    *,
    mode: str = "mean",
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> ArraySpec:
    """Sum, mean or max of the rows of ``weight`` that each bag names; bag ``i`` is ``indices[offsets[i]:offsets[i + 1]]``.

    Rows equal to ``padding_idx`` count in no bag; an empty bag is 0.
    """
    bags = offsets.shape[0] - 1 if include_last_offset else offsets.shape[0]
    return ArraySpec((bags, weight.shape[1]), dtype_of(weight, per_sample_weights))
