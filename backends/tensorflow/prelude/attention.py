"""Attention."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .creation import size, sizes


def scaled_dot_product_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    mask: tf.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> tf.Tensor:
    """``softmax(query @ key.T * scale + mask) @ value``; a row without any kept score gives 0."""
    return attention_weights(query, key, mask, is_causal=is_causal, scale=scale) @ value


def attention_weights(
    query: tf.Tensor, key: tf.Tensor, mask: tf.Tensor | None = None, *, is_causal: bool = False, scale: Any = None
) -> tf.Tensor:
    """``softmax(query @ key.T * scale + mask)``."""
    if scale is None:
        scale = 1 / tf.sqrt(tf.cast(size(query, -1), query.dtype)) if query.shape[-1] is None else query.shape[-1] ** -0.5
    scores = tf.matmul(query * scale, key, transpose_b=True)
    if is_causal:
        kept = tf.range(size(key, -2)) <= tf.range(size(query, -2))[:, None]
        scores = tf.where(kept, scores, tf.constant(-math.inf, scores.dtype))
    return tf.nn.softmax(scores) if mask is None else masked_softmax(scores, mask)


def masked_softmax(scores: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Softmax over the last axis of the scores that a bool mask keeps, or that a float mask is added to; 0 where nothing is kept."""
    lowest = tf.constant(-math.inf, scores.dtype)
    scores = tf.where(mask, scores, lowest) if mask.dtype.is_bool else scores + mask
    peak = tf.stop_gradient(tf.reduce_max(scores, -1, keepdims=True))
    weights = tf.exp(scores - tf.where(peak == lowest, tf.zeros_like(peak), peak))
    total = tf.reduce_sum(weights, -1, keepdims=True)
    return weights / tf.where(total == 0, tf.ones_like(total), total)


def grouped_query_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    mask: tf.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> tf.Tensor:
    """Attention in which groups of consecutive query heads (axis -3) share a head of key and value."""
    heads, shared = size(query, -3), size(key, -3)
    groups = tf.reshape(query, [*sizes(query)[:-3], shared, heads // shared, *sizes(query)[-2:]])
    if mask is not None and len(mask.shape) > 2:
        split = [1, 1] if mask.shape[-3] == 1 else [shared, heads // shared]
        mask = tf.reshape(mask, [*sizes(mask)[:-3], *split, *sizes(mask)[-2:]])
    key, value = tf.expand_dims(key, -3), tf.expand_dims(value, -3)
    result = scaled_dot_product_attention(groups, key, value, mask, is_causal=is_causal, scale=scale)
    return tf.reshape(result, [*sizes(result)[:-4], heads, *sizes(result)[-2:]])
