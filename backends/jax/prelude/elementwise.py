"""Element-wise functions whose results or gradients differ in ``jax.numpy`` from those of the vocabulary."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def absolute(x: jax.Array) -> jax.Array:
    """The absolute value; its gradient at 0 is 0."""
    return x * lax.sign(x)


def atan2(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """The angle of a point; no gradient flows from the origin."""
    origin = (x1 == 0) & (x2 == 0)
    return jnp.arctan2(jnp.where(origin, lax.stop_gradient(x1), x1), jnp.where(origin, lax.stop_gradient(x2), x2))


def clip(x: jax.Array, low: jax.Array | float | None = None, high: jax.Array | float | None = None) -> jax.Array:
    """``x`` kept between two bounds; at a bound the whole gradient is that of ``x``. A bound that is NaN wins."""
    x = x if low is None else jnp.where((x < low) | (low != low), low, x)
    return x if high is None else jnp.where((x > high) | (high != high), high, x)


def floor_divide(x1: jax.Array | float, x2: jax.Array | float) -> jax.Array:
    """``x1 // x2`` of floats: the rest is exact, and ``x1 / x2`` stands where ``x2`` is 0."""
    rest = jnp.fmod(x1, x2)
    quotient = (x1 - rest) / x2
    quotient = jnp.round(jnp.where((rest != 0) & ((rest < 0) != (x2 < 0)), quotient - 1, quotient))
    return lax.stop_gradient(jnp.where(x2 == 0, x1 / x2, quotient))


def integer_power(x1: jax.Array | int, x2: jax.Array) -> jax.Array:
    """``x1 ** x2`` of integers; negative exponents give 0 but for bases 1 and -1."""
    inverse = jnp.where(x1 == 1, 1, jnp.where(x1 == -1, 1 - 2 * (x2 & 1), 0))
    return jnp.where(x2 < 0, inverse.astype(x2.dtype), x1 ** jnp.maximum(x2, 0))


def log2(x: jax.Array) -> jax.Array:
    """Logarithm to base 2, exact for powers of two."""
    mantissa, exponent = jnp.frexp(x)
    quotient = jnp.log2(x)
    return jnp.where(mantissa == 0.5, quotient + lax.stop_gradient(exponent - 1 - quotient), quotient)


def power(x1: jax.Array, x2: jax.Array) -> jax.Array:
    """``x1 ** x2`` of floats; where ``x2`` is 0, no gradient flows to ``x1``."""
    return jnp.where(x2 == 0, lax.stop_gradient(x1), x1) ** x2
