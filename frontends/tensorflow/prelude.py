"""Helpers of recorded graphs written for TensorFlow: sizes, which may be unknown where a function is traced."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def size(x: tf.Tensor, axis: int) -> Any:
    """A size: a number where it is known, a scalar where it is not."""
    known = x.shape[axis]
    return tf.shape(x)[axis] if known is None else known


def sizes(x: tf.Tensor) -> list[Any]:
    """All sizes: numbers where they are known, scalars where they are not."""
    return [size(x, axis) for axis in range(len(x.shape))]
