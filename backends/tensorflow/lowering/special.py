"""Element-wise functions beyond the array API standard in TensorFlow."""

from __future__ import annotations

from ....ops.dtypes import is_complex, is_integer
from ...rows import Operand
from .table import rows

_SPECIAL = ("bessel_j0", "bessel_j1")
_OF_POSITIVE = {
    "bessel_k0": "math.inf",
    "bessel_k0e": "math.inf",
    "bessel_k1": "math.inf",
    "bessel_k1e": "math.inf",
    "bessel_y0": "-math.inf",
    "bessel_y1": "-math.inf",
}
_MATH = ("erf", "erfc", "erfinv", "lgamma", "ndtri", "rsqrt", "sigmoid")
_HELPERS = ("airy_ai", "digamma", "entr", "erfcx", "i0", "i1", "i1e", "log_ndtr", "spherical_bessel_j0")
_HELPERS_OF_TWO = ("fmax", "fmin", "gammainc", "gammaincc", "gcd", "lcm", "logaddexp2", "xlog1py", "xlogy", "zeta")

rows.table({name: f"tf.math.special.{name}({{x}})" for name in _SPECIAL})
rows.table({name: f"of_positive(tf.math.special.{name}, {{x}}, {at_zero})" for name, at_zero in _OF_POSITIVE.items()})
rows.table({name: f"tf.math.{name}({{x}})" for name in _MATH})
rows.table({name: f"{name}({{x}})" for name in _HELPERS})
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in _HELPERS_OF_TWO})
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
    # a helper for real numbers; ``tf.math.angle`` of complex ones
    "angle": lambda x: f"atan2(tf.math.imag({x}), tf.math.real({x}))" if is_complex(x.dtype or "") else f"real_angle({x})",
})  # fmt: skip


@rows.row("trunc_divide")
def trunc_divide(x1: Operand, x2: Operand) -> str:
    """``tf.truncatediv`` of integers."""
    integers = is_integer(x1.dtype or x2.dtype or "")
    return f"tf.truncatediv({x1}, {x2})" if integers else f"trunc({x1} / {x2})"
