"""Windows, strides, padding and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from .creation import size, sizes
from .indexing import moved_axis


def sliding_window(x: tf.Tensor, axis: int, size: Any, step: Any = 1) -> tf.Tensor:
    """All windows of ``size`` elements along ``axis``, every ``step`` elements; the elements of a window become the last axis."""
    if len(x.shape) == 0:
        return tf.broadcast_to(x, [size])
    starts = tf.range(0, tf.shape(x)[axis] - size + 1, step)
    return moved_axis(tf.gather(x, starts[:, None] + tf.range(size), axis=axis), axis + 1, -1)


def as_strided(x: tf.Tensor, shape: Sequence[Any], strides: Sequence[Any], offset: Any = 0) -> tf.Tensor:
    """Element ``i, j, ..`` of the result is element ``offset + i * strides[0] + j * strides[1] + ..`` of the flattened ``x``."""
    positions = tf.fill([1] * len(shape), offset)
    for axis, (count, stride) in enumerate(zip(shape, strides)):
        positions = positions + tf.reshape(tf.range(count) * stride, [-1] + [1] * (len(shape) - axis - 1))
    return tf.gather(tf.reshape(x, [-1]), positions)


def bitcast(x: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """The bytes of ``x`` read as another type; where the types differ in size, so does the last axis."""
    x = tf.cast(x, tf.uint8) if x.dtype.is_bool else x
    have, want = x.dtype.size, (tf.uint8 if dtype.is_bool else dtype).size
    if want > have:
        x = tf.reshape(x, [*sizes(x)[:-1], size(x, -1) * have // want, want // have])
    result = tf.bitcast(x, tf.uint8 if dtype.is_bool else dtype)
    if want < have:
        result = tf.reshape(result, [*sizes(x)[:-1], size(x, -1) * (have // want)])
    return result != 0 if dtype.is_bool else result


def resized(x: tf.Tensor, padding: Sequence[Sequence[Any]], value: Any = None) -> tf.Tensor:
    """``tf.pad`` where negative amounts cut elements off."""
    amounts = tf.convert_to_tensor(padding)
    cut = tf.maximum(-amounts, 0)
    x = tf.slice(x, cut[:, 0], tf.shape(x) - cut[:, 0] - cut[:, 1])
    return tf.pad(x, tf.maximum(amounts, 0), constant_values=tf.zeros([], x.dtype) if value is None else value)


def pad_with_elements(x: tf.Tensor, padding: Sequence[Sequence[Any]], *, mode: str) -> tf.Tensor:
    """``x`` padded with its own elements: reflected at its ends, the last ones ("edge"), or those of the other end ("wrap")."""
    for axis, (before, after) in enumerate(padding):
        if isinstance(before, int) and isinstance(after, int) and before == after == 0:
            continue
        count = size(x, axis)
        places = tf.range(-before, count + after)
        if mode == "reflect":
            places = tf.abs(places)
            places = tf.where(places < count, places, 2 * (count - 1) - places)
        elif mode == "edge":
            places = tf.clip_by_value(places, 0, count - 1)
        else:
            first, last = tf.maximum(-before, 0), count - tf.maximum(-after, 0)
            places = first + (places - first) % (last - first)
        x = tf.gather(x, places, axis=axis)
    return x
