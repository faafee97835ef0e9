"""Element-wise and special functions that TensorFlow lacks, or whose values or gradients differ there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ...common.special_functions import (
    airy_between,
    airy_far_right,
    airy_in_phase,
    airy_out_of_phase,
    excess_of_logarithm,
    temme_series,
)
from .control import with_slopes


def absolute(x: tf.Tensor) -> tf.Tensor:
    """Compute the absolute value of real numbers, with derivative 1 at 0."""
    return with_slopes(tf.abs, [lambda x: tf.where(x >= 0, tf.ones_like(x), -tf.ones_like(x))], x)


def atan2(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute the angle of the point ``(x2, x1)``, with gradient 0 at the origin."""
    origin = (x1 == 0) & (x2 == 0)
    x1, x2 = (x if isinstance(x, float) else tf.where(origin, tf.stop_gradient(x), x) for x in (x1, x2))
    return tf.atan2(x1, x2)


def clip(x: tf.Tensor, low: Any = None, high: Any = None) -> tf.Tensor:
    """Clip ``x`` to the bounds ``low`` and ``high``. None is no bound."""
    if low is not None:
        low = tf.convert_to_tensor(low, x.dtype)
        x = tf.where((x < low) | (low != low), low, x)
    if high is not None:
        high = tf.convert_to_tensor(high, x.dtype)
        x = tf.where((x > high) | (high != high), high, x)
    return x


def signbit(x: tf.Tensor) -> tf.Tensor:
    """Return True for each element whose sign bit is set, such as -0.0.

    For unsigned integers and bools, it is False.
    """
    if not x.dtype.is_floating:
        return tf.zeros_like(x, tf.bool) if x.dtype.is_unsigned or x.dtype.is_bool else x < 0
    return tf.bitcast(x, {2: tf.int16, 4: tf.int32, 8: tf.int64}[x.dtype.size]) < 0


def in_one_type(x: Any, y: Any) -> tuple[tf.Tensor, tf.Tensor]:
    dtype = x.dtype if tf.is_tensor(x) else y.dtype
    return tf.convert_to_tensor(x, dtype), tf.convert_to_tensor(y, dtype)


def maximum(x1: Any, x2: Any) -> tf.Tensor:
    """Compute the maximum; at a tie each argument gets half of the gradient."""
    return with_slopes(tf.maximum, [share_above, share_below], *in_one_type(x1, x2))


def minimum(x1: Any, x2: Any) -> tf.Tensor:
    """Compute the minimum; at a tie each argument gets half of the gradient."""
    return with_slopes(tf.minimum, [share_below, share_above], *in_one_type(x1, x2))


def share_above(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Return the derivative of ``maximum(x1, x2)`` with respect to ``x1``."""
    return tf.where(
        x1 < x2, tf.zeros_like(x1), tf.where(tf.equal(x1, x2), tf.ones_like(x1) / 2, tf.ones_like(x1))
    )


def share_below(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Return the derivative of ``minimum(x1, x2)`` with respect to ``x1``."""
    return share_above(x2, x1)


def copysign(x1: tf.Tensor, x2: Any) -> tf.Tensor:
    """Return ``x1`` with the sign of ``x2``. The gradient is 0 where ``x1`` is 0."""
    x1 = tf.convert_to_tensor(x1)
    x2 = tf.convert_to_tensor(x2, x1.dtype)
    result = tf.where(tf.equal(signbit(x1), signbit(x2)), x1, -x1)
    return tf.where(x1 == 0, tf.stop_gradient(result), result)


def floor_divide(x1: Any, x2: Any) -> tf.Tensor:
    """Compute ``x1 // x2`` of floats, without a gradient. Where ``x2`` is 0, it is ``x1 / x2``."""
    rest = tf.math.floormod(x1, x2)
    # The remainder by an infinity of the other sign is that infinity; the quotient is -1.
    infinite = tf.math.is_inf(rest)
    quotient = tf.round((x1 - tf.where(infinite, tf.zeros_like(rest), rest)) / x2)
    quotient = tf.where(infinite, -tf.ones_like(rest), quotient)
    return tf.stop_gradient(tf.where(tf.equal(x2, 0), x1 / x2, quotient))


def fmod(x1: Any, x2: Any) -> tf.Tensor:
    """Compute the remainder of the division of ``x1`` by ``x2`` with the quotient rounded towards 0."""
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    x1, x2 = tf.convert_to_tensor(x1, dtype), tf.convert_to_tensor(x2, dtype)
    if dtype.is_unsigned:
        return x1 % x2
    if not dtype.is_floating:
        return tf.cast(tf.truncatemod(tf.cast(x1, tf.int64), tf.cast(x2, tf.int64)), x1.dtype)
    return with_slopes(tf.truncatemod, [lambda x, y: tf.ones_like(x), lambda x, y: -trunc(x / y)], x1, x2)


def hypot(x1: tf.Tensor, x2: Any) -> tf.Tensor:
    """Compute ``sqrt(x1 ** 2 + x2 ** 2)`` without overflow of the squares."""
    return with_slopes(
        length_of, [lambda x, y: x / hypot(x, y), lambda x, y: y / hypot(x, y)], *in_one_type(x1, x2)
    )


def length_of(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    x1, x2 = tf.abs(x1), tf.abs(x2)
    large, small = tf.maximum(x1, x2), tf.minimum(x1, x2)
    safe = tf.where((large == 0) | tf.math.is_inf(large), tf.ones_like(large), large)
    length = tf.where(large == 0, x1 + x2, large * tf.sqrt(1 + tf.square(small / safe)))
    return tf.where(tf.math.is_inf(x1) | tf.math.is_inf(x2), tf.constant(math.inf, length.dtype), length)


def integer_power(x1: Any, x2: Any) -> tf.Tensor:
    """Compute ``x1 ** x2`` of integers, which wraps around.

    For a negative ``x2``, the result is 0 unless ``x1`` is 1 or -1.
    """
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    wide = tf.uint64 if dtype == tf.uint64 else tf.int64
    base, exponent = (tf.cast(x, tf.int64) if tf.is_tensor(x) else tf.constant(x, tf.int64) for x in (x1, x2))
    if dtype == tf.uint64:
        # Exponents of at least 2**63 are negative as int64. Powers of odd numbers repeat every 2**62
        # exponents, and those of even numbers are 0 from exponent 64 on.
        exponent = tf.where(exponent < 0, exponent & (2**62 - 1) | 2**62, exponent)
    inverse = tf.where(
        base == 1, tf.ones_like(base), tf.where(base == -1, 1 - 2 * (exponent & 1), tf.zeros_like(base))
    )
    # TensorFlow raises an error for negative exponents of integers.
    power = tf.where(exponent < 0, inverse, tf.pow(base, tf.maximum(exponent, 0)))
    return tf.cast(tf.cast(power, wide), dtype)


def left_shift(x1: Any, x2: Any) -> tf.Tensor:
    """Shift the bits of ``x1`` left; the result is 0 for a count outside the width of the dtype."""
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    x1, x2 = tf.convert_to_tensor(x1, dtype), tf.convert_to_tensor(x2, dtype)
    # TensorFlow leaves the result for such a count to the implementation.
    gone = (x2 < 0) | (x2 >= dtype.size * 8)
    return tf.where(gone, tf.zeros_like(x1), tf.bitwise.left_shift(x1, tf.where(gone, tf.zeros_like(x2), x2)))


def right_shift(x1: Any, x2: Any) -> tf.Tensor:
    """Shift the bits of ``x1`` right, arithmetically for signed integers.

    For a count outside the width of the dtype, the result is -1 if ``x1`` is negative, else 0.
    """
    dtype = x1.dtype if tf.is_tensor(x1) else x2.dtype
    x1, x2 = tf.convert_to_tensor(x1, dtype), tf.convert_to_tensor(x2, dtype)
    most = tf.constant(dtype.size * 8 - 1, dtype)
    moved = tf.bitwise.right_shift(x1, tf.where((x2 < 0) | (x2 > most), most, x2))
    return tf.where(x2 > most, tf.zeros_like(x1), moved) if dtype.is_unsigned else moved


def log_to_base(x: tf.Tensor, base: int) -> tf.Tensor:
    # At integer powers of `base`, the rounded quotient is the exact logarithm.
    quotient = tf.math.log(x) / math.log(base)
    if x.dtype.is_complex:
        return quotient
    whole = tf.round(quotient)
    exact = tf.math.is_finite(whole) & (tf.pow(tf.constant(base, x.dtype), whole) == x)
    return quotient + tf.stop_gradient(tf.where(exact, whole - quotient, tf.zeros_like(x)))


def logaddexp(x1: tf.Tensor, x2: Any) -> tf.Tensor:
    """Compute ``log(exp(x1) + exp(x2))`` without overflow."""

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

    The derivative with respect to ``x1`` is 0 where ``x2`` is 0. That with respect to ``x2`` is 0 where
    ``x1`` is 0 and ``x2`` is not negative.
    """

    def by_base(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.where(y == 0, tf.zeros_like(y), y * power(x, y - 1))

    def by_exponent(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.where((x == 0) & (y >= 0), tf.zeros_like(x), power(x, y) * tf.math.log(x))

    return with_slopes(tf.pow, [by_base, by_exponent], x1, x2)


def trunc(x: tf.Tensor) -> tf.Tensor:
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x))


# ---------------------------------------------------------------------------------------------------- special
# Special functions that TensorFlow lacks, or whose values or gradients differ at edges of the domain.


def airy_ai(x: tf.Tensor) -> tf.Tensor:
    """Compute the Airy function Ai by Chebyshev series."""
    series = airy_between(tf.clip_by_value(x, -3, 3) / 3)
    return tf.where(
        x < -3, airy_waves(tf.maximum(-x, 3)), tf.where(x > 3, airy_decay(tf.maximum(x, 3)), series)
    )


def airy_decay(x: tf.Tensor) -> tf.Tensor:
    """Compute ``Ai(x)`` for ``x >= 3``."""
    return airy_far_right(2 * (3 / x) ** 1.5 - 1) * tf.exp(-2 / 3 * x**1.5) / x**0.25


def airy_waves(x: tf.Tensor) -> tf.Tensor:
    """Compute ``Ai(-x)`` for ``x >= 3``."""
    phase = 2 / 3 * x**1.5
    t = 24 / (phase * phase) - 1
    angle = phase + math.pi / 4
    return (airy_in_phase(t) * tf.sin(angle) - airy_out_of_phase(t) / phase * tf.cos(angle)) / x**0.25


def like(number: float, x: tf.Tensor) -> tf.Tensor:
    return tf.constant(number, x.dtype)


def betainc(*arguments: Any) -> tf.Tensor:
    """Compute the regularized incomplete beta function of the three arguments ``a``, ``b`` and ``x``.

    The result is NaN outside of the domain.
    """
    dtype = next(item.dtype for item in arguments if isinstance(item, tf.Tensor))
    a, b, x = (tf.convert_to_tensor(item, dtype) for item in arguments)
    shape = tf.broadcast_dynamic_shape(tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(b)), tf.shape(x))
    a, b, x = (tf.broadcast_to(item, shape) for item in (a, b, x))
    # The whole mass of the distribution lies at 0, or at 1.
    starts, ends = (
        (a == 0) | (b == math.inf),
        (b == 0) | (a == math.inf),
    )
    wrong = ~((a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)) | (starts & ends)
    limit = tf.where(wrong, like(math.nan, x), tf.cast((starts & (x > 0)) | (x == 1), dtype))
    at_limit = wrong | starts | ends
    # An argument at which the result is replaced must not produce NaN, which would spoil the gradient.
    near_a, near_b, near_x = (tf.where(at_limit, like(0.5, x), item) for item in (a, b, x))
    return tf.where(at_limit, limit, tf.math.betainc(near_a, near_b, near_x))


def digamma(x: tf.Tensor) -> tf.Tensor:
    """Compute the logarithmic derivative of the gamma function. It is -inf at 0.0 and inf at -0.0."""
    return tf.where(x == 0, tf.where(signbit(x), like(math.inf, x), like(-math.inf, x)), tf.math.digamma(x))


def entr(x: tf.Tensor) -> tf.Tensor:
    """Compute ``-x * log(x)``, which is 0 at 0 and -inf for negative ``x``."""

    def value(x: tf.Tensor) -> tf.Tensor:
        return tf.where(x < 0, like(-math.inf, x), -xlogy(x, x))

    return with_slopes(value, [lambda x: -1 - tf.math.log(x)], x)


def erfcx(x: tf.Tensor) -> tf.Tensor:
    """Compute ``exp(x ** 2) * erfc(x)``, without overflow for large positive ``x``."""
    near = tf.minimum(x, like(2, x))
    far = tf.maximum(x, like(2, x))
    rest = far
    for k in range(60, 0, -1):
        rest = far + (k / 2) / rest
    return tf.where(x < 2, tf.exp(tf.square(near)) * tf.math.erfc(near), 1 / (rest * math.sqrt(math.pi)))


def fmax(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute the maximum. If one argument is NaN, return the other one."""
    return tf.where((x1 >= x2) | (x2 != x2), x1, x2)


def fmin(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute the minimum. If one argument is NaN, return the other one."""
    return tf.where((x1 <= x2) | (x2 != x2), x1, x2)


def frexp(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Decompose ``x`` into ``mantissa * 2 ** exponent``, with an int32 exponent.

    The magnitude of the mantissa is in [0.5, 1) for normal numbers.
    """
    plain = (x == 0) | ~tf.math.is_finite(x)
    wide = tf.cast(tf.where(plain, tf.ones_like(x), x), tf.float64)
    # The exponent is in front of the 52 bits of the mantissa, and that of 0.5 is 1022.
    exponent = (tf.bitcast(tf.abs(wide), tf.int64) // (1 << 52)) - 1022
    # In one step, the factor of the largest numbers would be subnormal, which counts as 0.
    half = exponent // 2
    mantissa = wide
    for part in (half, exponent - half):
        mantissa = mantissa * tf.pow(like(2, wide), tf.cast(-part, tf.float64))
    return tf.where(plain, x, tf.cast(mantissa, x.dtype)), tf.where(plain, 0, tf.cast(exponent, tf.int32))


def gammainc(a: Any, x: Any) -> tf.Tensor:
    """Compute the regularized lower incomplete gamma function ``P(a, x)``."""
    a, x = in_one_type(a, x)
    far, near_a, near_x = gamma_far(a, x, -1)
    value = tf.where(tf.math.is_nan(far), tf.math.igamma(near_a, near_x), far)
    return gamma_limits(a, x, value, 1, 0)


def gammaincc(a: Any, x: Any) -> tf.Tensor:
    """Compute the regularized upper incomplete gamma function ``Q(a, x)``."""
    a, x = in_one_type(a, x)
    far, near_a, near_x = gamma_far(a, x, 1)
    value = tf.where(tf.math.is_nan(far), tf.math.igammac(near_a, near_x), far)
    return gamma_limits(a, x, value, 0, 1)


def gamma_limits(a: tf.Tensor, x: tf.Tensor, value: tf.Tensor, at_0: int, at_infinity: int) -> tf.Tensor:
    """Return ``value`` where ``a`` is positive and finite, and otherwise a limit of the gamma functions.

    The limit is ``at_0`` for an ``a`` of 0 and ``at_infinity`` for an infinite one, or NaN outside of the
    domain.
    """
    nan = like(math.nan, x)
    of_zero = tf.where(x > 0, like(at_0, x), nan)
    of_infinity = tf.where((x >= 0) & tf.math.is_finite(x), like(at_infinity, x), nan)
    limit = tf.where(a == 0, of_zero, tf.where(a > 0, of_infinity, nan))
    # TensorFlow's kernels and XLA give 0 or 1 for some arguments outside of the domain.
    return tf.where((a > 0) & tf.math.is_finite(a), value, limit)


def gamma_far(a: tf.Tensor, x: tf.Tensor, sign: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Compute an incomplete gamma function by Temme's expansion, for ``a >= 200`` and ``x`` near ``a``.

    It is the upper function for ``sign`` 1 and the lower one for ``sign`` -1. Return the value, which is
    NaN for all other arguments, and copies of ``a`` and ``x`` with 1 where the value was computed.
    """
    # TensorFlow's own series stops before it converges for such arguments.
    is_far = (a >= 200) & (tf.abs(x - a) < (0.4 if x.dtype == tf.float64 else 0.6) * a)
    far_a, far_x = tf.where(is_far, a, like(200, a)), tf.where(is_far, x, like(200, x))
    mu = (far_x - far_a) / far_a
    excess = excess_of_logarithm(mu)
    eta = mu * tf.sqrt(2 * excess)
    rest = tf.exp(-far_a * mu * mu * excess) / tf.sqrt(2 * math.pi * far_a) * temme_series(eta, far_a)
    value = tf.math.erfc(sign * eta * tf.sqrt(far_a / 2)) / 2 + sign * rest
    return (
        tf.where(is_far, value, like(math.nan, x)),
        tf.where(is_far, like(1, a), a),
        tf.where(is_far, like(1, x), x),
    )


def magnitudes(x1: tf.Tensor, x2: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    x1 = tf.convert_to_tensor(x1)
    x2 = tf.convert_to_tensor(x2, x1.dtype)
    if x1.dtype.is_unsigned:
        return x1, x2
    unsigned = tf.as_dtype(f"u{x1.dtype.name}")
    return tf.cast(tf.abs(x1), unsigned), tf.cast(tf.abs(x2), unsigned)


def gcd(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute the greatest common divisor, which wraps around if it does not fit into the dtype."""
    dtype = tf.convert_to_tensor(x1).dtype
    x1, x2 = magnitudes(x1, x2)
    shape = tf.broadcast_dynamic_shape(tf.shape(x1), tf.shape(x2))

    def step(a: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        done = b == 0
        # TensorFlow raises an error for the remainder by 0.
        return tf.where(done, a, b), tf.where(done, b, a % tf.where(done, tf.ones_like(b), b))

    pair = tuple(tf.broadcast_to(x, shape) for x in (x1, x2))
    result, _ = tf.while_loop(lambda a, b: tf.reduce_any(b != 0), step, pair)
    return tf.cast(result, dtype)


def lcm(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute the least common multiple, which wraps around if it does not fit into the dtype."""
    dtype = tf.convert_to_tensor(x1).dtype
    x1, x2 = magnitudes(x1, x2)
    divisor = gcd(x1, x2)
    return tf.cast(x1 // tf.where(divisor == 0, tf.ones_like(divisor), divisor) * x2, dtype)


def i0(x: tf.Tensor) -> tf.Tensor:
    """Compute the modified Bessel function of the first kind of order 0."""
    return tf.exp(tf.abs(x)) * tf.math.special.bessel_i0e(x)


def i1(x: tf.Tensor) -> tf.Tensor:
    """Compute the modified Bessel function of the first kind of order 1."""
    return with_slopes(tf.math.special.bessel_i1, [lambda x: i0(x) - quotient_at(i1, x)], x)


def i1e(x: tf.Tensor) -> tf.Tensor:
    """Compute ``i1(x) * exp(-abs(x))``."""
    return with_slopes(
        tf.math.special.bessel_i1e,
        [lambda x: tf.math.special.bessel_i0e(x) - tf.sign(x) * i1e(x) - quotient_at(i1e, x)],
        x,
    )


def quotient_at(function: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """Compute ``function(x) / x`` for a function that is 0 at 0 with derivative 1/2."""
    near = tf.abs(x) < 1e-6
    safe = tf.where(near, tf.ones_like(x), x)
    return tf.where(near, like(0.5, x), function(safe) / safe)


def isclose(
    x1: Any, x2: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> tf.Tensor:
    """Return True for each element with ``abs(x1 - x2) <= atol + rtol * abs(x2)``.

    Integers are compared as float64. Infinities have to be equal. NaN is close to NaN only if ``equal_nan``
    is True.
    """
    x1 = tf.convert_to_tensor(x1)
    x2 = tf.convert_to_tensor(x2, x1.dtype)
    same = x1 == x2
    if equal_nan:
        same |= (x1 != x1) & (x2 != x2)
    if not (x1.dtype.is_floating or x1.dtype.is_complex):
        # A difference of unsigned integers would wrap around.
        x1, x2 = tf.cast(x1, tf.float64), tf.cast(x2, tf.float64)
    distance = tf.abs(x1 - x2)
    return same | (tf.math.is_finite(distance) & (distance <= atol + rtol * tf.abs(x2)))


def logaddexp2(x1: tf.Tensor, x2: tf.Tensor) -> tf.Tensor:
    """Compute ``log2(2 ** x1 + 2 ** x2)`` without overflow."""
    return logaddexp(x1 * math.log(2), x2 * math.log(2)) / math.log(2)


def logit(x: tf.Tensor, eps: float | None = None) -> tf.Tensor:
    """Compute ``log(x / (1 - x))``, with ``x`` clamped to ``[eps, 1 - eps]`` if ``eps`` is given."""
    if eps is not None:
        x = tf.where(x < eps, like(eps, x), tf.where(x > 1 - eps, like(1 - eps, x), x))
    return with_slopes(lambda x: tf.math.log(x / (1 - x)), [lambda x: 1 / (x * (1 - x))], x)


def log_ndtr(x: tf.Tensor) -> tf.Tensor:
    """Compute the logarithm of the cumulative distribution function of the standard normal distribution."""
    below, near = tf.minimum(x, like(-1, x)), tf.maximum(x, like(-1, x))
    tail = tf.math.log(erfcx(-below * math.sqrt(0.5)) / 2) - tf.square(below) / 2
    return tf.where(x < -1, tail, tf.math.log1p(-tf.math.erfc(near * math.sqrt(0.5)) / 2))


def nan_to_num(
    x: tf.Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> tf.Tensor:
    """Replace NaN by ``nan``, and infinities by ``posinf`` and ``neginf``.

    By default, infinities become the largest and the lowest finite number of the dtype. Integers and bools
    are returned unchanged.
    """
    if x.dtype.is_complex:
        parts = (tf.math.real(x), tf.math.imag(x))
        return tf.complex(*(nan_to_num(part, nan, posinf, neginf) for part in parts))
    if not x.dtype.is_floating:
        return tf.identity(x)
    largest, smallest = (
        bound if given is None else given for bound, given in ((x.dtype.max, posinf), (x.dtype.min, neginf))
    )
    bounded = tf.where(x == math.inf, like(largest, x), tf.where(x == -math.inf, like(smallest, x), x))
    return tf.where(tf.math.is_nan(x), like(nan, x), bounded)


def orthogonal_polynomial(x: Any, n: Any, kind: str) -> tf.Tensor:
    """Compute the orthogonal polynomial of degree ``n`` at ``x`` by its recurrence.

    ``kind`` is its name, such as "legendre_p", and ``n`` is rounded towards 0.
    """
    dtype = x.dtype if tf.is_tensor(x) else n.dtype
    x, n = tf.convert_to_tensor(x, dtype), tf.convert_to_tensor(n, dtype)
    shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(n))
    x, n = tf.broadcast_to(x, shape), tf.broadcast_to(tf.where(n < 0, tf.math.ceil(n), tf.floor(n)), shape)
    first = {
        "chebyshev_t": x, "chebyshev_u": 2 * x, "chebyshev_v": 2 * x - 1, "chebyshev_w": 2 * x + 1,
        "hermite_h": 2 * x, "hermite_he": x, "laguerre_l": 1 - x, "legendre_p": x,
    }[kind]  # fmt: skip

    def following(k: tf.Tensor, last: tf.Tensor, before: tf.Tensor) -> tf.Tensor:
        if kind.startswith("chebyshev"):
            return 2 * x * last - before
        if kind == "hermite_h":
            return 2 * x * last - 2 * (k - 1) * before
        if kind == "hermite_he":
            return x * last - (k - 1) * before
        if kind == "laguerre_l":
            return ((2 * k - 1 - x) * last - (k - 1) * before) / k
        return ((2 * k - 1) * x * last - (k - 1) * before) / k

    def step(k: tf.Tensor, last: tf.Tensor, before: tf.Tensor, result: tf.Tensor) -> tuple[tf.Tensor, ...]:
        value = following(k, last, before)
        return k + 1, value, last, tf.where(n == k, value, result)

    ones = tf.ones_like(x)
    start = tf.where(n == 0, ones, tf.where(n == 1, first, tf.zeros_like(x)))
    return tf.while_loop(
        lambda k, *_: tf.reduce_any((k <= n) & tf.math.is_finite(n)), step, (like(2, x), first, ones, start)
    )[-1]


def of_positive(function: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor, at_zero: float) -> tf.Tensor:
    """Compute ``function(x)`` for positive ``x``, ``at_zero`` for 0, and NaN for all other ``x``."""
    # The branch that is not selected must be finite, or its gradient would be NaN.
    value = function(tf.where(x > 0, x, tf.ones_like(x)))
    return tf.where(x > 0, value, tf.where(x == 0, like(at_zero, x), like(math.nan, x)))


def polygamma(x: tf.Tensor, n: int) -> tf.Tensor:
    """Compute the ``n``-th derivative of ``digamma`` at finite ``x``; ``n`` is at least 1."""
    if n == 1:
        return trigamma(x)
    return (-1) ** (n + 1) * math.factorial(n) * zeta(like(n + 1, x), x)


def real_angle(x: tf.Tensor) -> tf.Tensor:
    """Compute the complex angle of real numbers: pi for negative numbers, NaN for NaN, otherwise 0."""
    return tf.where(x != x, x, tf.where(x < 0, like(math.pi, x), tf.zeros_like(x)))


def sine_quotient(x: tf.Tensor) -> tf.Tensor:
    """Compute ``sin(x) / x``, which is 1 at 0."""
    if x.dtype.is_complex:
        return tf.where(x == 0, tf.ones_like(x), tf.sin(x) / tf.where(x == 0, tf.ones_like(x), x))
    # The gradient of the quotient is inexact near 0, so a series is used there.
    near = tf.abs(x) < 0.05
    far, square = tf.where(near, tf.ones_like(x), x), tf.square(tf.where(near, x, tf.zeros_like(x)))
    return tf.where(near, 1 - square / 6 * (1 - square / 20 * (1 - square / 42)), tf.sin(far) / far)


def spherical_bessel_j0(x: tf.Tensor) -> tf.Tensor:
    """Compute ``sin(x) / x``, which is 1 at 0 and 0 at infinity."""
    return tf.where(tf.math.is_inf(x), tf.zeros_like(x), sine_quotient(x))


def trigamma(x: tf.Tensor) -> tf.Tensor:
    """Compute the derivative of ``digamma``."""
    # Below 0.5, it is computed by the reflection formula.
    below = x < 0.5
    sine = tf.sin(math.pi * tf.where(below, x, like(0.5, x)))
    above = tf.where(below, 1 - x, x)
    value = tf.where(above == math.inf, tf.zeros_like(x), zeta(like(2, x), above))
    return tf.where(below, math.pi**2 / (sine * sine) - value, value)


def xlog1py(x: Any, y: Any) -> tf.Tensor:
    """Compute ``x * log1p(y)``, which is 0 where ``x`` is 0, but NaN where ``y`` is NaN."""

    def value(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.where(
            tf.math.is_nan(y),
            like(math.nan, y),
            tf.math.xlog1py(x, tf.where(is_end(x, y), tf.zeros_like(y), y)),
        )

    def is_end(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return (x == 0) & (y <= -1)

    return with_slopes(
        value,
        [lambda x, y: tf.where(is_end(x, y), tf.zeros_like(y), tf.math.log1p(y)), lambda x, y: x / (1 + y)],
        *in_one_type(x, y),
    )


def xlogy(x: Any, y: Any) -> tf.Tensor:
    """Compute ``x * log(y)``, which is 0 where ``x`` is 0, but NaN where ``y`` is NaN."""

    def value(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.where(
            tf.math.is_nan(y), like(math.nan, y), tf.math.xlogy(x, tf.where(is_end(x, y), tf.ones_like(y), y))
        )

    def is_end(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return (x == 0) & (y <= 0)

    return with_slopes(
        value,
        [lambda x, y: tf.where(is_end(x, y), tf.zeros_like(y), tf.math.log(y)), lambda x, y: x / y],
        *in_one_type(x, y),
    )


def zeta(x: Any, q: Any) -> tf.Tensor:
    """Compute the Hurwitz zeta function, the sum of ``(k + q) ** -x`` over k = 0, 1, ...

    It is inf at poles, and NaN where ``x < 1`` or ``q`` is inf.
    """
    x, q = in_one_type(x, q)
    below = q < 0
    pole = tf.equal(x, 1) | (x > 1) & (q <= 0) & (q == tf.floor(q))
    # `zeta_below` has no gradient. The derivative by `q` is that of this term, whose value is 0.
    slope = -x * (q - tf.stop_gradient(q)) * zeta_below(x + 1, q)
    value = tf.where(below, zeta_below(x, q) + slope, tf.math.zeta(x, tf.where(below, tf.ones_like(q), q)))
    return tf.where((x < 1) | (q == math.inf), like(math.nan, x), tf.where(pole, like(math.inf, x), value))


def zeta_below(x: tf.Tensor, q: tf.Tensor) -> tf.Tensor:
    """Compute the Hurwitz zeta function for negative ``q`` that are no integers, without a gradient."""
    # Terms are added until `q` is not negative. At integers, which are poles, that might never happen.
    shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(q))
    x, q = (tf.stop_gradient(tf.broadcast_to(array, shape)) for array in (x, q))

    def is_below(q: tf.Tensor) -> tf.Tensor:
        return (q < 0) & (q != tf.floor(q))

    def step(total: tf.Tensor, q: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.where(is_below(q), total + tf.pow(q, -x), total), tf.where(is_below(q), q + 1, q)

    total, q = tf.while_loop(lambda total, q: tf.reduce_any(is_below(q)), step, (tf.zeros_like(q), q))
    return total + tf.math.zeta(x, q)
