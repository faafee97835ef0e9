"""Order, search and sets. TensorFlow sorts through ``tf.math.top_k``, which keeps the order of equal elements and leaves NaN open."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .creation import size, sizes
from .indexing import moved_axis, take_along_axis


def order_key(x: tf.Tensor) -> tf.Tensor:
    """Integers in the order of ``x``, with NaN as the largest number and -0.0 equal to 0.0."""
    if not x.dtype.is_floating:
        return tf.cast(x, tf.int32) if x.dtype.is_bool else x
    kind = tf.int64 if x.dtype.size == 8 else tf.int32
    wide = tf.stop_gradient(x if x.dtype.size > 2 else tf.cast(x, tf.float32))
    bits = tf.bitcast(wide + 0, kind)
    key = tf.where(bits < 0, bits ^ kind.max, bits)
    return tf.where(tf.math.is_nan(wide), tf.constant(kind.max, kind), key)


def argsort(x: tf.Tensor, *, axis: int = -1, descending: bool = False) -> tf.Tensor:
    """The indices that sort ``x`` along ``axis``; equal elements keep their order, NaN counts as the largest."""
    if len(x.shape) == 0:
        return tf.zeros_like(x, tf.int64)
    order = tf.argsort(order_key(x), axis=axis, direction="DESCENDING" if descending else "ASCENDING", stable=True)
    return tf.cast(order, tf.int64)


def sort_with_indices(x: tf.Tensor, *, axis: int = -1, descending: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """The elements in order along ``axis``, and where they were."""
    order = argsort(x, axis=axis, descending=descending)
    return (x, order) if len(x.shape) == 0 else (take_along_axis(x, order, axis), order)


def top_k(x: tf.Tensor, *, k: Any, axis: int = -1, largest: bool = True) -> tuple[tf.Tensor, tf.Tensor]:
    """The ``k`` largest or smallest elements along ``axis`` in order, and where they were."""
    if len(x.shape) == 0:
        return x, tf.zeros_like(x, tf.int64)
    if largest:
        found = tf.math.top_k(moved_axis(order_key(x), axis, -1), k).indices  # int32, which TFLite has too
        order = moved_axis(tf.cast(found, tf.int64), -1, axis)
    else:
        order = argsort(x, axis=axis)
        order = tf.gather(order, tf.range(k), axis=axis)
    return take_along_axis(x, order, axis), order


def kth_value(x: tf.Tensor, *, k: Any, axis: int = -1, keepdims: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """The ``k``-th smallest element along ``axis``, counted from 1, and where it was."""
    if len(x.shape) == 0:
        return x, tf.zeros_like(x, tf.int64)
    values, order = sort_with_indices(x, axis=axis)
    places = [k - 1] if keepdims else k - 1
    return tf.gather(values, places, axis=axis), tf.gather(order, places, axis=axis)


def place_of_extreme(function: Callable[..., tf.Tensor], x: tf.Tensor, axis: int | None, keepdims: bool = False) -> tf.Tensor:
    """``tf.argmax`` or ``tf.argmin``; the first NaN wins, and without ``axis`` the place is that in the flattened array."""
    rank = len(x.shape)
    flat = tf.reshape(x, [-1]) if axis is None else x
    nan = tf.math.is_nan(flat) if x.dtype.is_floating else None
    if x.dtype.is_bool or x.dtype in (tf.uint64, tf.uint32):
        flat = tf.cast(flat, tf.int32 if x.dtype.is_bool else tf.float64)
    axis = 0 if axis is None else axis
    place = function(flat, axis)
    if nan is not None:
        place = tf.where(tf.reduce_any(nan, axis), tf.argmax(tf.cast(nan, tf.int32), axis), place)
    if not keepdims:
        return place
    return (
        tf.expand_dims(place, axis)
        if len(place.shape) == rank - 1 and rank > 0 and len(flat.shape) == rank
        else tf.reshape(place, [1] * rank)
    )


def argwhere(x: tf.Tensor, count: Any, fill_value: int) -> tf.Tensor:
    """The indices of what is not zero: ``count`` rows, cut or filled."""
    if len(x.shape) == 0:
        return tf.zeros([count, 0], tf.int64)
    found = tf.where(x)[:count]
    return tf.pad(found, [[0, count - tf.shape(found)[0]], [0, 0]], constant_values=tf.constant(fill_value, tf.int64))


def isin(x1: tf.Tensor, x2: tf.Tensor, *, invert: bool = False) -> tf.Tensor:
    """Whether each element of ``x1`` is among those of ``x2``."""
    found = tf.reduce_any(tf.expand_dims(x1, -1) == tf.reshape(x2, [-1]), axis=-1)
    return ~found if invert else found


def searchsorted(x1: tf.Tensor, x2: tf.Tensor, sorter: tf.Tensor | None = None, *, side: str = "left") -> tf.Tensor:
    """Where to insert ``x2`` into the sorted last axis of ``x1``, row by row where both have rows."""
    if sorter is not None:
        x1 = take_along_axis(x1, sorter, -1)
    x1, x2 = order_key(x1), order_key(x2)
    x1, x2 = (tf.cast(x, tf.int64) if x.dtype.size < 4 else x for x in (x1, x2))
    rows = math.prod(sizes(x1)[:-1])
    wanted = tf.reshape(x2, [1, -1] if len(x1.shape) == 1 else [rows, size(x2, -1)])
    found = tf.searchsorted(tf.reshape(x1, [rows, size(x1, -1)]), wanted, side=side, out_type=tf.int64)
    return tf.reshape(found, sizes(x2))


def row_order(rows: tf.Tensor) -> tf.Tensor:
    """The indices that sort the rows of a matrix by their first element, then the second, and so on."""
    order = tf.range(tf.shape(rows)[0], dtype=tf.int64)
    for column in tf.reverse(tf.transpose(rows), [0]):
        order = tf.gather(order, argsort(tf.gather(column, order)))
    return order


def unique_all(x: tf.Tensor, *, axis: int | None = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """The sorted unique elements (or slices along ``axis``), where each comes first, where it is in the result, and how often it comes."""
    slices = tf.reshape(x, [-1]) if axis is None else moved_axis(x, axis, 0)
    rows = order_key(tf.reshape(slices, [tf.shape(slices)[0], -1]))
    order = argsort(rows[:, 0]) if axis is None else row_order(rows)
    values, run, counts = unique_consecutive(tf.gather(slices, order), axis=0)
    first = tf.gather(order, tf.cumsum(counts, exclusive=True))
    inverse = tf.scatter_nd(order[:, None], run, tf.shape(order, tf.int64))
    if axis is None:
        return values, first, tf.reshape(inverse, sizes(x)), counts
    return moved_axis(values, 0, axis), first, inverse, counts


def unique_consecutive(x: tf.Tensor, *, axis: int | None = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The first of each run of equal elements (or slices along ``axis``), the run of each element, the lengths of the runs."""
    slices = tf.reshape(x, [-1]) if axis is None else moved_axis(x, axis, 0)
    changed = tf.reduce_any(tf.reshape(slices[1:] != slices[:-1], [tf.maximum(tf.shape(slices)[0] - 1, 0), -1]), axis=1)
    first = tf.concat([tf.ones([tf.minimum(tf.shape(slices)[0], 1)], tf.bool), changed], 0)
    starts = tf.where(first)[:, 0]
    values, run = tf.gather(slices, starts), tf.cumsum(tf.cast(first, tf.int64)) - 1
    counts = tf.concat([starts[1:], [tf.shape(slices, tf.int64)[0]]], 0)[: tf.shape(starts)[0]] - starts
    return (values, tf.reshape(run, sizes(x)), counts) if axis is None else (moved_axis(values, 0, axis), run, counts)
