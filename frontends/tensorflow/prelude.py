"""Helpers of recorded graphs written for TensorFlow: sizes, which may be unknown where a function is traced, and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ...errors import GradientRefused


def size(x: tf.Tensor, axis: int) -> Any:
    """A size: a number where it is known, a scalar where it is not."""
    known = x.shape[axis]
    return tf.shape(x)[axis] if known is None else known


def sizes(x: tf.Tensor) -> list[Any]:
    """All sizes: numbers where they are known, scalars where they are not."""
    return [size(x, axis) for axis in range(len(x.shape))]


def scalar(number: Any, dtype: tf.DType) -> tf.Tensor:
    """A number of this type; made of a size, which may be unknown."""
    return tf.cast(number, dtype) if tf.is_tensor(number) else tf.constant(number, dtype)


def dynamic_update_slice(x: tf.Tensor, update: tf.Tensor, start: Any) -> tf.Tensor:
    """``x`` with ``update`` written at ``start``, moved inside where it would end outside."""
    shape = tf.shape(update)
    first = tf.clip_by_value(tf.cast(start, "int32"), 0, tf.shape(x) - shape)
    places = [tf.range(shape[axis]) + first[axis] for axis in range(len(update.shape))]
    return tf.tensor_scatter_nd_update(x, tf.stack(tf.meshgrid(*places, indexing="ij"), axis=-1), update)


def while_loop(
    goes_on: Callable[..., tf.Tensor], body: Callable[..., tuple[tf.Tensor, ...]], state: tuple[Any, ...]
) -> tuple[tf.Tensor, ...]:
    """``state = body(*state)`` while ``goes_on(*state)``; what is carried keeps its shape."""
    start = tuple(tf.convert_to_tensor(array) for array in state)
    return tuple(tf.while_loop(goes_on, lambda *old: keep_shapes(body(*old), old), start))


def keep_shapes(new: tuple[tf.Tensor, ...], old: tuple[tf.Tensor, ...]) -> tuple[tf.Tensor, ...]:
    """The new arrays, with what is known of the shapes of the old ones."""
    return tuple(array if array.shape == known.shape else tf.ensure_shape(array, known.shape) for array, known in zip(new, old))


def scan(
    body: Callable[..., tuple[tuple[tf.Tensor, ...], tuple[tf.Tensor, ...]]],
    state: tuple[Any, ...],
    sequences: tuple[tf.Tensor, ...],
    length: Any,
    specs: tuple[tuple[Any, tf.DType], ...],
) -> tuple[tuple[tf.Tensor, ...], tuple[tf.Tensor, ...]]:
    """``state, outputs = body(*state, *rows)`` for so many steps: the last state, and the outputs stacked.

    ``specs`` are shape and type of each output as they were recorded; without a step, that is the shape of its rows.
    """
    start = tuple(tf.convert_to_tensor(array) for array in state)
    if isinstance(length, int) and length == 0:
        return start, tuple(tf.zeros([0, *shape], dtype) for shape, dtype in specs)

    def step(time: tf.Tensor, old: tuple[tf.Tensor, ...], outputs: tuple[tf.TensorArray, ...]) -> tuple[Any, ...]:
        new, made = body(*old, *(sequence[time] for sequence in sequences))
        return time + 1, keep_shapes(new, old), tuple(array.write(time, item) for array, item in zip(outputs, made))

    arrays = tuple(tf.TensorArray(dtype, length) for _, dtype in specs)
    most = length if isinstance(length, int) else None
    _, last, outputs = tf.while_loop(lambda time, *_: time < length, step, (tf.constant(0), start, arrays), maximum_iterations=most)
    return tuple(last), tuple(array.stack() for array in outputs)


def refuse_gradient(array: tf.Tensor, message: str) -> tf.Tensor:
    """The array; ``GradientRefused`` where a gradient is taken of it."""

    @tf.custom_gradient
    def refused(array: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> Any:
            raise GradientRefused(message)

        return tf.identity(array), gradient

    return refused(array)
