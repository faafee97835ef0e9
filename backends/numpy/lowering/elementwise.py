"""Rows of element-wise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops.dtypes import is_complex, is_floating, is_integer
from ...common.row_texts import HALF
from ...common.rows import Operand, number_in
from .table import rows

_SAME_NAME = (
    "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log",
    "log10", "log1p", "log2", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    "trunc",
)  # fmt: skip
_SAME_NAME_OF_TWO = ("copysign", "hypot", "logaddexp", "maximum", "minimum", "nextafter")
_ARCS = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
}
_OPERATORS = {
    "add": "+", "bitwise_and": "&", "bitwise_left_shift": "<<", "bitwise_or": "|",
    "bitwise_right_shift": ">>", "bitwise_xor": "^", "divide": "/", "equal": "==", "greater": ">",
    "greater_equal": ">=", "less": "<", "less_equal": "<=", "logical_and": "&", "logical_or": "|",
    "logical_xor": "^", "multiply": "*", "not_equal": "!=", "subtract": "-",
}  # fmt: skip

rows.table({name: f"np.{name}({{x}})" for name in _SAME_NAME})
rows.table({"abs": "np.abs({x})"}, unused={"right": "it is the side of a derivative"})
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
    if low is not None and high is not None:
        return f"np.clip({x}, {low}, {high})"
    return f"np.minimum({x}, {high})" if low is None else f"np.maximum({x}, {low})"


# A division by zero raises in torch, while the functions of numpy return 0.
def quotient(function: str, template: str) -> Callable[..., str]:
    def row(x1: Operand, x2: Operand) -> str:
        if is_integer(x1.dtype or x2.dtype or "") and not (x2.dtype is None and number_in(x2)):
            return f"checked_division({function}, {x1}, {x2})"
        return template.format(x1=x1, x2=x2)

    return row


rows.row("floor_divide")(quotient("np.floor_divide", "{x1} // {x2}"))
rows.row("remainder")(quotient("np.remainder", "{x1} % {x2}"))
rows.row("fmod")(quotient("np.fmod", "np.fmod({x1}, {x2})"))


@rows.row("pow")
def power(x1: Operand, x2: Operand) -> str:
    dtype = x1.dtype or x2.dtype or ""
    if is_integer(dtype) and x2.dtype and x2.dtype.startswith("int"):
        return f"integer_power({x1}, {x2})"
    exponent = None if x2.dtype else number_in(x2)
    if exponent in (0.5, -0.5) and is_floating(dtype):
        return f"np.sqrt({x1})" if exponent > 0 else f"1 / np.sqrt({x1})"
    # NumPy has no shortcut for cubes, and its general power is many times slower than two products.
    if exponent == 3:
        return f"{x1} * {x1} * {x1}"
    if exponent is not None and exponent.is_integer() and abs(exponent) <= 16:
        return f"{x1} ** {f'({exponent:.0f})' if exponent < 0 else f'{exponent:.0f}'}"
    return f"{x1} ** {x2}"


_SCIPY = ("entr", "erf", "erfc", "erfcx", "erfinv", "i0", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri")
_BESSEL = {f"bessel_{name}": name for name in ("j0", "j1", "k0", "k0e", "k1", "k1e", "y0", "y1")}
_NUMPY_OF_TWO = ("fmax", "fmin", "gcd", "lcm", "logaddexp2")

rows.table({name: f"special.{name}({{x}})" for name in _SCIPY})
rows.table({name: f"special.{scipys}({{x}})" for name, scipys in _BESSEL.items()})
rows.table({name: f"np.{name}({{x1}}, {{x2}})" for name in _NUMPY_OF_TWO})
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in ("gammainc", "gammaincc", "zeta")})
rows.table({
    "airy_ai": "airy_ai({x})",
    "complex": "complex_of({real}, {imag})",
    "digamma": "digamma({x})",
    "exp2": "np.exp2({x})",
    "frexp": "np.frexp({x})",
    "isclose": "np.isclose({x1}, {x2}, {rtol=}, {atol=}, {equal_nan=})",
    "lgamma": "lgamma({x})",
    "logit": "logit({x}, {eps=})",
    "orthogonal_polynomial": "orthogonal_polynomial({x}, {n}, {kind})",
    "polygamma": "polygamma({x}, {n})",
    "rsqrt": "1 / np.sqrt({x})",
    "sigmoid": "1 / (1 + np.exp(-{x}))",
    "sinc": "np.sinc({x})",
    "spherical_bessel_j0": "spherical_bessel_j0({x})",
    "stop_gradient": "{x}",
    "strong_product": "np.where(({x1} == 0) | ({x2} == 0), 0, {x1} * {x2})",
    "view_as_real": "np.stack([{x}.real, {x}.imag], axis=-1)",
    # ``np.angle`` of -0.0 is pi, so real numbers have a helper.
    "angle": lambda x: f"np.angle({x})" if is_complex(x.dtype or "") else f"real_angle({x})",
    # Each pair of the contiguous array is read as a complex number.
    "view_as_complex": lambda x, *, out: f"np.ascontiguousarray({x}).view(np.{out[0].dtype})[..., 0]",
})  # fmt: skip


def _of_several(name: str) -> None:
    @rows.row(name)
    def row(*operands: Operand) -> str:
        dtype = next(x.dtype for x in operands if x.dtype)
        return f"special.{name}({', '.join(x if x.dtype else f'np.{dtype}({x})' for x in operands)})"


for _name in ("betainc", "xlog1py", "xlogy"):
    _of_several(_name)


@rows.row("nan_to_num")
def nan_to_num(x: Operand, *, nan: Any, posinf: Any, neginf: Any) -> str:
    given = {"nan": None if nan == 0 else nan, "posinf": posinf, "neginf": neginf}
    options = "".join(f", {key}={value!r}" for key, value in given.items() if value is not None)
    return f"{'half_nan_to_num' if x.dtype in HALF else 'np.nan_to_num'}({x}{options})"


_rest = quotient("np.fmod", "np.fmod({x1}, {x2})")


@rows.row("trunc_divide")
def trunc_divide(x1: Operand, x2: Operand) -> str:
    integers = is_integer(x1.dtype or x2.dtype or "")
    return f"({x1} - {_rest(x1, x2)}) // {x2}" if integers else f"np.trunc({x1} / {x2})"


@rows.row("with_gradient", "refuse_gradient")
def without_derivatives(*arrays: Operand, message: str = "") -> str:
    return str(arrays[0])
