"""Attention."""

from __future__ import annotations

import numpy as np


def scaled_dot_product_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> np.ndarray:
    """``softmax(query @ key.T * scale + mask) @ value``; a row without any kept score gives 0."""
    return attention_weights(query, key, mask, is_causal=is_causal, scale=scale) @ value


def attention_weights(
    query: np.ndarray, key: np.ndarray, mask: np.ndarray | None = None, *, is_causal: bool = False, scale: float | None = None
) -> np.ndarray:
    """``softmax(query @ key.T * scale + mask)``."""
    scores = query * (query.shape[-1] ** -0.5 if scale is None else scale) @ key.mT
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    peak = np.max(scores, -1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(peak == -np.inf, 0, peak))
    total = np.sum(weights, -1, keepdims=True)
    return weights / np.where(total == 0, 1, total)
