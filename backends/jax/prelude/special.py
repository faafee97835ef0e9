"""Special functions that JAX lacks, or whose values at the edges of their domain differ there."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special


def digamma(x: jax.Array) -> jax.Array:
    """Derivative of ``lgamma``; -inf at 0.0, inf at -0.0."""
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), lax.digamma(x))


def logit(x: jax.Array, eps: float | None = None) -> jax.Array:
    """``log(x / (1 - x))``, of ``x`` kept between ``eps`` and ``1 - eps``."""
    x = x if eps is None else jnp.where(x < eps, eps, jnp.where(x > 1 - eps, 1 - eps, x))
    return jnp.log(x / (1 - x))


def orthogonal_polynomial(x: jax.Array, n: jax.Array, kind: str) -> jax.Array:
    """The polynomial of degree ``n``, by the recurrence of its family; 0 for negative degrees."""
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
    return lax.while_loop(lambda state: jnp.any(state[0] <= n), step, (k, first, jnp.ones_like(x), start))[-1]


def real_angle(x: jax.Array) -> jax.Array:
    """pi for negative numbers, 0 for others, NaN of NaN."""
    return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, jnp.pi, 0).astype(x.dtype))


def spherical_bessel_j0(x: jax.Array) -> jax.Array:
    """``sin(x) / x``, 1 at 0."""
    return jnp.where(jnp.isinf(x), 0, jnp.sinc(x / jnp.pi))


def xlog1py(x: jax.Array, y: jax.Array) -> jax.Array:
    """``x * log1p(y)``, 0 where ``x`` is 0; NaN where ``y`` is."""
    return jnp.where(jnp.isnan(y), jnp.nan, special.xlog1py(x, y))


def xlogy(x: jax.Array, y: jax.Array) -> jax.Array:
    """``x * log(y)``, 0 where ``x`` is 0; NaN where ``y`` is."""
    return jnp.where(jnp.isnan(y), jnp.nan, special.xlogy(x, y))
