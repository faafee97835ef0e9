"""Element-wise functions in TensorFlow."""

from __future__ import annotations

from ....ops.dtypes import UNSIGNED, is_complex, is_floating, is_integer
from ...common.rows import Operand, number_in
from .table import rows

_TF = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "floor",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
)
_MATH = ("ceil", "conj", "expm1", "log", "log1p")
_HELPERS_OF_TWO = ("copysign", "hypot", "logaddexp", "nextafter", "atan2")
_OPERATORS = {
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "divide": "/", "greater": ">",
    "greater_equal": ">=",
    "less": "<", "less_equal": "<=", "logical_and": "&", "logical_or": "|", "logical_xor": "^",
    "remainder": "%",
    "subtract": "-",
}  # fmt: skip
# Inside a tf.function, Grappler rewrites ~(a > b) to a <= b, which differs for NaN.
_NOT = "tf.equal({x}, False)"

rows.table({name: f"tf.{name}({{x}})" for name in _TF})
rows.table({name: f"tf.math.{name}({{x}})" for name in _MATH})
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in _HELPERS_OF_TWO})
rows.table({name: f"{{x1}} {sign} {{x2}}" for name, sign in _OPERATORS.items()})
rows.table({
    "bitwise_left_shift": "left_shift({x1}, {x2})",
    "bitwise_right_shift": "right_shift({x1}, {x2})",
    "log10": "log_to_base({x}, 10)",
    "log2": "log_to_base({x}, 2)",
    "logical_not": _NOT,
    "positive": "tf.identity({x})",
    "reciprocal": "1 / {x}",
    "signbit": "signbit({x})",
    "square": "tf.square({x})",
    "trunc": "trunc({x})",
    "bitwise_invert": lambda x: _NOT.format(x=x) if x.dtype == "bool" else f"tf.bitwise.invert({x})",
    # TensorFlow cannot negate unsigned integers, nor, in a tf.function, subtract them from 0.
    "negative": lambda x: f"tf.bitwise.invert({x}) + 1" if x.dtype in UNSIGNED else f"-{x}",
    # For floats, // of TensorFlow rounds the quotient first and misses exact results.
    "floor_divide": lambda x1, x2: (
        f"{x1} // {x2}"
        if is_integer(x1.dtype or x2.dtype or "")
        else f"floor_divide({x1}, {x2})"
    ),
})  # fmt: skip


def _equality(name: str, sign: str) -> None:
    @rows.row(name)
    def row(x1: Operand, x2: Operand) -> str:
        if x1.ndim and x2.ndim and x1.shape != x2.shape:
            # For shapes that do not broadcast, the operators return a single bool.
            return f"tf.{name}({x1}, {x2})"
        return f"{x1} {sign} {x2}"


_equality("equal", "==")
_equality("not_equal", "!=")


def _of_bools(name: str, sign: str, of_bools: str) -> None:
    @rows.row(name)
    def row(x1: Operand, x2: Operand) -> str:
        return f"{x1} {of_bools if 'bool' in (x1.dtype, x2.dtype) else sign} {x2}"


_of_bools("add", "+", "|")
_of_bools("multiply", "*", "&")


def _extreme(name: str, of_bools: str) -> None:
    @rows.row(name)
    def row(x1: Operand, x2: Operand) -> str:
        if "bool" in (x1.dtype, x2.dtype):
            return f"{x1} {of_bools} {x2}"
        return f"{'' if is_floating(x1.dtype or x2.dtype or '') else 'tf.'}{name}({x1}, {x2})"


_extreme("maximum", "|")
_extreme("minimum", "&")


@rows.row("abs")
def absolute(x: Operand, *, right: bool) -> str:
    # TFLite has no absolute value of int64.
    if x.dtype == "int64":
        return f"tf.maximum({x}, -{x})"
    if right and is_floating(x.dtype or ""):
        return f"absolute({x})"
    # Unsigned integers, which `tf.abs` does not support, are their own magnitudes.
    return f"tf.identity({x})" if x.dtype in UNSIGNED else f"tf.abs({x})"


@rows.row("sign")
def sign(x: Operand) -> str:
    # `tf.sign` supports neither unsigned integers nor bools.
    return f"tf.cast({x} > 0, tf.{x.dtype})" if x.dtype in (*UNSIGNED, "bool") else f"tf.sign({x})"


def _part(name: str) -> None:
    @rows.row(name)
    def row(x: Operand) -> str:
        if is_complex(x.dtype or ""):
            return f"tf.math.{name}({x})"
        return f"tf.identity({x})" if name == "real" else f"tf.zeros_like({x})"


_part("real")
_part("imag")


def _predicate(name: str, function: str, of_others: str, join: str) -> None:
    @rows.row(name)
    def row(x: Operand) -> str:
        if is_floating(x.dtype or ""):
            return f"{function}({x})"
        if is_complex(x.dtype or ""):
            return f"{function}(tf.math.real({x})) {join} {function}(tf.math.imag({x}))"
        return f"tf.{of_others}_like({x}, tf.bool)"


_predicate("isfinite", "tf.math.is_finite", "ones", "&")
_predicate("isinf", "tf.math.is_inf", "zeros", "|")
_predicate("isnan", "tf.math.is_nan", "zeros", "|")


@rows.row("clip")
def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> str:
    bounds = f", {low}" + (f", {high}" if high is not None else "") if low is not None else f", high={high}"
    return f"clip({x}{bounds})"


@rows.row("pow")
def power(x1: Operand, x2: Operand) -> str:
    dtype = x1.dtype or x2.dtype or ""
    if is_integer(dtype):
        return f"integer_power({x1}, {x2})"
    exponent = None if x2.dtype else number_in(x2)
    if exponent in (0.5, -0.5) and is_floating(dtype):
        return f"tf.{'sqrt' if exponent > 0 else 'math.rsqrt'}({x1})"
    if exponent == 2:
        return f"tf.square({x1})"
    if exponent == 0:
        return f"tf.ones_like({x1})"
    return f"power({x1}, {x2})" if x1.dtype and x2.dtype and is_floating(dtype) else f"{x1} ** {x2}"


_SPECIAL = ("bessel_j0", "bessel_j1")
_OF_POSITIVE = {
    "bessel_k0": "math.inf",
    "bessel_k0e": "math.inf",
    "bessel_k1": "math.inf",
    "bessel_k1e": "math.inf",
    "bessel_y0": "-math.inf",
    "bessel_y1": "-math.inf",
}
_SPECIAL_MATH = ("erf", "erfc", "erfinv", "lgamma", "ndtri", "rsqrt", "sigmoid")
_HELPERS = ("airy_ai", "digamma", "entr", "erfcx", "i0", "i1", "i1e", "log_ndtr", "spherical_bessel_j0")
_SPECIAL_OF_TWO = (
    "fmax",
    "fmin",
    "gammainc",
    "gammaincc",
    "gcd",
    "lcm",
    "logaddexp2",
    "xlog1py",
    "xlogy",
    "zeta",
)

rows.table({name: f"tf.math.special.{name}({{x}})" for name in _SPECIAL})
rows.table(
    {name: f"of_positive(tf.math.special.{name}, {{x}}, {at_zero})" for name, at_zero in _OF_POSITIVE.items()}
)
rows.table({name: f"tf.math.{name}({{x}})" for name in _SPECIAL_MATH})
rows.table({name: f"{name}({{x}})" for name in _HELPERS})
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in _SPECIAL_OF_TWO})
rows.table({
    "i0e": "tf.math.special.bessel_i0e({x})",
    "betainc": "betainc({a}, {b}, {x})",
    "complex": "tf.complex({real}, {imag})",
    "exp2": "tf.pow(tf.ones_like({x}) * 2, {x})",
    "fmod": "fmod({x1}, {x2})",
    "frexp": "frexp({x})",
    "isclose": "isclose({x1}, {x2}, {rtol=}, {atol=}, {equal_nan=})",
    "logit": "logit({x}, {eps=})",
    "nan_to_num": "nan_to_num({x}, {nan=}, {posinf=}, {neginf=})",
    "ndtr": "tf.math.erfc(-math.sqrt(0.5) * {x}) / 2",
    "orthogonal_polynomial": "orthogonal_polynomial({x}, {n}, {kind})",
    "polygamma": "polygamma({x}, {n})",
    "sinc": "sine_quotient(math.pi * {x})",
    "refuse_gradient": "refuse_gradient({*arrays}, {message=})",
    "stop_gradient": "tf.stop_gradient({x})",
    "strong_product": "strong_product({x1}, {x2})",
    "with_gradient": "with_gradient({*arrays})",
    "view_as_complex": "tf.complex({x}[..., 0], {x}[..., 1])",
    "view_as_real": "tf.stack([tf.math.real({x}), tf.math.imag({x})], axis=-1)",
    "angle": lambda x: (
        f"atan2(tf.math.imag({x}), tf.math.real({x}))"
        if is_complex(x.dtype or "")
        else f"real_angle({x})"
    ),
})  # fmt: skip


@rows.row("trunc_divide")
def trunc_divide(x1: Operand, x2: Operand) -> str:
    integers = is_integer(x1.dtype or x2.dtype or "")
    return f"tf.truncatediv({x1}, {x2})" if integers else f"trunc({x1} / {x2})"
