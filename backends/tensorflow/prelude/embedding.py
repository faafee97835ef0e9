"""Look-up in tables of vectors."""

from __future__ import annotations

import tensorflow as tf


def padded_embedding(weight: tf.Tensor, indices: tf.Tensor, padding_idx: int) -> tf.Tensor:
    """Rows of ``weight``; no gradient reaches the row ``padding_idx``."""
    rows = tf.gather(weight, indices)
    return tf.where((indices == padding_idx)[..., None], tf.stop_gradient(rows), rows)


def embedding_bag(
    weight: tf.Tensor,
    indices: tf.Tensor,
    offsets: tf.Tensor,
    per_sample_weights: tf.Tensor | None,
    mode: str,
    padding_idx: int | None,
    include_last_offset: bool,
) -> tf.Tensor:
    """Sum, mean or max of the rows of each bag; bag ``i`` is ``indices[offsets[i]:offsets[i + 1]]``."""
    starts = tf.cast(offsets[:-1] if include_last_offset else offsets, tf.int64)
    bags = tf.size(starts, tf.int64)
    place = tf.range(tf.size(indices, tf.int64))
    bag = tf.searchsorted(starts, place, side="right", out_type=tf.int64) - 1
    if include_last_offset:
        bag = tf.where(place < tf.cast(offsets[-1], tf.int64), bag, -1)
    if padding_idx is not None:
        bag = tf.where(indices == padding_idx, tf.constant(-1, tf.int64), bag)  # no such bag: dropped
    rows = tf.gather(weight, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if mode == "sum":
        return tf.math.unsorted_segment_sum(rows, bag, bags)
    count = tf.cast(tf.math.unsorted_segment_sum(tf.ones_like(bag), bag, bags), rows.dtype)[:, None]
    if mode == "max":
        largest = tf.math.unsorted_segment_max(rows, bag, bags)
        return tf.where(count == 0, tf.zeros_like(largest), largest)
    return tf.math.unsorted_segment_sum(rows, bag, bags) / tf.maximum(count, 1)
