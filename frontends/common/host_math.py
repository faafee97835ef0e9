"""Functions of Python's ``math`` on 0-d float64 arrays, guarded against Python's exceptions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...ir import Value

# (builder, *numbers) -> result.
Compute = Callable[..., Any]


def _same(name: str) -> Compute:
    return lambda b, *numbers: getattr(b, name)(*numbers)


def scale_by(factor: float) -> Compute:
    return lambda b, x: b.multiply(x, factor)


def cbrt(b: Any, x: Any) -> Any:
    root = b.copysign(b.pow(b.abs(x), 1 / 3), x)
    # One step of Newton's method, because pow is not exact to the last bit.
    step = b.divide(b.subtract(b.multiply(root, b.square(root)), x), b.multiply(b.square(root), 3.0))
    return b.where(b.logical_and(b.isfinite(step), b.isfinite(root)), b.subtract(root, step), root)


def _gamma(b: Any, x: Any) -> Any:
    # lgamma is the logarithm of the absolute value; below 0 the sign alternates from pole to pole.
    is_negative = b.logical_and(b.less(x, 0.0), b.not_equal(b.remainder(b.floor(x), 2.0), 0.0))
    size = b.exp(b.lgamma(x))
    return b.where(is_negative, b.negative(size), size)


def _remainder(b: Any, x: Any, y: Any) -> Any:
    """Compute ``math.remainder``, where the quotient is rounded to the nearest integer, ties to even."""
    rest, size = b.fmod(x, y), b.abs(y)
    twice = b.abs(b.multiply(rest, 2.0))
    is_odd = b.not_equal(b.fmod(b.trunc(b.divide(x, y)), 2.0), 0.0)
    is_next = b.logical_or(b.greater(twice, size), b.logical_and(b.equal(twice, size), is_odd))
    return b.where(b.logical_and(is_next, b.isfinite(y)), b.subtract(rest, b.copysign(size, x)), rest)


# Functions by their names in size expressions.
COMPUTE: dict[str, Compute] = {
    **{
        name: _same(name)
        for name in (
            "sqrt", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10",
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
            "erf", "erfc", "lgamma", "atan2", "copysign", "fmod", "hypot",
        )
    },
    "fabs": _same("abs"),
    "cbrt": cbrt,
    "degrees": scale_by(180 / math.pi),
    "radians": scale_by(math.pi / 180),
    "gamma": _gamma,
    "remainder": _remainder,
    "pow_float": _same("pow"),
    "log_to": lambda b, x, base: b.divide(b.log(x), b.log(base)),
}  # fmt: skip
# These do not raise for any number.
_TOTAL = frozenset({"fabs", "atan", "atan2", "tanh", "asinh", "erf", "erfc", "copysign", "cbrt", "radians"})
# Conditions under which Python raises, if one comparison tells.
_REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "sqrt": lambda b, x: b.less(x, 0.0),
    **{name: lambda b, x: b.less_equal(x, 0.0) for name in ("log", "log2", "log10")},
    "log1p": lambda b, x: b.less_equal(x, -1.0),
    **{name: lambda b, x: b.isinf(x) for name in ("sin", "cos", "tan")},
    **{name: lambda b, x: b.greater(b.abs(x), 1.0) for name in ("asin", "acos")},
    "acosh": lambda b, x: b.less(x, 1.0),
    "atanh": lambda b, x: b.greater_equal(b.abs(x), 1.0),
}


def expect_result(b: Any, result: Any, numbers: tuple[Any, ...]) -> None:
    # Python raises for a NaN that no operand has, and for an infinity that finite operands have.
    for test, cause in ((b.isnan, b.isnan), (b.isinf, lambda number: b.logical_not(b.isfinite(number)))):
        given = functools.reduce(b.logical_or, map(cause, numbers))
        b.expect(b.logical_or(b.logical_not(test(result)), given), True)


def compute_math(b: Any, name: str, numbers: tuple[Any, ...]) -> Any:
    """Compute the function ``name`` of :data:`COMPUTE`, guarded against arguments for which Python raises.

    Python numbers in ``numbers`` become float64 arrays.
    """
    arrays = tuple(number if isinstance(number, Value) else b.array(number, "float64") for number in numbers)
    if name in _REFUSED:
        b.expect(_REFUSED[name](b, *arrays), False)
    result = COMPUTE[name](b, *arrays)
    if name not in _TOTAL and name not in _REFUSED:
        expect_result(b, result, arrays)
    return result
