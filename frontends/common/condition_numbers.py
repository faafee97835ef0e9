"""Condition numbers of matrices that may be singular or have NaN, as LAPACK's inverse defines them."""

from __future__ import annotations

import math
from typing import Any

from ...ir import Value

_BY_SINGULAR_VALUES = (2, -2)


def condition_number(b: Any, x: Value, order: Any, *, keeps_nan: bool = False) -> Any:
    """Compute the condition number of ``x``, its norm of ``order`` times that of its inverse.

    A singular matrix has infinity, and so has a NaN result. For ``order`` 2 and -2 a NaN stays NaN. With
    ``keeps_nan``, for all orders, the result is NaN for a matrix that contains NaN and infinity instead of
    any other NaN.
    """
    has_nan = b.any(b.isnan(x), axis=(-2, -1))
    if order in _BY_SINGULAR_VALUES:
        number = b.cond(x, ord=order)
        return (
            _or_infinity(b, number, b.logical_and(b.isnan(number), b.logical_not(has_nan)))
            if keeps_nan
            else number
        )
    factors = b.lu_factor(x)[0]
    is_singular = b.any(b.equal(b.diagonal(factors), 0), axis=-1)
    is_broken = b.logical_or(is_singular, b.any(b.isnan(factors), axis=(-2, -1)))
    identity = b.eye(n_rows=x.shape[-1], n_cols=x.shape[-1], dtype=x.dtype)
    # Some targets raise an exception for matrices that have no inverse.
    regular = b.where(b.reshape(is_broken, shape=(*is_broken.shape, 1, 1)), identity, x)
    number = b.cond(regular, ord=order)
    number = _or_infinity(b, number, b.logical_or(is_broken, b.isnan(number)))
    return b.where(has_nan, math.nan, number) if keeps_nan else number


def nuclear_condition_number(b: Any, x: Value) -> Any:
    values = b.svdvals(x)
    return b.multiply(b.sum(values, axis=-1), b.sum(b.divide(1.0, values), axis=-1))


def _or_infinity(b: Any, number: Any, test: Any) -> Any:
    return b.where(test, b.full(shape=(), fill_value=math.inf, dtype=number.dtype), number)
