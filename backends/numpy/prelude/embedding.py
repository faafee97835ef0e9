"""Look-up in tables of vectors."""

from __future__ import annotations

import numpy as np


def embedding(weight: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """``weight[indices]``, where numpy would count negative indices from the end."""
    if indices.size and np.min(indices) < 0:
        raise IndexError(f"index {np.min(indices)} is outside of a table of {len(weight)} rows")
    return weight[indices]


def embedding_bag(
    weight: np.ndarray,
    indices: np.ndarray,
    offsets: np.ndarray,
    per_sample_weights: np.ndarray | None,
    mode: str,
    padding_idx: int | None,
    include_last_offset: bool,
) -> np.ndarray:
    """Sum, mean or max of the rows of each bag; bag ``i`` is ``indices[offsets[i]:offsets[i + 1]]``."""
    starts = offsets[:-1] if include_last_offset else offsets
    bag = np.searchsorted(starts, np.arange(len(indices)), side="right") - 1
    kept = np.arange(len(indices)) < (offsets[-1] if include_last_offset else len(indices))
    if padding_idx is not None:
        kept &= indices != padding_idx
    bag, rows = bag[kept], embedding(weight, indices[kept])
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[kept, None]
    result = np.full((len(starts), weight.shape[1]), -np.inf if mode == "max" else 0, weight.dtype)
    if mode == "max":
        np.maximum.at(result, bag, rows)
    else:
        np.add.at(result, bag, rows)
    count = np.bincount(bag, minlength=len(starts))[:, None]
    if mode == "max":
        return np.where(count == 0, 0, result)
    return result if mode == "sum" else result / np.maximum(count, 1).astype(weight.dtype)
