"""Activation functions that ``tf.nn`` lacks, or whose gradients differ there from those of torch."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .creation import scalar


def hard_tanh(x: tf.Tensor, minimum: float, maximum: float) -> tf.Tensor:
    """``x`` limited to [minimum, maximum]; no gradient at the limits."""
    low, high = tf.constant(minimum, x.dtype), tf.constant(maximum, x.dtype)
    return tf.where(x <= low, low, tf.where(x >= high, high, x))


def threshold(x: tf.Tensor, limit: Any, value: Any) -> tf.Tensor:
    """``value`` where ``x <= limit``, ``x`` elsewhere."""
    return tf.where(x <= scalar(limit, x.dtype), scalar(value, x.dtype), x)


def elu(x: tf.Tensor, alpha: float) -> tf.Tensor:
    """``x`` above 0, ``alpha * expm1(x)`` elsewhere."""
    return tf.where(x > 0, x, alpha * tf.math.expm1(tf.where(x > 0, tf.zeros_like(x), x)))


def celu(x: tf.Tensor, alpha: float) -> tf.Tensor:
    """``x`` above 0, ``alpha * expm1(x / alpha)`` elsewhere."""
    return tf.where(x > 0, x, alpha * tf.math.expm1(tf.where(x > 0, tf.zeros_like(x), x) / alpha))


def gelu(x: tf.Tensor, *, approximate: bool) -> tf.Tensor:
    """``x`` times the normal distribution function of ``x``; ``approximate`` takes tanh for it."""
    if approximate:
        return x / 2 * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x / 2 * tf.math.erfc(-math.sqrt(0.5) * x)


def softplus(x: tf.Tensor, beta: float, threshold: float) -> tf.Tensor:
    """``log1p(exp(beta * x)) / beta``, and ``x`` itself where ``beta * x`` is above the threshold."""
    return tf.where(x * beta > threshold, x, tf.nn.softplus(x * beta) / beta)


def soft_shrink(x: tf.Tensor, threshold: float) -> tf.Tensor:
    """``x`` moved towards 0 by ``threshold``; NaN stays NaN."""
    return tf.where(x > threshold, x - threshold, tf.where(x < -threshold, x + threshold, x * 0))


def glu(x: tf.Tensor, axis: int) -> tf.Tensor:
    """The first half along ``axis`` times the sigmoid of the second."""
    value, gate = tf.split(x, 2, axis)
    return value * tf.sigmoid(gate)
