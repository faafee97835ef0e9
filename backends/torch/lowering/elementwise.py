"""Element-wise functions in torch: operators, which take numbers on either side, and functions, of which some take tensors alone."""

from __future__ import annotations

from ....ops.dtypes import is_complex, is_floating
from ...rows import Operand
from .table import rows
from .texts import tensor, tensors

_UNARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor", "isfinite", "isinf", "isnan",
    "log", "log10", "log1p", "log2", "reciprocal", "round", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
_BINARY = ("copysign", "hypot", "logaddexp", "maximum", "minimum", "nextafter")
_OPERATORS = {
    "add": "+", "bitwise_and": "&", "bitwise_left_shift": "<<", "bitwise_or": "|", "bitwise_right_shift": ">>", "bitwise_xor": "^",
    "divide": "/", "equal": "==", "floor_divide": "//", "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=",
    "logical_and": "&", "logical_or": "|", "logical_xor": "^", "multiply": "*", "not_equal": "!=", "pow": "**", "remainder": "%",
    "subtract": "-",
}  # fmt: skip

rows.table({name: f"torch.{name}({{x}})" for name in _UNARY})
rows.table({name: f"{{x1}} {sign} {{x2}}" for name, sign in _OPERATORS.items()})
rows.table({
    "bitwise_invert": "~{x}",
    "conj": "torch.conj_physical({x})",  # torch.conj only marks it
    "imag": "{x}.imag",
    "logical_not": "~{x}",
    "negative": "-{x}",
    "positive": "+{x}",
    "real": "{x}.real",
    # with another slope at 0 by a helper
    "abs": lambda x, *, right: f"absolute({x})" if right and is_floating(x.dtype or "") else f"torch.abs({x})",
})  # fmt: skip


def binary_functions(names: dict[str, str]) -> None:
    """Rows for functions of two tensors: operation -> function."""
    for name, function in names.items():

        def row(x1: Operand, x2: Operand, function: str = function) -> str:
            return f"{function}({', '.join(tensors(x1, x2))})"

        rows.row(name)(row)


binary_functions({name: f"torch.{name}" for name in (*_BINARY, "atan2")})


@rows.row("sign")
def sign(x: Operand) -> str:
    """torch.sgn of complex numbers."""
    return f"torch.sgn({x})" if is_complex(x.dtype or "") else f"torch.sign({x})"


@rows.row("clip")
def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> str:
    """torch.clamp takes two numbers or two tensors."""
    bounds = {name: bound for name, bound in (("min", low), ("max", high)) if bound is not None}
    if len({bound.spec is None for bound in bounds.values()}) == 2 or x.spec is None:
        like = next(item for item in (x, low, high) if item is not None and item.spec is not None)
        x, bounds = Operand(tensor(x, like)), {name: Operand(tensor(bound, like)) for name, bound in bounds.items()}
    return f"torch.clamp({x}, {', '.join(f'{name}={bound}' for name, bound in bounds.items())})"
