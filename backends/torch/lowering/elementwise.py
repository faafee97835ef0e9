"""Element-wise functions in torch, as operators or functions.

Operators accept a number on either side. Some functions accept tensors only, so numbers are
converted for these.
"""

from __future__ import annotations

from ....ops import ArraySpec
from ....ops.dtypes import SIGNED, is_complex, is_floating
from ...common.rows import Operand, Row
from .nn import tensor, tensors
from .table import rows

_UNARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor",
    "isfinite", "isinf", "isnan",
    "log", "log10", "log1p", "log2", "reciprocal", "round", "signbit", "sin", "sinh", "sqrt", "square",
    "tan", "tanh", "trunc",
)  # fmt: skip
_BINARY = ("copysign", "hypot", "logaddexp", "maximum", "minimum", "nextafter")
_OPERATORS = {
    "add": "+", "bitwise_and": "&", "bitwise_left_shift": "<<", "bitwise_or": "|",
    "bitwise_right_shift": ">>", "bitwise_xor": "^",
    "divide": "/", "equal": "==", "floor_divide": "//", "greater": ">", "greater_equal": ">=", "less": "<",
    "less_equal": "<=",
    "logical_and": "&", "logical_or": "|", "logical_xor": "^", "multiply": "*", "not_equal": "!=",
    "pow": "**", "remainder": "%",
    "subtract": "-",
}  # fmt: skip

rows.table({name: f"torch.{name}({{x}})" for name in _UNARY})
rows.table({name: f"{{x1}} {sign} {{x2}}" for name, sign in _OPERATORS.items()})
# torch.conj would only set a flag, so conj is written as torch.conj_physical.
rows.table({
    "bitwise_invert": "~{x}",
    "conj": "torch.conj_physical({x})",
    "imag": "{x}.imag",
    "logical_not": "~{x}",
    "negative": "-{x}",
    "positive": "+{x}",
    "real": "{x}.real",
    # The helper has another derivative at 0.
    "abs": lambda x, *, right: (
        f"absolute({x})"
        if right and is_floating(x.dtype or "")
        else f"torch.abs({x})"
    ),
})  # fmt: skip


def binary_functions(names: dict[str, str]) -> None:
    for name, function in names.items():

        def row(x1: Operand, x2: Operand, function: str = function) -> str:
            return f"{function}({', '.join(tensors(x1, x2))})"

        rows.row(name)(row)


binary_functions({name: f"torch.{name}" for name in (*_BINARY, "atan2")})


@rows.row("sign")
def sign(x: Operand) -> str:
    return f"torch.sgn({x})" if is_complex(x.dtype or "") else f"torch.sign({x})"


@rows.row("clip")
def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> str:
    # torch.clamp takes two numbers or two tensors.
    bounds = {name: bound for name, bound in (("min", low), ("max", high)) if bound is not None}
    if len({bound.spec is None for bound in bounds.values()}) == 2 or x.spec is None:
        like = next(item for item in (x, low, high) if item is not None and item.spec is not None)
        x, bounds = (
            Operand(tensor(x, like)),
            {name: Operand(tensor(bound, like)) for name, bound in bounds.items()},
        )
    return f"torch.clamp({x}, {', '.join(f'{name}={bound}' for name, bound in bounds.items())})"


_TORCH = (
    "angle",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "frexp",
    "i0",
    "lgamma",
    "rsqrt",
    "sigmoid",
    "sinc",
)
_SPECIAL = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "entr", "erfcx", "i0e", "i1", "i1e",
    "log_ndtr", "ndtr", "ndtri",
    "spherical_bessel_j0",
)  # fmt: skip
_SPECIAL_BINARY = ("xlog1py", "xlogy", "zeta")

rows.table({name: f"torch.{name}({{x}})" for name in _TORCH})
rows.table({name: f"torch.special.{name}({{x}})" for name in _SPECIAL})
rows.table({f"bessel_k{n}": f"torch.special.modified_bessel_k{n}({{x}})" for n in (0, 1)})
rows.table({f"bessel_k{n}e": f"torch.special.scaled_modified_bessel_k{n}({{x}})" for n in (0, 1)})
rows.table({
    "logit": "torch.logit({x}, {eps=})",
    "nan_to_num": "torch.nan_to_num({x}, {nan=}, {posinf=}, {neginf=})",
    "polygamma": "torch.polygamma({n}, {x})",
    "refuse_gradient": "refuse_gradient({*arrays}, {message=})",
    "stop_gradient": "{x}.detach()",
    "strong_product": "strong_product({x1}, {x2})",
    "with_gradient": "with_gradient({*arrays})",
    "trunc_divide": 'torch.div({x1}, {x2}, rounding_mode="trunc")',
    "view_as_complex": "torch.view_as_complex({x}.contiguous())",
    "view_as_real": "torch.view_as_real({x}.resolve_conj())",
    # Only the second operand of torch.fmod may be a number.
    "fmod": lambda x1, x2: f"torch.fmod({tensor(x1, x2)}, {x2})",
    "complex": lambda real, imag: f"torch.complex({', '.join(tensors(real, imag))})",
})  # fmt: skip
binary_functions({name: f"torch.special.{name}" for name in _SPECIAL_BINARY})
binary_functions({name: f"torch.{name}" for name in ("fmax", "fmin", "logaddexp2")})


@rows.row("gcd")
def _gcd(x1: Operand, x2: Operand, *, out: tuple[ArraySpec, ...]) -> str:
    divisor = f"torch.gcd({', '.join(tensors(x1, x2))})"
    # Euclid's algorithm keeps the sign of the smallest integer, whose absolute value does not fit.
    return f"{divisor}.abs()" if out[0].dtype in SIGNED else divisor


@rows.row("lcm")
def _lcm(x1: Operand, x2: Operand, *, out: tuple[ArraySpec, ...]) -> str:
    return f"{'lcm' if out[0].dtype in SIGNED else 'torch.lcm'}({', '.join(tensors(x1, x2))})"


def _incomplete_gamma(name: str, sign: int) -> Row:
    def row(x1: Operand, x2: Operand) -> str:
        a, x = tensors(x1, x2)
        return f"incomplete_gamma(torch.special.{name}, {sign}, {a}, {x})"

    return row


rows.row("gammainc")(_incomplete_gamma("gammainc", 1))
rows.row("gammaincc")(_incomplete_gamma("gammaincc", -1))


@rows.row("betainc")
def betainc(a: Operand, b: Operand, x: Operand) -> str:
    return f"betainc({', '.join(tensors(a, b, x))})"


@rows.row("isclose")
def isclose(x1: Operand, x2: Operand, *, rtol: float, atol: float, equal_nan: bool) -> str:
    return (
        f"torch.isclose({', '.join(tensors(x1, x2))}, rtol={rtol}, "
        f"atol={atol}{', equal_nan=True' if equal_nan else ''})"
    )


@rows.row("orthogonal_polynomial")
def orthogonal_polynomial(x: Operand, n: Operand, *, kind: str) -> str:
    family, _, letter = kind.partition("_")
    return f"torch.special.{family}_polynomial_{letter}({x}, {n})"
