"""Gradients by rules of the user's own."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ....errors import GradientRefused


def with_gradient(value: tf.Tensor, *pairs: tf.Tensor) -> tf.Tensor:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its slope."""

    @tf.custom_gradient
    def ruled(value: tf.Tensor, *pairs: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[Any]:
            return [None, *(part for slope in pairs[1::2] for part in (upstream * slope, None))]

        return tf.identity(value), gradient

    return ruled(value, *pairs)


def refuse_gradient(*arrays: tf.Tensor, message: str) -> tf.Tensor:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    @tf.custom_gradient
    def refused(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> Any:
            raise GradientRefused(message)

        return tf.identity(arrays[0]), gradient

    return refused(*arrays)
