"""Element-wise functions beyond the array API standard in JAX."""

from __future__ import annotations

from collections.abc import Callable

from jax.scipy import special

from ....ops.dtypes import is_complex, is_integer
from ...rows import Operand
from .table import rows

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
_HELPERS_OF_TWO = ("fmax", "fmin", "gammainc", "gammaincc", "xlog1py", "xlogy", "zeta")

rows.table({name: f"special.{name}({{x}})" for name in _SPECIAL})
rows.table({name: f"{name}({{x}})" for name in (*_HELPERS, "spherical_bessel_j0") if not name.startswith("bessel")})
rows.table({name: f"{name}({{x1}}, {{x2}})" for name in _HELPERS_OF_TWO})
rows.table({name: f"jnp.{name}({{x1}}, {{x2}})" for name in ("fmod", "gcd", "lcm", "logaddexp2")})
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
    "nan_to_num": "jnp.nan_to_num({x}, {nan=}, {posinf=}, {neginf=})",
    "ndtr": "lax.erfc(-math.sqrt(0.5) * {x}) / 2",
    "orthogonal_polynomial": "orthogonal_polynomial({x}, {n}, {kind})",
    "polygamma": "polygamma({x}, {n})",
    "rsqrt": "lax.rsqrt({x})",
    "sigmoid": "lax.logistic({x})",
    "sinc": "sine_quotient(jnp.pi * {x})",
    "followed_where": "followed_where({condition}, {x})",
    "refuse_gradient": "refuse_gradient({*arrays}, {message=})",
    "stop_gradient": "lax.stop_gradient({x})",
    "strong_product": "strong_product({x1}, {x2})",
    "with_gradient": "with_gradient({*arrays})",
    "view_as_complex": "lax.complex({x}[..., 0], {x}[..., 1])",
    "view_as_real": "jnp.stack([{x}.real, {x}.imag], axis=-1)",
    # helpers, for ``jnp.angle`` of -0.0 is pi and its gradient at 0 is NaN
    "angle": lambda x: f"atan2({x}.imag, {x}.real)" if is_complex(x.dtype or "") else f"real_angle({x})",
})  # fmt: skip


def _in_single(name: str) -> Callable[[Operand], str]:
    """A helper whose polynomials half precision is too coarse for."""

    def row(x: Operand) -> str:
        return f"{name}({x}.astype(jnp.float32)).astype({x}.dtype)" if x.dtype in ("float16", "bfloat16") else f"{name}({x})"

    return row


for _name in _HELPERS:
    if _name.startswith("bessel"):
        rows.row(_name)(_in_single(_name))


@rows.row("erfcx")
def erfcx(x: Operand) -> str:
    """A helper where JAX has none, as older versions have."""
    return f"special.erfcx({x})" if hasattr(special, "erfcx") else f"erfcx({x})"


@rows.row("trunc_divide")
def trunc_divide(x1: Operand, x2: Operand) -> str:
    """Of integers, what is left when the rest has gone is a multiple."""
    integers = is_integer(x1.dtype or x2.dtype or "")
    return f"({x1} - jnp.fmod({x1}, {x2})) // {x2}" if integers else f"jnp.trunc({x1} / {x2})"
