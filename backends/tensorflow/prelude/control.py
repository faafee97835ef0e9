"""Loops whose steps are written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


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
    reverse: bool = False,
    checkpoint: bool = False,
) -> tuple[tuple[tf.Tensor, ...], tuple[tf.Tensor, ...]]:
    """``state, outputs = body(*state, *rows)`` for all rows of the sequences: the last state, and the outputs stacked. ``specs`` are shape and type of each output."""
    run = tf.recompute_grad(body) if checkpoint else body
    start = tuple(tf.convert_to_tensor(array) for array in state)

    def step(time: tf.Tensor, old: tuple[tf.Tensor, ...], outputs: tuple[tf.TensorArray, ...]) -> tuple[Any, ...]:
        place = length - 1 - time if reverse else time
        new, made = run(*old, *(sequence[place] for sequence in sequences))
        return time + 1, keep_shapes(new, old), tuple(array.write(place, item) for array, item in zip(outputs, made))

    if isinstance(length, int) and length == 0:  # XLA compiles the step, which takes a row
        return start, tuple(tf.zeros([0, *shape], dtype) for shape, dtype in specs)
    arrays = tuple(tf.TensorArray(dtype, length, element_shape=tf.TensorShape([static(dim) for dim in shape])) for shape, dtype in specs)
    most = length if isinstance(length, int) else None
    _, last, outputs = tf.while_loop(lambda time, *_: time < length, step, (tf.constant(0), start, arrays), maximum_iterations=most)
    return tuple(last), tuple(stacked(array, length, shape) for array, (shape, _) in zip(outputs, specs))


def stacked(array: tf.TensorArray, length: Any, shape: tuple[Any, ...]) -> tf.Tensor:
    """The elements of an array along a new first axis; of none too, where sizes are not known before the call."""
    if tf.executing_eagerly():
        return tf.reshape(array.stack(), [length, *shape])
    sizes = tf.convert_to_tensor(list(shape), tf.int32)
    made = tf.raw_ops.TensorListStack(input_handle=array.flow, element_shape=sizes, element_dtype=array.dtype)
    return tf.reshape(made, [length, *shape])


def static(dim: Any) -> int | None:
    """A size where it is known while TensorFlow traces, else None."""
    return dim if isinstance(dim, int) else None
