"""Activation functions that ``jax.nn`` lacks, or whose gradients differ there from those of torch."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def hard_tanh(x: jax.Array, minimum: float, maximum: float) -> jax.Array:
    """``x`` limited to [minimum, maximum]; no gradient at the limits."""
    return jnp.where(x <= minimum, minimum, jnp.where(x >= maximum, maximum, x))


def celu(x: jax.Array, alpha: float) -> jax.Array:
    """``x`` above 0, ``alpha * expm1(x / alpha)`` elsewhere."""
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0, x) / alpha))


def softplus(x: jax.Array, beta: float, threshold: float) -> jax.Array:
    """``log1p(exp(beta * x)) / beta``, and ``x`` itself where ``beta * x`` is above the threshold."""
    return jnp.where(x * beta > threshold, x, jnp.logaddexp(x * beta, 0) / beta)


def soft_shrink(x: jax.Array, threshold: float) -> jax.Array:
    """``x`` moved towards 0 by ``threshold``; NaN stays NaN."""
    return jnp.where(x > threshold, x - threshold, jnp.where(x < -threshold, x + threshold, x * 0))


def glu(x: jax.Array, axis: int) -> jax.Array:
    """The first half along ``axis`` times the sigmoid of the second."""
    value, gate = jnp.split(x, 2, axis)
    return value * jax.nn.sigmoid(gate)
