"""Integrals that no framework has as functions: by the quotients of polynomials that TensorFlow uses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....ir import Value
from ..table import TensorFlowBuilder, rows
from .rationals import RATIONALS


def _polynomial(b: TensorFlowBuilder, x: Value, coefficients: tuple[float, ...]) -> Any:
    result: Any = b.array(coefficients[0], x.dtype)
    for coefficient in coefficients[1:]:
        result = b.add(b.multiply(result, x), coefficient)
    return result


def _quotient(b: TensorFlowBuilder, name: str, x: Value) -> Any:
    above, below = RATIONALS[name]
    return b.divide(_polynomial(b, x, above), _polynomial(b, x, below))


def _below(b: TensorFlowBuilder, x: Value, cases: list[tuple[float, Callable[[Value], Any]]], otherwise: Any) -> Any:
    """The first of the functions whose bound ``x`` is below; each is computed within its bounds alone, so that none overflows."""
    result, lower = otherwise, [0.0, *(bound for bound, _ in cases)]
    for (bound, function), least in reversed(list(zip(cases, lower))):
        result = b.where(b.less(x, bound), function(b.clip(x, least, bound)), result)
    return result


def _with_sign(b: TensorFlowBuilder, x: Value, found: Value) -> Any:
    return b.where(b.less(x, 0.0), b.negative(found), found)


def _integral(operation: str, slope: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the row of an integral, whose derivative is ``slope(b, x, result)``."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def row(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
            x = b.array(x)
            wide = x.dtype if x.dtype == "float64" else "float32"
            at = b.astype(x, dtype=wide)
            found = function(b, at)
            return b.astype(b.with_gradient(found, at, slope(b, at, found)), dtype=x.dtype)

        row.__doc__ = function.__doc__
        return rows.row(operation)(row)

    return add


# ------------------------------------------------------------------------------------- Dawson
@_integral("Dawsn", lambda b, x, y: b.subtract(1.0, b.multiply(b.multiply(x, y), 2.0)))
def _dawson(b: TensorFlowBuilder, x: Value) -> Any:
    """``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to ``x``."""

    def near(y: Value) -> Any:
        return b.multiply(y, _quotient(b, "dawsn_1", b.square(y)))

    def far(name: str) -> Callable[[Value], Any]:
        def function(y: Value) -> Any:
            inverse = b.reciprocal(y)
            squared = b.square(inverse)
            part = b.multiply(inverse, _quotient(b, name, squared))
            return b.multiply(b.add(b.multiply(squared, part), inverse), 0.5)

        return function

    size = b.abs(x)
    cases = [(3.25, near), (6.25, far("dawsn_2")), (1e9, far("dawsn_3"))]
    return _with_sign(b, x, _below(b, size, cases, b.divide(0.5, size)))


# ------------------------------------------------------------------------------------- the exponential integral
_EULER = 0.5772156649015329


@_integral("Expint", lambda b, x, y: b.divide(b.exp(x), x))
def _exponential(b: TensorFlowBuilder, x: Value) -> Any:
    """The exponential integral Ei of positive numbers."""

    def near(y: Value) -> Any:
        return b.add(b.add(b.multiply(y, _quotient(b, "expint_1", y)), _EULER), b.log(y))

    def far(place: int) -> Callable[[Value], Any]:
        def function(y: Value) -> Any:
            inverse = b.reciprocal(y)
            part = b.add(b.multiply(inverse, _quotient(b, f"expint_{place}", inverse)), 1.0)
            return b.multiply(b.multiply(b.exp(y), inverse), part)

        return function

    bounds = (4.0, 8.0, 16.0, 32.0, 64.0)
    cases = [(2.0, near), *((bound, far(place)) for place, bound in enumerate(bounds, start=2))]
    found = _below(b, x, cases, far(7)(b.maximum(x, 64.0)))
    return b.where(b.logical_or(b.less(x, 0.0), b.isnan(x)), b.array(math.nan, x.dtype), found)


# ------------------------------------------------------------------------------------- Fresnel
def _fresnel(near: str, power: int, part: Callable[..., Any]) -> Callable[..., Any]:
    """Below a bound by one quotient, above by two that ``part`` joins with the sine and the cosine."""

    def small(b: TensorFlowBuilder, y: Value) -> Any:
        squared = b.square(y)
        return b.multiply(b.multiply(y, squared) if power == 3 else y, _quotient(b, near, b.square(squared)))

    def large(b: TensorFlowBuilder, y: Value) -> Any:
        squared = b.square(y)
        inverse = b.reciprocal(b.multiply(squared, math.pi))
        fourth = b.square(inverse)
        f = b.subtract(1.0, b.multiply(fourth, _quotient(b, "fresnel_f", fourth)))
        g = b.multiply(inverse, _quotient(b, "fresnel_g", fourth))
        angle = b.multiply(squared, math.pi / 2)
        return b.add(0.5, b.divide(part(b, f, g, b.sin(angle), b.cos(angle)), b.multiply(y, math.pi)))

    def function(b: TensorFlowBuilder, x: Value) -> Any:
        size = b.abs(x)
        cases = [(math.sqrt(2.5625), lambda y: small(b, y)), (36974.0, lambda y: large(b, y))]
        found = _below(b, size, cases, b.array(0.5, x.dtype))
        return b.where(b.isnan(x), x, _with_sign(b, x, found))

    return function


def _angle(b: TensorFlowBuilder, x: Value) -> Any:
    return b.multiply(b.square(x), math.pi / 2)


_cosine = _fresnel("fresnel_cos_1", 1, lambda b, f, g, s, c: b.subtract(b.multiply(f, s), b.multiply(g, c)))
_sine = _fresnel("fresnel_sin_1", 3, lambda b, f, g, s, c: b.negative(b.add(b.multiply(f, c), b.multiply(g, s))))
_integral("FresnelCos", lambda b, x, y: b.cos(_angle(b, x)))(_cosine)
_integral("FresnelSin", lambda b, x, y: b.sin(_angle(b, x)))(_sine)


# ------------------------------------------------------------------------------------- Spence
def _slope_of_spence(b: TensorFlowBuilder, x: Value, y: Value) -> Any:
    one = b.equal(x, 1.0)
    safe = b.where(one, b.array(2.0, x.dtype), x)
    return b.where(one, b.array(-1.0, x.dtype), b.divide(b.log(safe), b.subtract(1.0, safe)))


@_integral("Spence", _slope_of_spence)
def _spence(b: TensorFlowBuilder, x: Value) -> Any:
    """Minus the integral of ``log(t) / (t - 1)`` from 1 to ``x``."""
    large = b.less(1.5, x)
    y = b.where(b.less(x, 2.0), x, b.reciprocal(x))
    low, high = b.less(y, 0.5), b.less(1.5, y)
    w = b.where(high, b.subtract(b.reciprocal(y), 1.0), b.where(low, b.negative(y), b.subtract(y, 1.0)))
    found = b.negative(b.multiply(w, _quotient(b, "spence", w)))
    logarithm = b.log(y)
    mirrored = b.subtract(b.subtract(math.pi**2 / 6, b.multiply(logarithm, b.log1p(b.negative(y)))), found)
    found = b.where(low, mirrored, found)
    found = b.where(large, b.subtract(b.multiply(b.square(logarithm), -0.5), found), found)
    found = b.where(b.equal(x, 0.0), b.array(math.pi**2 / 6, x.dtype), found)
    return b.where(b.less(x, 0.0), b.array(math.nan, x.dtype), found)
