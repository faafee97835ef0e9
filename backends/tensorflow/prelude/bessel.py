"""The Airy function: waves, a decay, and a series between."""

from __future__ import annotations

import math

import tensorflow as tf

from ...airy import airy_between, airy_far_right, airy_in_phase, airy_out_of_phase


def airy_ai(x: tf.Tensor) -> tf.Tensor:
    """Airy function Ai: waves below -3, a decay above 3, a series between."""
    series = airy_between(tf.clip_by_value(x, -3, 3) / 3)
    return tf.where(x < -3, airy_waves(tf.maximum(-x, 3)), tf.where(x > 3, airy_decay(tf.maximum(x, 3)), series))


def airy_decay(x: tf.Tensor) -> tf.Tensor:
    """Ai(x) for ``x`` from 3 on."""
    return airy_far_right(2 * (3 / x) ** 1.5 - 1) * tf.exp(-2 / 3 * x**1.5) / x**0.25


def airy_waves(x: tf.Tensor) -> tf.Tensor:
    """Ai(-x) for ``x`` from 3 on."""
    phase = 2 / 3 * x**1.5
    t = 24 / (phase * phase) - 1
    angle = phase + math.pi / 4
    return (airy_in_phase(t) * tf.sin(angle) - airy_out_of_phase(t) / phase * tf.cos(angle)) / x**0.25
