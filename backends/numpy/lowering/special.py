"""Element-wise functions beyond the array API standard in numpy and ``scipy.special``."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import is_complex, is_integer
from ...half_numbers import HALF
from ...rows import Operand
from .elementwise import quotient
from .table import rows

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
    # a helper for real numbers, for ``np.angle`` of -0.0 is pi
    "angle": lambda x: f"np.angle({x})" if is_complex(x.dtype or "") else f"real_angle({x})",
    # the pairs that lie together are read as complex numbers
    "view_as_complex": lambda x, *, out: f"np.ascontiguousarray({x}).view(np.{out[0].dtype})[..., 0]",
})  # fmt: skip


def _of_several(name: str) -> None:
    @rows.row(name)
    def row(*operands: Operand) -> str:
        """scipy takes a number for float64, so it is given the type of the array beside it."""
        dtype = next(x.dtype for x in operands if x.dtype)
        return f"special.{name}({', '.join(x if x.dtype else f'np.{dtype}({x})' for x in operands)})"


for _name in ("betainc", "xlog1py", "xlogy"):
    _of_several(_name)


@rows.row("nan_to_num")
def nan_to_num(x: Operand, *, nan: Any, posinf: Any, neginf: Any) -> str:
    """``np.nan_to_num``; a helper for half precision, of which one type is not numpy's own."""
    given = {"nan": None if nan == 0 else nan, "posinf": posinf, "neginf": neginf}
    options = "".join(f", {key}={value!r}" for key, value in given.items() if value is not None)
    return f"{'half_nan_to_num' if x.dtype in HALF else 'np.nan_to_num'}({x}{options})"


_rest = quotient("np.fmod", "np.fmod({x1}, {x2})")


@rows.row("trunc_divide")
def trunc_divide(x1: Operand, x2: Operand) -> str:
    """Of integers, what is left when the rest has gone is a multiple."""
    integers = is_integer(x1.dtype or x2.dtype or "")
    return f"({x1} - {_rest(x1, x2)}) // {x2}" if integers else f"np.trunc({x1} / {x2})"


@rows.row("with_gradient", "refuse_gradient")
def without_derivatives(*arrays: Operand, message: str = "") -> str:
    """The array itself."""
    return str(arrays[0])
