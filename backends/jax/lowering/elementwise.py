"""Element-wise functions in JAX: operators, and ``lax`` where it takes the same operands as ``jnp`` (it is faster to trace)."""

from __future__ import annotations

from ....ops.dtypes import is_complex, is_floating, is_integer
from ...calls import number_in
from ...rows import Operand
from .table import rows

_LAX = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "log", "log1p", "sin",
    "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
_JNP = ("isfinite", "isinf", "isnan", "log10", "round", "signbit", "trunc")
_JNP_BINARY = ("logaddexp", "maximum", "minimum", "nextafter")
_HELPERS_OF_TWO = ("atan2", "copysign", "hypot")
_OPERATORS = {
    "add": "+", "bitwise_and": "&", "bitwise_left_shift": "<<", "bitwise_or": "|", "bitwise_right_shift": ">>", "bitwise_xor": "^",
    "divide": "/", "equal": "==", "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=", "logical_and": "&",
    "logical_or": "|", "logical_xor": "^", "multiply": "*", "not_equal": "!=", "remainder": "%", "subtract": "-",
}  # fmt: skip

rows.table({name: f"lax.{name}({{x}})" for name in _LAX})
rows.table({name: f"jnp.{name}({{x}})" for name in _JNP})
rows.table({name: f"jnp.{name}({{x1}}, {{x2}})" for name in _JNP_BINARY})
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in _HELPERS_OF_TWO})
rows.table({name: f"{{x1}} {sign} {{x2}}" for name, sign in _OPERATORS.items()})
rows.table({
    "bitwise_invert": "~{x}",
    "conj": "{x}.conj()",
    "imag": "{x}.imag",
    "logical_not": "~{x}",
    "negative": "-{x}",
    "positive": "+{x}",
    "real": "{x}.real",
    "reciprocal": "1 / {x}",
    "square": "{x} * {x}",
    # a helper for floats, for the slope of ``jnp.abs`` at 0 is 1
    "abs": lambda x, *, right: f"absolute({x})" if is_floating(x.dtype or "") and not right else f"abs({x})",
    # the quotient of logarithms misses powers of two; complex numbers have none to miss
    "log2": lambda x: f"jnp.log2({x})" if is_complex(x.dtype or "") else f"log2({x})",
    # ``//`` of integers; ``//`` of jax gives NaN where floats are divided by 0
    "floor_divide": lambda x1, x2: f"{x1} // {x2}" if is_integer(x1.dtype or x2.dtype or "") else f"floor_divide({x1}, {x2})",
})  # fmt: skip


@rows.row("sign")
def sign(x: Operand) -> str:
    """A helper for complex numbers."""
    return f"complex_sign({x})" if is_complex(x.dtype or "") else f"lax.sign({x})"


@rows.row("clip")
def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> str:
    """A helper, for ``jnp.clip`` halves the gradient at a bound."""
    bounds = f", {low}" + (f", {high}" if high is not None else "") if low is not None else f", high={high}"
    return f"clip({x}{bounds})"


@rows.row("pow")
def power(x1: Operand, x2: Operand) -> str:
    """``**``, with cheaper functions for the exponents that have them."""
    dtype = x1.dtype or x2.dtype or ""
    if is_integer(dtype) and x2.dtype and x2.dtype.startswith("int"):
        return f"integer_power({x1}, {x2})"
    if is_integer(dtype) and not x1.dtype:  # of a number and an array without axes, JAX makes int32
        return f"jnp.{dtype}({x1}) ** {x2}"
    exponent = None if x2.dtype else number_in(x2)
    if exponent in (0.5, -0.5) and is_floating(dtype):
        return f"lax.{'sqrt' if exponent > 0 else 'rsqrt'}({x1})"
    if exponent is not None and exponent.is_integer() and abs(exponent) <= 16:
        return f"{x1} ** {f'({exponent:.0f})' if exponent < 0 else f'{exponent:.0f}'}"
    return f"power({x1}, {x2})" if x1.dtype and x2.dtype and is_floating(dtype) else f"{x1} ** {x2}"
