"""Random numbers that ``tf.random`` has no one stateless call for."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .creation import sizes
from .indexing import moved_axis
from .searching import argsort


def dropout(key: tf.Tensor, x: tf.Tensor, rate: float, shared_axes: tuple[int, ...] = ()) -> tf.Tensor:
    """``x`` with a share ``rate`` of its elements set to 0, the others scaled up; ``shared_axes`` live or die together."""
    if rate == 1:
        return tf.zeros_like(x)
    shape = [1 if axis in shared_axes else count for axis, count in enumerate(sizes(x))]
    kept = tf.random.stateless_uniform(shape, key) >= rate
    return tf.where(kept, x / (1 - rate), tf.zeros_like(x))


def random_bernoulli(key: tf.Tensor, probability: Any, shape: Any) -> tf.Tensor:
    """True with the given probability."""
    probability = tf.convert_to_tensor(probability)
    drawn = tf.random.stateless_uniform(tf.broadcast_dynamic_shape(tf.shape(probability), tf.cast(shape, tf.int32)), key, dtype=tf.float64)
    return drawn < tf.cast(probability, tf.float64)


def random_permutation(key: tf.Tensor, n: Any, dtype: tf.DType) -> tf.Tensor:
    """The integers from 0 to ``n - 1`` in random order."""
    return tf.cast(argsort(tf.random.stateless_uniform([n], key, None, None, dtype=tf.int64)), dtype)


def random_gumbel(key: tf.Tensor, shape: Any, dtype: tf.DType) -> tf.Tensor:
    """Numbers of the standard Gumbel distribution."""
    drawn = tf.random.stateless_uniform(shape, key, dtype=tf.float64)
    return tf.cast(-tf.math.log(-tf.math.log(tf.maximum(drawn, 2.0**-1022))), dtype)


def random_complex_normal(key: tf.Tensor, shape: Any, dtype: tf.DType) -> tf.Tensor:
    """Complex normal numbers of variance 1 in all."""
    parts = tf.random.stateless_normal([2, *shape], key, dtype=tf.float64 if dtype == tf.complex128 else tf.float32)
    return tf.complex(parts[0], parts[1]) * math.sqrt(0.5)


def random_binomial(key: tf.Tensor, count: tf.Tensor, probability: tf.Tensor) -> tf.Tensor:
    """How many of ``count`` trials succeed, each with ``probability``."""
    shape = tf.broadcast_dynamic_shape(tf.shape(count), tf.shape(probability))
    drawn = tf.random.stateless_binomial(shape, key, tf.cast(count, tf.float64), tf.cast(probability, tf.float64), tf.float64)
    return tf.cast(drawn, probability.dtype)


def random_categorical(key: tf.Tensor, weights: tf.Tensor, samples: Any, replacement: bool) -> tf.Tensor:
    """Indices along the last axis in proportion to ``weights``."""
    logits = tf.math.log(weights)
    shape = [samples, *sizes(weights)] if replacement else sizes(weights)
    scores = logits + random_gumbel(key, shape, weights.dtype)
    if replacement:
        return moved_axis(tf.argmax(scores, -1), 0, -1)
    return tf.math.top_k(scores, samples, index_type=tf.int64).indices


def philox(keys: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Philox-4x32 with 10 rounds: four random words for each key of two words and count of four, which stand along the last axis."""
    mask, half = tf.constant(0xFFFFFFFF, tf.uint64), tf.constant(32, tf.uint64)
    both, xor, right_shift = tf.bitwise.bitwise_and, tf.bitwise.bitwise_xor, tf.bitwise.right_shift
    first, second = tf.cast(keys[..., 0], tf.uint64), tf.cast(keys[..., 1], tf.uint64)
    words = [tf.cast(counts[..., place], tf.uint64) for place in range(4)]
    for turn in range(10):
        left, right = words[0] * tf.constant(0xD2511F53, tf.uint64), words[2] * tf.constant(0xCD9E8D57, tf.uint64)
        key = both(first + tf.constant(turn * 0x9E3779B9, tf.uint64), mask)
        other = both(second + tf.constant(turn * 0xBB67AE85, tf.uint64), mask)
        words = [
            xor(xor(right_shift(right, half), words[1] + tf.zeros_like(key)), key),
            both(right, mask),
            xor(xor(right_shift(left, half), words[3] + tf.zeros_like(other)), other),
            both(left, mask),
        ]
    shape = tf.shape(words[0] + words[1])
    return tf.cast(tf.stack([tf.broadcast_to(word, shape) for word in words], axis=-1), tf.uint32)


def threefry(keys: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Threefry-2x32 with 20 rounds: two random words for each key and count, which are words along the last axis."""
    left, right = tf.bitwise.left_shift, tf.bitwise.right_shift
    first, second = keys[..., 0], keys[..., 1]
    words = (first, second, tf.bitwise.bitwise_xor(tf.bitwise.bitwise_xor(first, second), tf.constant(0x1BD11BDA, tf.uint32)))
    x, y = counts[..., 0] + first, counts[..., 1] + second
    for turn in range(5):
        for bits in ((13, 15, 26, 6), (17, 29, 16, 24))[turn % 2]:
            x = x + y
            turned = tf.bitwise.bitwise_or(left(y, tf.constant(bits, tf.uint32)), right(y, tf.constant(32 - bits, tf.uint32)))
            y = tf.bitwise.bitwise_xor(x, turned)
        x, y = x + words[(turn + 1) % 3], y + words[(turn + 2) % 3] + tf.constant(turn + 1, tf.uint32)
    return tf.stack([x, y], axis=-1)
