"""Rows of element-wise functions.

``lax`` functions are preferred to those of ``jnp``, because they trace faster.
"""

from __future__ import annotations

from collections.abc import Callable

from jax.scipy import special

from ....ops.dtypes import is_complex, is_floating, is_integer
from ...common.rows import Operand, number_in
from .table import rows

_LAX = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "log",
    "log1p", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
_JNP = ("isfinite", "isinf", "isnan", "log10", "round", "signbit", "trunc")
_JNP_BINARY = ("logaddexp", "maximum", "minimum", "nextafter")
_HELPERS_OF_TWO = ("atan2", "copysign", "hypot")
_OPERATORS = {
    "add": "+", "bitwise_and": "&", "bitwise_left_shift": "<<", "bitwise_or": "|",
    "bitwise_right_shift": ">>", "bitwise_xor": "^", "divide": "/", "equal": "==", "greater": ">",
    "greater_equal": ">=", "less": "<", "less_equal": "<=", "logical_and": "&", "logical_or": "|",
    "logical_xor": "^", "multiply": "*", "not_equal": "!=", "remainder": "%", "subtract": "-",
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
    # The derivative of ``jnp.abs`` at 0 is 1, so floats have a helper.
    "abs": lambda x, *, right: f"absolute({x})" if is_floating(x.dtype or "") and not right else f"abs({x})",
    # A quotient of logarithms is not exact at powers of two, so real numbers have a helper.
    "log2": lambda x: f"jnp.log2({x})" if is_complex(x.dtype or "") else f"log2({x})",
    # ``//`` of JAX returns NaN if floats are divided by 0, so only integers use the operator.
    "floor_divide": lambda x1, x2: (
        f"{x1} // {x2}" if is_integer(x1.dtype or x2.dtype or "") else f"floor_divide({x1}, {x2})"
    ),
})  # fmt: skip


@rows.row("sign")
def sign(x: Operand) -> str:
    return f"complex_sign({x})" if is_complex(x.dtype or "") else f"lax.sign({x})"


@rows.row("clip")
def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> str:
    bounds = f", {low}" + (f", {high}" if high is not None else "") if low is not None else f", high={high}"
    return f"clip({x}{bounds})"


@rows.row("pow")
def power(x1: Operand, x2: Operand) -> str:
    dtype = x1.dtype or x2.dtype or ""
    if is_integer(dtype) and x2.dtype and x2.dtype.startswith("int"):
        return f"integer_power({x1}, {x2})"
    # For a number and a 0-dimensional array JAX would compute in int32.
    if is_integer(dtype) and not x1.dtype:
        return f"jnp.{dtype}({x1}) ** {x2}"
    exponent = None if x2.dtype else number_in(x2)
    if exponent in (0.5, -0.5) and is_floating(dtype):
        return f"lax.{'sqrt' if exponent > 0 else 'rsqrt'}({x1})"
    if exponent is not None and exponent.is_integer() and abs(exponent) <= 16:
        return f"{x1} ** {f'({exponent:.0f})' if exponent < 0 else f'{exponent:.0f}'}"
    return f"power({x1}, {x2})" if x1.dtype and x2.dtype and is_floating(dtype) else f"{x1} ** {x2}"


_SPECIAL = ("i0e", "log_ndtr")
_HELPERS = (
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_k0",
    "bessel_k0e",
    "bessel_k1",
    "bessel_k1e",
    "bessel_y0",
    "bessel_y1",
    "digamma",
    "entr",
    "i0",
    "i1",
    "i1e",
    "ndtri",
)
_SPECIAL_OF_TWO = ("fmax", "fmin", "gammainc", "gammaincc", "xlog1py", "xlogy", "zeta")

rows.table({name: f"special.{name}({{x}})" for name in _SPECIAL})
rows.table(
    {name: f"{name}({{x}})" for name in (*_HELPERS, "spherical_bessel_j0") if not name.startswith("bessel")}
)
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in _SPECIAL_OF_TWO})
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in ("gcd", "lcm")})
rows.table({name: f"jnp.{name}({{x1}}, {{x2}})" for name in ("fmod", "logaddexp2")})
rows.table({
    "betainc": "special.betainc({a}, {b}, {x})",
    "complex": "lax.complex(*jnp.broadcast_arrays({real}, {imag}))",
    "erf": "lax.erf({x})",
    "erfc": "lax.erfc({x})",
    "erfinv": "lax.erf_inv({x})",
    "exp2": "2.0 ** {x}",
    "frexp": "jnp.frexp({x})",
    "isclose": "jnp.isclose({x1}, {x2}, {rtol=}, {atol=}, {equal_nan=})",
    "lgamma": "lax.lgamma({x})",
    "logit": "logit({x}, {eps=})",
    "nan_to_num": "nan_to_num({x}, {nan=}, {posinf=}, {neginf=})",
    "ndtr": "lax.erfc(-math.sqrt(0.5) * {x}) / 2",
    "orthogonal_polynomial": "orthogonal_polynomial({x}, {n}, {kind})",
    "polygamma": "polygamma({x}, {n})",
    "rsqrt": "lax.rsqrt({x})",
    "sigmoid": "lax.logistic({x})",
    "sinc": "sine_quotient(jnp.pi * {x})",
    "refuse_gradient": "refuse_gradient({*arrays}, {message=})",
    "stop_gradient": "lax.stop_gradient({x})",
    "strong_product": "strong_product({x1}, {x2})",
    "with_gradient": "with_gradient({*arrays})",
    "view_as_complex": "lax.complex({x}[..., 0], {x}[..., 1])",
    "view_as_real": "jnp.stack([{x}.real, {x}.imag], axis=-1)",
    # ``jnp.angle`` of -0.0 is pi, and its gradient at 0 is NaN, so there are helpers.
    "angle": lambda x: f"atan2({x}.imag, {x}.real)" if is_complex(x.dtype or "") else f"real_angle({x})",
})  # fmt: skip
rows.table(
    {"masked_gradient": "masked_gradient({condition}, {x})"},
    unused={"harmless": "the elements need no replacement"},
)


# Half precision is too coarse for the polynomials of the helpers.
def _in_single(name: str) -> Callable[[Operand], str]:
    def row(x: Operand) -> str:
        return (
            f"{name}({x}.astype(jnp.float32)).astype({x}.dtype)"
            if x.dtype in ("float16", "bfloat16")
            else f"{name}({x})"
        )

    return row


for _name in _HELPERS:
    if _name.startswith("bessel"):
        rows.row(_name)(_in_single(_name))


@rows.row("erfcx")
def erfcx(x: Operand) -> str:
    # Older versions of JAX have no ``erfcx``.
    return f"special.erfcx({x})" if hasattr(special, "erfcx") else f"erfcx({x})"


@rows.row("trunc_divide")
def trunc_divide(x1: Operand, x2: Operand) -> str:
    integers = is_integer(x1.dtype or x2.dtype or "")
    # A quotient of floats would round large integers.
    return f"({x1} - jnp.fmod({x1}, {x2})) // {x2}" if integers else f"jnp.trunc({x1} / {x2})"
