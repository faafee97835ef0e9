"""Activation functions that ``jax.nn`` lacks, or whose gradients differ there from those of torch."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .gradients import with_slopes


def celu(x: jax.Array, alpha: float) -> jax.Array:
    """``x`` above 0, ``alpha * expm1(x / alpha)`` elsewhere; its second derivative at 0 is 0."""

    def value(x: jax.Array) -> jax.Array:
        return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x) / alpha))

    return with_slopes(value, [lambda x: slope_of_exponential(x, 1.0, 1 / alpha)], x)


def elu(x: jax.Array, alpha: float = 1.0) -> jax.Array:
    """``x`` above 0, ``alpha * expm1(x)`` elsewhere; its second derivative at 0 is 0."""
    return with_slopes(lambda x: jax.nn.elu(x, alpha), [lambda x: slope_of_exponential(x, alpha)], x)


def selu(x: jax.Array) -> jax.Array:
    """``1.05 * elu(x, 1.67)``, the constants of self-normalising networks; its second derivative at 0 is 0."""
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return with_slopes(jax.nn.selu, [lambda x: scale * slope_of_exponential(x, alpha)], x)


def slope_of_exponential(x: jax.Array, at_zero: float, rate: float = 1.0) -> jax.Array:
    """1 above 0, ``at_zero * exp(rate * x)`` elsewhere; it has slope 0 at 0."""
    return jnp.where(x > 0, 1, at_zero * jnp.exp(rate * jnp.where(x < 0, x, 0)))


def glu(x: jax.Array, axis: int) -> jax.Array:
    """The first half along ``axis`` times the sigmoid of the second."""
    value, gate = jnp.split(x, 2, axis)
    return value * jax.nn.sigmoid(gate)
