"""Sizes and numbers that may be unknown while a function is traced, and arrays made of them."""

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


def item(x: tf.Tensor) -> Any:
    """The only element of ``x``: a number where it is known, a scalar where it is not."""
    return x.numpy().item() if hasattr(x, "numpy") else x


def scalar(number: Any, dtype: tf.DType) -> tf.Tensor:
    """A number of this type; made of a size, which may be unknown."""
    return tf.cast(number, dtype) if tf.is_tensor(number) else tf.constant(number, dtype)


def numbers_as(data: Any, dtype: tf.DType) -> tf.Tensor:
    """Numbers in nested tuples as an array of this type; some may be made of unknown sizes."""
    if isinstance(data, tuple):
        return tf.stack([numbers_as(part, dtype) for part in data])
    return tf.cast(tf.constant(data, tf.float64) if isinstance(data, float) else data, dtype)


def cast_each(arrays: Any, dtypes: tuple[tf.DType, ...]) -> list[tf.Tensor]:
    """Each array as its type."""
    return [tf.cast(array, dtype) for array, dtype in zip(arrays, dtypes)]


def spaced(start: Any, stop: Any, step: Any, dtype: tf.DType) -> tf.Tensor:
    """``start + i * step`` up to but not including ``stop``, rounded once."""
    start, stop, step = (scalar(number, tf.float64) for number in (start, stop, step))
    count = tf.cast(tf.maximum(tf.math.ceil((stop - start) / step), 0), tf.int64)
    return tf.cast(start + tf.cast(tf.range(count), tf.float64) * step, dtype)


def linspace(start: Any, stop: Any, num: Any, dtype: tf.DType) -> tf.Tensor:
    """``num`` numbers from ``start`` to ``stop``, counted from the nearer end."""
    wide = tf.complex128 if dtype.is_complex else tf.float64
    start, stop = (tf.cast(end, wide) if tf.is_tensor(end) else tf.constant(end, wide) for end in (start, stop))
    index = tf.range(num)
    step = (stop - start) / tf.cast(tf.maximum(num - 1, 1), wide)
    near, far = start + step * tf.cast(index, wide), stop - step * tf.cast(num - 1 - index, wide)
    counted = tf.where((index < num // 2) | (tf.equal(num, 1)), near, far)
    return tf.cast(tf.cast(counted, tf.int64) if dtype.is_integer else counted, dtype)


def below_diagonal(n_rows: Any, n_cols: Any, k: Any) -> tf.Tensor:
    """Whether each element of a matrix lies on or below diagonal ``k``."""
    return tf.range(n_cols) - tf.range(n_rows)[:, None] <= k


def triangle(x: tf.Tensor, k: Any, *, upper: bool) -> tf.Tensor:
    """Matrices with zeros above diagonal ``k``, or with ``upper`` below it."""
    keeps = below_diagonal(size(x, -2), size(x, -1), k - 1 if upper else k)
    zeros = tf.zeros_like(x)
    return tf.where(keeps, zeros, x) if upper else tf.where(keeps, x, zeros)


def triangle_indices(n_rows: Any, n_cols: Any, k: Any, dtype: tf.DType, *, upper: bool) -> tf.Tensor:
    """Row and column numbers of a triangle of a matrix, row by row."""
    keeps = below_diagonal(n_rows, n_cols, k - 1 if upper else k)
    return tf.cast(tf.transpose(tf.where(tf.logical_not(keeps) if upper else keeps)), dtype)


def shifted_eye(n_rows: Any, n_cols: Any, k: Any, dtype: tf.DType) -> tf.Tensor:
    """Ones on diagonal ``k``."""
    return tf.cast(tf.equal(tf.range(n_cols) - tf.range(n_rows)[:, None], k), dtype)


def larger(a: Any, b: Any) -> Any:
    """The larger of two sizes."""
    return tf.maximum(a, b) if tf.is_tensor(a) or tf.is_tensor(b) else max(a, b)


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two sizes."""
    return tf.minimum(a, b) if tf.is_tensor(a) or tf.is_tensor(b) else min(a, b)
