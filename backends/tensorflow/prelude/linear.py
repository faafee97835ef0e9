"""Products of groups of rows."""

from __future__ import annotations

import tensorflow as tf

from .creation import size, sizes


def grouped_matmul(x: tf.Tensor, weight: tf.Tensor, offsets: tf.Tensor) -> tf.Tensor:
    """Rows ``offsets[g - 1]:offsets[g]`` of ``x`` times matrix ``g`` of ``weight``; rows after all of them give 0."""
    ends = tf.cast(offsets, tf.int32)

    def step(g: tf.Tensor, parts: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        start = tf.where(g == 0, 0, ends[tf.maximum(g - 1, 0)])
        return g + 1, parts.write(g, x[start : ends[g]] @ weight[g])

    groups = size(weight, 0)
    parts = tf.TensorArray(x.dtype, groups, infer_shape=False, element_shape=[None, weight.shape[2]])
    _, parts = tf.while_loop(lambda g, _: g < groups, step, (tf.constant(0), parts))
    rest = tf.zeros([size(x, 0) - ends[-1], sizes(weight)[2]], x.dtype)
    return tf.concat([parts.concat(), rest], 0)
