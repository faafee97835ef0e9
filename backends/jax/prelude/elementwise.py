"""Element-wise functions whose values or gradients differ in ``jax.numpy``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .control import with_slopes


def absolute(x: jax.Array) -> jax.Array:
    """Compute the absolute value; its gradient at 0 and NaN is 0."""
    return lax.abs(jnp.where((x > 0) | (x < 0), x, lax.stop_gradient(x)))


def atan2(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute the angle of the point ``(x2, x1)``; no gradient flows from the origin."""
    origin = (x1 == 0) & (x2 == 0)
    return jnp.arctan2(
        jnp.where(origin, lax.stop_gradient(x1), x1), jnp.where(origin, lax.stop_gradient(x2), x2)
    )


def clip(
    x: jax.Array, low: jax.Array | float | None = None, high: jax.Array | float | None = None
) -> jax.Array:
    """Limit ``x`` to [low, high]; at a bound the whole gradient goes to ``x``.

    A bound that is NaN makes the result NaN.
    """
    x = x if low is None else jnp.where((x < low) | (low != low), low, x)
    return x if high is None else jnp.where((x > high) | (high != high), high, x)


def copysign(x1: jax.Array | float, x2: jax.Array | float) -> jax.Array:
    """Return the magnitude of ``x1`` with the sign of ``x2``; no gradient flows to ``x1`` where it is 0."""
    return jnp.copysign(jnp.where(x1 == 0, lax.stop_gradient(x1), x1), x2)


def hypot(x1: jax.Array | float, x2: jax.Array | float) -> jax.Array:
    """Compute ``sqrt(x1 ** 2 + x2 ** 2)`` without overflow; the derivative is ``x1 / hypot(x1, x2)``."""
    return with_slopes(
        jnp.hypot, [lambda x, y: x / hypot(x, y), lambda x, y: y / hypot(x, y)], *jnp.broadcast_arrays(x1, x2)
    )


def complex_sign(x: jax.Array) -> jax.Array:
    """Compute ``x / abs(x)``, which is 0 at 0, without a gradient there.

    ``lax.sign`` has no gradient anywhere.
    """
    zero = x == 0
    return jnp.where(zero, 0, x / jnp.abs(jnp.where(zero, 1, x)))


def floor_divide(x1: jax.Array | float, x2: jax.Array | float) -> jax.Array:
    """Compute ``x1 // x2`` of floats from an exact remainder, without a gradient.

    Where ``x2`` is 0 it is ``x1 / x2``.
    """
    rest = jnp.fmod(x1, x2)
    quotient = (x1 - rest) / x2
    quotient = jnp.round(jnp.where((rest != 0) & ((rest < 0) != (x2 < 0)), quotient - 1, quotient))
    return lax.stop_gradient(jnp.where(x2 == 0, x1 / x2, quotient))


def log2(x: jax.Array) -> jax.Array:
    """Compute the logarithm to base 2, exact for powers of two."""
    mantissa, exponent = jnp.frexp(x)
    quotient = jnp.log2(x)
    return jnp.where(mantissa == 0.5, quotient + lax.stop_gradient(exponent - 1 - quotient), quotient)


def power(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """Compute ``x1 ** x2`` of floats.

    No gradient flows to ``x1`` where ``x2`` is 0, nor to ``x2`` where ``x1`` is 0 and ``x2`` is not
    negative.
    """

    def by_base(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(y == 0, 0, y * power(x, y - 1))

    def by_exponent(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where((x == 0) & (y >= 0), 0, power(x, y) * jnp.log(x))

    return with_slopes(jnp.power, [by_base, by_exponent], x1, x2)
