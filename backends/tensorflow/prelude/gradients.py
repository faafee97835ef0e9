"""Derivatives that are given: by rules of the user's own, and of functions whose derivative in TensorFlow is another at some points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ....errors import GradientRefused


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.custom_gradient`` whose rule reads arrays of the graph that it is called in: of a branch in a loop, those of the loop are out of
    its reach."""
    ruled: Callable[..., Any] = tf.custom_gradient(function)
    return ruled if tf.executing_eagerly() else lambda *arrays: ruled(*map(tf.identity, arrays))


def with_gradient(value: tf.Tensor, *pairs: tf.Tensor) -> tf.Tensor:
    """``value``; ``pairs`` are sources and slopes: the gradient of a source is that of the value times its slope."""

    @custom_gradient
    def ruled(value: tf.Tensor, *pairs: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[Any]:
            return [None, *(part for slope in pairs[1::2] for part in (upstream * slope, None))]

        return tf.identity(value), gradient

    return ruled(value, *pairs)


def with_slopes(function: Callable[..., tf.Tensor], slopes: Sequence[Callable[..., tf.Tensor]], *arrays: tf.Tensor) -> tf.Tensor:
    """``function(*arrays)``, element by element; its derivative by each array is what the slope of that number gives for the same
    arrays."""

    @custom_gradient
    def sloped(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[tf.Tensor]:
            return [summed_to(upstream * slope(*arrays), array) for slope, array in zip(slopes, arrays)]

        return function(*arrays), gradient

    return sloped(*arrays)


def summed_to(gradient: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """The gradient of a broadcast array as that of ``x`` itself."""
    if x.shape.is_fully_defined() and gradient.shape == x.shape:
        return gradient
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(x), s1=tf.shape(gradient))
    return tf.reshape(tf.reduce_sum(gradient, axes), tf.shape(x))


def refuse_gradient(*arrays: tf.Tensor, message: str) -> tf.Tensor:
    """The first array; ``GradientRefused`` where a gradient is taken of it."""

    @custom_gradient
    def refused(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> Any:
            raise GradientRefused(message)

        return tf.identity(arrays[0]), gradient

    return refused(*arrays)


def strong_zero(function: Callable[..., tf.Tensor], *arrays: tf.Tensor) -> tf.Tensor:
    """``function(*arrays)``, element by element; a tangent or cotangent that is zero stays zero, whatever the slope is."""

    @custom_gradient
    def ruled(*arrays: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> list[Any]:
            has = [array.dtype.is_floating or array.dtype.is_complex for array in arrays]
            slopes = (tf.math.conj(slope_of(function, place, arrays)) if one else None for place, one in enumerate(has))
            return [None if slope is None else strong_product(upstream, slope) for slope in slopes]

        return function(*unwatched(*arrays)), gradient

    return ruled(*arrays)


def slope_of(function: Callable[..., tf.Tensor], place: int, arrays: Sequence[tf.Tensor]) -> tf.Tensor:
    """The derivative of a function, element by element, by the array at a place; itself one that keeps zeros.

    It is a graph of TensorFlow, made once for each function: forward mode looks into no tape, and takes it for constant.
    """
    slopes = vars(function).setdefault("slopes", {})
    if place not in slopes:

        @tf.function(autograph=False)
        def slope_graph(*arrays: tf.Tensor) -> tf.Tensor:
            result = function(*arrays)
            found = tf.gradients(result, arrays[place], tf.ones_like(result), unconnected_gradients=tf.UnconnectedGradients.ZERO)
            return tf.math.conj(found[0])

        def slope(*arrays: tf.Tensor) -> tf.Tensor:
            return slope_graph(*arrays)

        slopes[place] = slope
    return strong_zero(slopes[place], *arrays)


def strong_product(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """``x * y``, and 0 where one of them is 0, whatever the other is; so are its derivatives."""

    @custom_gradient
    def product(x: tf.Tensor, y: tf.Tensor) -> Any:
        a, b = unwatched(x, y)
        made = tf.where((a == 0) | (b == 0), tf.zeros([], a.dtype), a * b)
        return made, lambda upstream: [strong_product(upstream, tf.math.conj(y)), strong_product(upstream, tf.math.conj(x))]

    return product(x, y)


def unwatched(*arrays: tf.Tensor) -> list[tf.Tensor]:
    """Arrays for what a function with a gradient of its own computes: eagerly forward mode would go by that, and tapes would keep it. While
    a graph is traced forward mode sees no gradients of functions, and goes by what they compute."""
    return [tf.stop_gradient(array) for array in arrays] if tf.executing_eagerly() else list(arrays)
