"""Element-wise functions."""

from __future__ import annotations

from .own import Array, xp


def hard_tanh(x: Array, minimum: float, maximum: float) -> Array:
    """Limit ``x`` to [minimum, maximum]; the gradient at the limits is 0."""
    return xp.where(x <= minimum, minimum, xp.where(x >= maximum, maximum, x))


def softplus(x: Array, beta: float, threshold: float) -> Array:
    """Compute ``log1p(exp(beta * x)) / beta``, or ``x`` where ``beta * x`` exceeds ``threshold``."""
    return xp.where(x * beta > threshold, x, xp.logaddexp(x * beta, 0) / beta)


def soft_shrink(x: Array, threshold: float) -> Array:
    """Move ``x`` towards 0 by ``threshold``; NaN stays NaN."""
    return xp.where(x > threshold, x - threshold, xp.where(x < -threshold, x + threshold, x * 0))


def integer_power(x1: Array | int, x2: Array) -> Array:
    """Compute ``x1 ** x2`` of integers. Negative exponents return 0, except for the bases 1 and -1."""
    inverse = xp.where(x1 == 1, 1, xp.where(x1 == -1, 1 - 2 * (x2 & 1), 0))
    return xp.where(x2 < 0, inverse.astype(x2.dtype), x1 ** xp.maximum(x2, 0))


def real_angle(x: Array) -> Array:
    """Return pi for negative numbers, NaN for NaN, and 0 for others."""
    return xp.where(xp.isnan(x), xp.nan, xp.where(x < 0, xp.pi, 0)).astype(x.dtype)
