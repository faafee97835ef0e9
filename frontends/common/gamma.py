"""Rows of the digamma function and its derivatives, whose poles JAX and TensorFlow define alike."""

from __future__ import annotations

import math
from typing import Any

from ...ir import Value


def is_pole(b: Any, x: Value) -> Any:
    return b.logical_and(b.less_equal(x, 0), b.equal(x, b.floor(x)))


def lift_digamma(b: Any, x: Value) -> Any:
    # The canonical function is infinite at 0.
    return b.where(b.equal(x, 0), b.array(math.nan, x.dtype), b.digamma(x))


def lift_polygamma(b: Any, degree: float, x: Value, at_infinity: float) -> Any:
    """Compute the derivative of order ``degree`` of the digamma function.

    The result is NaN for a negative or fractional ``degree``.

    at_infinity: value at infinity, for a positive integer ``degree``.
    """
    if degree < 0 or not float(degree).is_integer():
        return b.multiply(x, math.nan)
    if degree == 0:
        return lift_digamma(b, x)
    at_poles = b.array(math.inf if degree % 2 else math.nan, x.dtype)
    # At the poles torch's reflection formula rounds to large finite numbers.
    value = b.where(is_pole(b, x), at_poles, b.polygamma(x, n=int(degree)))
    return b.where(b.equal(x, math.inf), b.array(at_infinity, x.dtype), value)
