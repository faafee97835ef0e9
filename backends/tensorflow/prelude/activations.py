"""Activation functions that ``tf.nn`` lacks, or whose gradients differ there from those of torch."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .creation import scalar
from .gradients import with_slopes


def hard_tanh(x: tf.Tensor, minimum: float, maximum: float) -> tf.Tensor:
    """``x`` limited to [minimum, maximum]; no gradient at the limits."""
    low, high = tf.constant(minimum, x.dtype), tf.constant(maximum, x.dtype)
    return tf.where(x <= low, low, tf.where(x >= high, high, x))


def threshold(x: tf.Tensor, limit: Any, value: Any) -> tf.Tensor:
    """``value`` where ``x <= limit``, ``x`` elsewhere."""
    return tf.where(x <= scalar(limit, x.dtype), scalar(value, x.dtype), x)


def slope_of_exponential(x: tf.Tensor, at_zero: float, rate: float = 1.0) -> tf.Tensor:
    """1 above 0, ``at_zero * exp(rate * x)`` elsewhere; it has slope 0 at 0."""
    below = at_zero * tf.exp(rate * tf.where(x < 0, x, tf.zeros_like(x)))
    return tf.where(x > 0, tf.ones_like(x), below)


def elu(x: tf.Tensor, alpha: float) -> tf.Tensor:
    """``x`` above 0, ``alpha * expm1(x)`` elsewhere; its second derivative at 0 is 0."""

    def value(x: tf.Tensor) -> tf.Tensor:
        return tf.where(x > 0, x, alpha * tf.math.expm1(tf.where(x > 0, tf.zeros_like(x), x)))

    return with_slopes(value, [lambda x: slope_of_exponential(x, alpha)], x)


def selu(x: tf.Tensor) -> tf.Tensor:
    """``1.05 * elu(x, 1.67)``, the constants of self-normalising networks; the slope at 0 is that of the left side."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return with_slopes(tf.nn.selu, [lambda x: scale * slope_of_exponential(x, alpha)], x)


def soft_sign(x: tf.Tensor) -> tf.Tensor:
    """``x / (1 + abs(x))``, with derivatives of all orders."""
    return with_slopes(tf.nn.softsign, [lambda x: 1 / tf.square(1 + tf.abs(x))], x)


def celu(x: tf.Tensor, alpha: float) -> tf.Tensor:
    """``x`` above 0, ``alpha * expm1(x / alpha)`` elsewhere; its second derivative at 0 is 0."""

    def value(x: tf.Tensor) -> tf.Tensor:
        return tf.where(x > 0, x, alpha * tf.math.expm1(tf.where(x > 0, tf.zeros_like(x), x) / alpha))

    return with_slopes(value, [lambda x: slope_of_exponential(x, 1.0, 1 / alpha)], x)


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
