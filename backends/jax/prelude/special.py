"""Special functions that JAX lacks, or whose values or gradients at the edges of their domain differ there."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from ...temme import excess_of_logarithm, temme_series
from .gradients import with_slopes


def digamma(x: jax.Array) -> jax.Array:
    """Logarithmic derivative of the gamma function; -inf at 0.0, inf at -0.0."""
    return jnp.where(x == 0, jnp.where(jnp.signbit(x), jnp.inf, -jnp.inf), lax.digamma(x))


def erfcx(x: jax.Array) -> jax.Array:
    """``exp(x ** 2) * erfc(x)``: the product up to 2, above it a continued fraction."""
    near, far = jnp.minimum(x, 2), jnp.maximum(x, 2)
    rest = far
    for k in range(60, 0, -1):
        rest = far + (k / 2) / rest
    return jnp.where(x < 2, jnp.exp(jnp.square(near)) * lax.erfc(near), 1 / (rest * math.sqrt(math.pi)))


def fmax(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """The larger one; the other one where one is NaN, the first where they are equal."""
    return jnp.where((x1 >= x2) | jnp.isnan(x2), x1, x2)


def fmin(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """The smaller one; the other one where one is NaN, the first where they are equal."""
    return jnp.where((x1 <= x2) | jnp.isnan(x2), x1, x2)


def gammainc(a: jax.Array, x: jax.Array) -> jax.Array:
    """Regularised lower incomplete gamma function, with its limits for ``a`` at 0 and at infinity."""
    limit = jnp.where(a == 0, jnp.where(x > 0, 1, jnp.nan), jnp.where(jnp.isinf(x), jnp.nan, 0))
    far, near_a, near_x = gamma_far(a, x, -1)
    value = jnp.where(jnp.isnan(far), special.gammainc(near_a, near_x), far)
    return jnp.where((a == 0) | jnp.isinf(a), limit, value)


def gammaincc(a: jax.Array, x: jax.Array) -> jax.Array:
    """Regularised upper incomplete gamma function, with its limits for ``a`` at 0 and at infinity."""
    limit = jnp.where(a == 0, jnp.where(x > 0, 0, jnp.nan), jnp.where(jnp.isinf(x), jnp.nan, 1))
    far, near_a, near_x = gamma_far(a, x, 1)
    value = jnp.where(jnp.isnan(far), special.gammaincc(near_a, near_x), far)
    return jnp.where((a == 0) | jnp.isinf(a), limit, value)


def gamma_far(a: jax.Array, x: jax.Array, sign: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The incomplete gamma function, upper for ``sign`` 1 and lower for -1, of large ``a`` and ``x`` near it, NaN elsewhere; and the
    arguments that are left.

    JAX's own loop ends before such arguments are summed up.
    """
    is_far = (a >= 200) & (jnp.abs(x - a) < (0.6 if jnp.finfo(x.dtype).bits <= 32 else 0.4) * a)
    far_a, far_x = jnp.where(is_far, a, 200), jnp.where(is_far, x, 200)
    mu = (far_x - far_a) / far_a
    excess = excess_of_logarithm(mu)
    eta = mu * jnp.sqrt(2 * excess)
    rest = jnp.exp(-far_a * mu * mu * excess) / jnp.sqrt(2 * jnp.pi * far_a) * temme_series(eta, far_a)
    value = lax.erfc(sign * eta * jnp.sqrt(far_a / 2)) / 2 + sign * rest
    return jnp.where(is_far, value, jnp.nan), jnp.where(is_far, 1, a), jnp.where(is_far, 1, x)


def i0(x: jax.Array) -> jax.Array:
    """Modified Bessel function of the first kind, order 0; its slope at 0 is 0."""
    return jnp.exp(x * lax.sign(x)) * lax.bessel_i0e(x)


def i1(x: jax.Array) -> jax.Array:
    """Modified Bessel function of the first kind, order 1; its slope at 0 is one half."""
    return with_slopes(special.i1, [lambda x: i0(x) - quotient_at(i1, x)], x)


def i1e(x: jax.Array) -> jax.Array:
    """``i1(x) * exp(-abs(x))``; its slope at 0 is one half."""
    return with_slopes(special.i1e, [lambda x: special.i0e(x) - lax.sign(x) * i1e(x) - quotient_at(i1e, x)], x)


def quotient_at(function: Callable[[jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """``function(x) / x``, one half at 0."""
    near = abs(x) < 1e-6
    safe = jnp.where(near, 1, x)
    return jnp.where(near, 0.5, function(safe) / safe)


def entr(x: jax.Array) -> jax.Array:
    """``-x * log(x)``: 0 at 0, where it is infinitely steep, -inf below."""
    return with_slopes(special.entr, [lambda x: -1 - jnp.log(x)], x)


def ndtri(x: jax.Array) -> jax.Array:
    """Inverse of the normal distribution function; infinitely steep at 0 and 1."""
    return with_slopes(special.ndtri, [lambda x: math.sqrt(2 * math.pi) * jnp.exp(jnp.square(ndtri(x)) / 2)], x)


def logit(x: jax.Array, eps: float | None = None) -> jax.Array:
    """``log(x / (1 - x))``, of ``x`` kept between ``eps`` and ``1 - eps``."""
    return special.logit(x if eps is None else jnp.where(x < eps, eps, jnp.where(x > 1 - eps, 1 - eps, x)))


def orthogonal_polynomial(x: jax.Array, n: jax.Array, kind: str) -> jax.Array:
    """The polynomial of degree ``n``, by the recurrence of its family; 0 for degrees that are negative or not finite."""
    x, n = jnp.broadcast_arrays(x, jnp.trunc(n))
    first = {
        "chebyshev_t": x, "chebyshev_u": 2 * x, "chebyshev_v": 2 * x - 1, "chebyshev_w": 2 * x + 1,
        "hermite_h": 2 * x, "hermite_he": x, "laguerre_l": 1 - x, "legendre_p": x,
    }[kind]  # fmt: skip

    def following(k: jax.Array, last: jax.Array, before: jax.Array) -> jax.Array:
        if kind.startswith("chebyshev"):
            return 2 * x * last - before
        if kind == "hermite_h":
            return 2 * x * last - 2 * (k - 1) * before
        if kind == "hermite_he":
            return x * last - (k - 1) * before
        if kind == "laguerre_l":
            return ((2 * k - 1 - x) * last - (k - 1) * before) / k
        return ((2 * k - 1) * x * last - (k - 1) * before) / k

    def step(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        k, last, before, result = state
        value = following(k, last, before)
        return k + 1, value, last, jnp.where(n == k, value, result)

    start = jnp.where(n == 0, jnp.ones_like(x), jnp.where(n == 1, first, jnp.zeros_like(x)))
    k = jnp.array(2, x.dtype)
    return lax.while_loop(lambda state: jnp.any((state[0] <= n) & jnp.isfinite(n)), step, (k, first, jnp.ones_like(x), start))[-1]


def polygamma(x: jax.Array, n: int) -> jax.Array:
    """The ``n``-th derivative of the logarithmic derivative of the gamma function; half precision is computed in single."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    if n == 1:
        return trigamma(wide).astype(x.dtype)
    return ((-1) ** (n + 1) * math.factorial(n) * zeta(jnp.array(n + 1, wide.dtype), wide)).astype(x.dtype)


def spherical_bessel_j0(x: jax.Array) -> jax.Array:
    """``sin(x) / x``, 0 at infinity."""
    return jnp.where(jnp.isinf(x), 0, sine_quotient(x))


def sine_quotient(x: jax.Array) -> jax.Array:
    """``sin(x) / x``, near 0 by its series, whose gradient is exact there."""
    near = lax.abs(x) < 0.05
    far, square = jnp.where(near, 1, x), jnp.where(near, x, 0) ** 2
    return jnp.where(near, 1 - square / 6 * (1 - square / 20 * (1 - square / 42)), jnp.sin(far) / far)


def trigamma(x: jax.Array) -> jax.Array:
    """The first derivative of ``digamma``; below 0.5 reflected as in torch, which at negative integers gives what the sine of ``pi * x``
    rounds to."""
    below = x < 0.5
    sine = jnp.sin(jnp.pi * jnp.where(below, x, 0.5))
    above = jnp.where(below, 1 - x, x)
    value = jnp.where(above == jnp.inf, 0, zeta(jnp.array(2, x.dtype), above))
    return jnp.where(below, jnp.pi**2 / (sine * sine) - value, value)


def xlog1py(x: jax.Array, y: jax.Array) -> jax.Array:
    """``x * log1p(y)``, 0 where ``x`` is 0; NaN where ``y`` is. Its slopes are ``log1p(y)``, 0 where both are at their ends, and
    ``x / (1 + y)``."""

    def value(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(jnp.isnan(y), jnp.nan, special.xlog1py(x, inside(x, y)))

    def inside(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) & (y <= -1), 0, y)

    return with_slopes(value, [lambda x, y: jnp.log1p(inside(x, y)), lambda x, y: x / (1 + y)], *jnp.broadcast_arrays(x, y))


def xlogy(x: jax.Array, y: jax.Array) -> jax.Array:
    """``x * log(y)``, 0 where ``x`` is 0; NaN where ``y`` is. Its slopes are ``log(y)``, 0 where both are at their ends, and ``x / y``."""

    def value(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(jnp.isnan(y), jnp.nan, special.xlogy(x, inside(x, y)))

    def inside(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) & (y <= 0), 1, y)

    return with_slopes(value, [lambda x, y: jnp.log(inside(x, y)), lambda x, y: x / y], *jnp.broadcast_arrays(x, y))


def zeta(x: jax.Array, q: jax.Array) -> jax.Array:
    """Hurwitz zeta; infinite where ``x`` is 1 and at the poles 0, -1, -2, ..., NaN where ``x`` is below 1."""
    below = q < 0
    pole = (x == 1) | (x > 1) & (q <= 0) & (q == jnp.floor(q))
    slope = -x * (q - lax.stop_gradient(q)) * zeta_below(x + 1, q)
    value = jnp.where(below, zeta_below(x, q) + slope, special.zeta(x, jnp.where(below, 1, q)))
    return jnp.where(x < 1, jnp.nan, jnp.where(pole, jnp.inf, value))


def zeta_below(x: jax.Array, q: jax.Array) -> jax.Array:
    """Hurwitz zeta for negative ``q``, raised to positive numbers term by term; without a gradient."""
    x, q = lax.stop_gradient(jnp.broadcast_arrays(x, q))

    def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, q = state
        return jnp.where(q < 0, total + q**-x, total), jnp.where(q < 0, q + 1, q)

    total, q = lax.while_loop(lambda state: jnp.any((state[1] < 0) & jnp.isfinite(state[1])), step, (jnp.zeros_like(q), q))
    return total + special.zeta(x, q)
