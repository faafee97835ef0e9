"""Element-wise functions that TensorFlow lacks, or whose results or gradients differ there."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .control import with_slopes


def absolute(x: tf.Tensor) -> tf.Tensor:
    """Compute the absolute value, with derivative 1 at 0."""
    return with_slopes(tf.abs, [lambda x: tf.where(x >= 0, tf.ones_like(x), -tf.ones_like(x))], x)


def atan2(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute the angle of the point ``(x2, x1)``, with gradient 0 at the origin."""
    origin = (x1 == 0) & (x2 == 0)
    x1, x2 = (x if isinstance(x, float) else tf.where(origin, tf.stop_gradient(x), x) for x in (x1, x2))
    return tf.atan2(x1, x2)


def clip(x: tf.Tensor, low: Any = None, high: Any = None) -> tf.Tensor:
    """Clip ``x`` to bounds, of which None is skipped. A bound of NaN gives NaN.

    Where ``x`` equals a bound, the gradient goes to ``x``.
    """
    if low is not None:
        low = tf.convert_to_tensor(low, x.dtype)
        x = tf.where((x < low) | (low != low), low, x)
    if high is not None:
        high = tf.convert_to_tensor(high, x.dtype)
        x = tf.where((x > high) | (high != high), high, x)
    return x


def signbit(x: tf.Tensor) -> tf.Tensor:
    """Return True for each element whose sign bit is set, such as -0.0."""
    if not x.dtype.is_floating:
        return tf.zeros_like(x, tf.bool) if x.dtype.is_unsigned or x.dtype.is_bool else x < 0
    return tf.bitcast(x, {2: tf.int16, 4: tf.int32, 8: tf.int64}[x.dtype.size]) < 0


def in_one_type(x: Any, y: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Convert both arguments to tensors; a Python number takes the dtype of the other argument."""
    dtype = x.dtype if tf.is_tensor(x) else y.dtype
    return tf.convert_to_tensor(x, dtype), tf.convert_to_tensor(y, dtype)


def maximum(x1: Any, x2: Any) -> tf.Tensor:
    """Compute the maximum; at a tie each argument gets half of the gradient."""
    return with_slopes(tf.maximum, [share_above, share_below], *in_one_type(x1, x2))


def minimum(x1: Any, x2: Any) -> tf.Tensor:
    """Compute the minimum; at a tie each argument gets half of the gradient."""
    return with_slopes(tf.minimum, [share_below, share_above], *in_one_type(x1, x2))


def share_above(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Return the derivative of ``maximum(x1, x2)`` with respect to ``x1``.

    It is 0 where ``x1 < x2``, 1/2 where they are equal, and 1 otherwise, also for NaN.
    """
    return tf.where(
        x1 < x2, tf.zeros_like(x1), tf.where(tf.equal(x1, x2), tf.ones_like(x1) / 2, tf.ones_like(x1))
    )


def share_below(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Return the derivative of ``minimum(x1, x2)`` with respect to ``x1``.

    It is 0 where ``x2 < x1``, 1/2 where they are equal, and 1 otherwise, also for NaN.
    """
    return share_above(x2, x1)


def copysign(x1: tf.Tensor, x2: Any) -> tf.Tensor:
    """Return the magnitude of ``x1`` with the sign of ``x2``.

    The gradient with respect to ``x1`` is 0 where ``x1`` is 0. ``x2`` gets none.
    """
    x1 = tf.convert_to_tensor(x1)
    x2 = tf.convert_to_tensor(x2, x1.dtype)
    result = tf.where(tf.equal(signbit(x1), signbit(x2)), x1, -x1)
    return tf.where(x1 == 0, tf.stop_gradient(result), result)


def floor_divide(x1: Any, x2: Any) -> tf.Tensor:
    """Compute ``x1 // x2`` of floats from the exact remainder, without a gradient.

    If ``x2`` is 0, the result is ``x1 / x2``.
    """
    rest = tf.math.floormod(x1, x2)
    # The remainder by an infinity of the other sign is that infinity; the quotient is -1.
    infinite = tf.math.is_inf(rest)
    quotient = tf.round((x1 - tf.where(infinite, tf.zeros_like(rest), rest)) / x2)
    quotient = tf.where(infinite, -tf.ones_like(rest), quotient)
    return tf.stop_gradient(tf.where(tf.equal(x2, 0), x1 / x2, quotient))


def fmod(x1: Any, x2: Any) -> tf.Tensor:
    """Compute the remainder of ``x1 / x2`` rounded towards 0.

    Floats have the gradient of ``x1 - x2 * trunc(x1 / x2)``; ``tf.truncatemod`` has none.
    """
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    x1, x2 = tf.convert_to_tensor(x1, dtype), tf.convert_to_tensor(x2, dtype)
    if not dtype.is_floating:
        return tf.cast(tf.truncatemod(tf.cast(x1, tf.int64), tf.cast(x2, tf.int64)), x1.dtype)
    rest = tf.truncatemod(x1, x2)
    rest, formula = tf.stop_gradient(rest), x1 - x2 * tf.stop_gradient(trunc(x1 / x2))
    finite = tf.math.is_finite(formula)
    formula = tf.where(finite, formula, tf.zeros_like(rest))
    # The value is that of the remainder, and the gradient that of the formula.
    return tf.where(finite, rest + (formula - tf.stop_gradient(formula)), rest)


def hypot(x1: tf.Tensor, x2: Any) -> tf.Tensor:
    """Compute ``sqrt(x1 ** 2 + x2 ** 2)`` without overflow. The derivative is ``x1 / hypot(x1, x2)``."""
    return with_slopes(
        length_of, [lambda x, y: x / hypot(x, y), lambda x, y: y / hypot(x, y)], *in_one_type(x1, x2)
    )


def length_of(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute ``sqrt(x1 ** 2 + x2 ** 2)``, scaled by the larger argument.

    The result is inf if an argument is infinite.
    """
    x1, x2 = tf.abs(x1), tf.abs(x2)
    large, small = tf.maximum(x1, x2), tf.minimum(x1, x2)
    safe = tf.where((large == 0) | tf.math.is_inf(large), tf.ones_like(large), large)
    length = tf.where(large == 0, x1 + x2, large * tf.sqrt(1 + tf.square(small / safe)))
    return tf.where(tf.math.is_inf(x1) | tf.math.is_inf(x2), tf.constant(math.inf, length.dtype), length)


def integer_power(x1: Any, x2: Any) -> tf.Tensor:
    """Compute ``x1 ** x2`` of integers, which wraps around.

    A negative exponent gives 0 unless the base is 1 or -1.
    """
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    wide = tf.uint64 if dtype == tf.uint64 else tf.int64
    base, exponent = (tf.cast(x, tf.int64) if tf.is_tensor(x) else tf.constant(x, tf.int64) for x in (x1, x2))
    inverse = tf.where(
        base == 1, tf.ones_like(base), tf.where(base == -1, 1 - 2 * (exponent & 1), tf.zeros_like(base))
    )
    # TensorFlow raises an error for negative exponents of integers.
    power = tf.where(exponent < 0, inverse, tf.pow(base, tf.maximum(exponent, 0)))
    return tf.cast(tf.cast(power, wide), dtype)


def left_shift(x1: Any, x2: Any) -> tf.Tensor:
    """Shift the bits of ``x1`` left; a count outside the width of the dtype gives 0."""
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    x1, x2 = tf.convert_to_tensor(x1, dtype), tf.convert_to_tensor(x2, dtype)
    # TensorFlow leaves the result for such a count to the implementation.
    gone = (x2 < 0) | (x2 >= dtype.size * 8)
    return tf.where(gone, tf.zeros_like(x1), tf.bitwise.left_shift(x1, tf.where(gone, tf.zeros_like(x2), x2)))


def right_shift(x1: Any, x2: Any) -> tf.Tensor:
    """Shift the bits of ``x1`` right. The sign is copied into the free bits.

    A count outside the width of the dtype gives 0 for unsigned integers, otherwise only copies of the
    sign.
    """
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    x1, x2 = tf.convert_to_tensor(x1, dtype), tf.convert_to_tensor(x2, dtype)
    most = tf.constant(dtype.size * 8 - 1, dtype)
    moved = tf.bitwise.right_shift(x1, tf.where((x2 < 0) | (x2 > most), most, x2))
    return tf.where(x2 > most, tf.zeros_like(x1), moved) if dtype.is_unsigned else moved


def log_to_base(x: tf.Tensor, base: int) -> tf.Tensor:
    """Compute the logarithm to ``base``. For real ``x`` it is exact at integer powers of ``base``."""
    quotient = tf.math.log(x) / math.log(base)
    if x.dtype.is_complex:
        return quotient
    whole = tf.round(quotient)
    exact = tf.math.is_finite(whole) & (tf.pow(tf.constant(base, x.dtype), whole) == x)
    return quotient + tf.stop_gradient(tf.where(exact, whole - quotient, tf.zeros_like(x)))


def logaddexp(x1: tf.Tensor, x2: Any) -> tf.Tensor:
    """Compute ``log(exp(x1) + exp(x2))`` without overflow.

    The derivatives are sigmoids of the difference, which are NaN if both arguments are the same infinity.
    """

    def value(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(y))
        return tf.reduce_logsumexp(tf.stack([tf.broadcast_to(x, shape), tf.broadcast_to(y, shape)]), axis=0)

    return with_slopes(
        value, [lambda x, y: tf.sigmoid(x - y), lambda x, y: tf.sigmoid(y - x)], *in_one_type(x1, x2)
    )


def nextafter(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Return the next representable number after ``x1`` towards ``x2``."""
    x1 = tf.convert_to_tensor(x1)
    x2 = tf.convert_to_tensor(x2, x1.dtype)
    # TensorFlow has kernels for float32 and float64 only.
    if x1.dtype.size > 2:
        return tf.math.nextafter(x1, x2)
    bits = tf.cast(tf.bitcast(x1, tf.int16), tf.int32)
    smallest = tf.where(signbit(x2), tf.constant(-(1 << 15), tf.int32), tf.constant(0)) + 1
    moved = tf.where(x1 == 0, smallest, tf.where((x2 > x1) == (x1 > 0), bits + 1, bits - 1))
    stepped = tf.bitcast(tf.cast(moved, tf.int16), x1.dtype)
    return tf.where((x1 != x1) | (x2 != x2), x1 + x2, tf.where(x1 == x2, x2, stepped))


def power(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute ``x1 ** x2`` of floats.

    The gradient with respect to ``x1`` is 0 where ``x2`` is 0. That with respect to ``x2`` is 0 where
    ``x1`` is 0 and ``x2 >= 0``.
    """

    def by_base(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.where(y == 0, tf.zeros_like(y), y * power(x, y - 1))

    def by_exponent(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.where((x == 0) & (y >= 0), tf.zeros_like(x), power(x, y) * tf.math.log(x))

    return with_slopes(tf.pow, [by_base, by_exponent], x1, x2)


def trunc(x: tf.Tensor) -> tf.Tensor:
    """Round towards 0."""
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))
