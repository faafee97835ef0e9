"""Element-wise functions."""

from __future__ import annotations

from .own import Array, xp


def hard_tanh(x: Array, minimum: float, maximum: float) -> Array:
    """``x`` limited to [minimum, maximum]; no gradient at the limits."""
    return xp.where(x <= minimum, minimum, xp.where(x >= maximum, maximum, x))


def softplus(x: Array, beta: float, threshold: float) -> Array:
    """``log1p(exp(beta * x)) / beta``, and ``x`` itself where ``beta * x`` is above the threshold."""
    return xp.where(x * beta > threshold, x, xp.logaddexp(x * beta, 0) / beta)


def soft_shrink(x: Array, threshold: float) -> Array:
    """``x`` moved towards 0 by ``threshold``; NaN stays NaN."""
    return xp.where(x > threshold, x - threshold, xp.where(x < -threshold, x + threshold, x * 0))


def integer_power(x1: Array | int, x2: Array) -> Array:
    """``x1 ** x2`` of integers; negative exponents give 0 but for bases 1 and -1."""
    inverse = xp.where(x1 == 1, 1, xp.where(x1 == -1, 1 - 2 * (x2 & 1), 0))
    return xp.where(x2 < 0, inverse.astype(x2.dtype), x1 ** xp.maximum(x2, 0))


def real_angle(x: Array) -> Array:
    """pi for negative numbers, 0 for others, NaN of NaN."""
    return xp.where(xp.isnan(x), xp.nan, xp.where(x < 0, xp.pi, 0)).astype(x.dtype)
