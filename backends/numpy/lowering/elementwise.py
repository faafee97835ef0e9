"""Element-wise functions in numpy: operators, and numpy's own functions."""

from __future__ import annotations

from collections.abc import Callable

from ....ops.dtypes import is_floating, is_integer
from ...calls import number_in
from ...rows import Operand
from .table import rows

_SAME_NAME = (
    "abs", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "round",
    "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
_SAME_NAME_OF_TWO = ("copysign", "hypot", "logaddexp", "maximum", "minimum", "nextafter")
_ARCS = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh"}
_OPERATORS = {
    "add": "+", "bitwise_and": "&", "bitwise_left_shift": "<<", "bitwise_or": "|", "bitwise_right_shift": ">>", "bitwise_xor": "^",
    "divide": "/", "equal": "==", "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=", "logical_and": "&",
    "logical_or": "|", "logical_xor": "^", "multiply": "*", "not_equal": "!=", "subtract": "-",
}  # fmt: skip

rows.table({name: f"np.{name}({{x}})" for name in _SAME_NAME})
rows.table({name: f"np.{numpys}({{x}})" for name, numpys in _ARCS.items()})
rows.table({name: f"np.{name}({{x1}}, {{x2}})" for name in _SAME_NAME_OF_TWO})
rows.table({name: f"{{x1}} {sign} {{x2}}" for name, sign in _OPERATORS.items()})
rows.table({
    "atan2": "np.arctan2({x1}, {x2})",
    "bitwise_invert": "~{x}",
    "imag": "{x}.imag",
    "logical_not": "~{x}",
    "negative": "-{x}",
    "positive": "+{x}",
    "real": "{x}.real",
    "reciprocal": "1 / {x}",
})  # fmt: skip


@rows.row("clip")
def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> str:
    """``np.clip``, or the one bound that there is."""
    if low is not None and high is not None:
        return f"np.clip({x}, {low}, {high})"
    return f"np.minimum({x}, {high})" if low is None else f"np.maximum({x}, {low})"


def quotient(function: str, template: str) -> Callable[..., str]:
    """A row that divides: of integers by a helper that raises where the divisor is 0, as torch does; numpy would give 0."""

    def row(x1: Operand, x2: Operand) -> str:
        if is_integer(x1.dtype or x2.dtype or "") and not (x2.dtype is None and number_in(x2)):
            return f"divided({function}, {x1}, {x2})"
        return template.format(x1=x1, x2=x2)

    return row


rows.row("floor_divide")(quotient("np.floor_divide", "{x1} // {x2}"))
rows.row("remainder")(quotient("np.remainder", "{x1} % {x2}"))
rows.row("fmod")(quotient("np.fmod", "np.fmod({x1}, {x2})"))


@rows.row("pow")
def power(x1: Operand, x2: Operand) -> str:
    """``**``, with cheaper functions for the exponents that have them."""
    dtype = x1.dtype or x2.dtype or ""
    if is_integer(dtype) and x2.dtype and x2.dtype.startswith("int"):
        return f"integer_power({x1}, {x2})"
    exponent = None if x2.dtype else number_in(x2)
    if exponent in (0.5, -0.5) and is_floating(dtype):
        return f"np.sqrt({x1})" if exponent > 0 else f"1 / np.sqrt({x1})"
    if exponent == 3:
        return f"{x1} * {x1} * {x1}"
    if exponent is not None and exponent.is_integer() and abs(exponent) <= 16:
        return f"{x1} ** {f'({exponent:.0f})' if exponent < 0 else f'{exponent:.0f}'}"
    return f"{x1} ** {x2}"
