"""Normalisation layers. Half precision is computed in float32."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .creation import sizes
from .statistical import vector_norm


def widened(x: tf.Tensor) -> tf.Tensor:
    """``x``, half precision as float32."""
    return tf.cast(x, tf.float32) if x.dtype in (tf.float16, tf.bfloat16) else x


def over_channels(vector: tf.Tensor, ndim: int, axis: int = 1) -> tf.Tensor:
    """A vector shaped to be broadcast over ``axis`` of ``ndim``, half precision as float32."""
    vector = widened(vector)
    return vector if axis == ndim - 1 else tf.reshape(vector, [-1 if i == axis else 1 for i in range(ndim)])


def standardised(x: tf.Tensor, axis: Any, epsilon: float) -> tf.Tensor:
    """``(x - mean) / sqrt(variance + epsilon)`` over ``axis``."""
    centred = x - tf.reduce_mean(x, axis, keepdims=True)
    return centred * tf.math.rsqrt(tf.reduce_mean(tf.square(centred), axis, keepdims=True) + epsilon)


def affine_over(x: tf.Tensor, weight: tf.Tensor | None, bias: tf.Tensor | None) -> tf.Tensor:
    """``x * weight + bias``, each as far as there is one; in the type of ``x``."""
    x = x if weight is None else x * tf.cast(weight, x.dtype)
    return x if bias is None else x + tf.cast(bias, x.dtype)


def batch_norm(
    x: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    weight: tf.Tensor | None = None,
    bias: tf.Tensor | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> tf.Tensor:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with vectors over ``axis``."""
    rank, wide = len(x.shape), widened(x)
    scale = tf.math.rsqrt(tf.cast(variance, wide.dtype) + epsilon)
    if weight is not None:
        scale = scale * tf.cast(weight, wide.dtype)
    shift = -tf.cast(mean, wide.dtype) * scale
    if bias is not None:
        shift = shift + tf.cast(bias, wide.dtype)
    return tf.cast(wide * over_channels(scale, rank, axis) + over_channels(shift, rank, axis), x.dtype)


def layer_norm(
    x: tf.Tensor, weight: tf.Tensor | None = None, bias: tf.Tensor | None = None, *, axis: Any = -1, epsilon: float
) -> tf.Tensor:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with mean and variance over ``axis``."""
    return tf.cast(affine_over(standardised(widened(x), axis, epsilon), weight, bias), x.dtype)


def rms_norm(x: tf.Tensor, weight: tf.Tensor | None = None, *, axis: Any = -1, epsilon: float) -> tf.Tensor:
    """``x / sqrt(mean(x ** 2) + epsilon) * weight`` with the mean over ``axis``."""
    wide = widened(x)
    result = wide * tf.math.rsqrt(tf.reduce_mean(tf.square(wide), axis, keepdims=True) + epsilon)
    return tf.cast(affine_over(result, weight, None), x.dtype)


def group_norm(
    x: tf.Tensor, weight: tf.Tensor | None = None, bias: tf.Tensor | None = None, *, axis: int = 1, groups: int, epsilon: float
) -> tf.Tensor:
    """Normalises each of ``groups`` groups of channels, which stand in ``axis``, with all axes but the first."""
    shape, rank = sizes(x), len(x.shape)
    grouped = tf.reshape(widened(x), [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]])
    result = tf.reshape(standardised(grouped, [place for place in range(1, rank + 1) if place != axis], epsilon), shape)
    weight, bias = (None if vector is None else over_channels(vector, rank, axis) for vector in (weight, bias))
    return tf.cast(affine_over(result, weight, bias), x.dtype)


def instance_norm(
    x: tf.Tensor, weight: tf.Tensor | None = None, bias: tf.Tensor | None = None, *, axis: int = 1, epsilon: float
) -> tf.Tensor:
    """Normalises each channel of each sample over the axes of space."""
    rank = len(x.shape)
    weight, bias = (None if vector is None else over_channels(vector, rank, axis) for vector in (weight, bias))
    result = standardised(widened(x), [place for place in range(1, rank) if place != axis], epsilon)
    return tf.cast(affine_over(result, weight, bias), x.dtype)


def local_response_norm(x: tf.Tensor, *, size: int, alpha: float, beta: float, k: float) -> tf.Tensor:
    """``x / (k + alpha * mean of x ** 2 over size neighbouring channels) ** beta``."""
    wide = widened(x)
    squares = tf.pad(tf.square(wide), [[0, 0], [size // 2, (size - 1) // 2]] + [[0, 0]] * (len(x.shape) - 2))
    channels = sizes(x)[1]
    total = tf.add_n([squares[:, place : place + channels] for place in range(size)])
    return tf.cast(wide / tf.pow(k + total * (alpha / size), beta), x.dtype)


def normalize(x: tf.Tensor, *, ord: float = 2, axis: Any, epsilon: float) -> tf.Tensor:
    """``x / max(norm, epsilon)`` with the ``ord``-norm over ``axis``; zeros have a gradient of 0 in the norm."""
    wide = widened(x)
    norm = tf.maximum(vector_norm(wide, axis=axis, ord=ord, keepdims=True), epsilon)
    return tf.cast(wide / tf.cast(norm, wide.dtype), x.dtype)
