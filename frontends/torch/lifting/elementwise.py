"""Elementwise functions: those of the array API standard, of ``torch.special``, quantization and others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ....ir import Graph, Value
from ....ir.node import Node, distinct
from ....ops.dtypes import is_complex, is_floating, is_inexact
from ....sizes import Size, apply, product
from ....trees import iterate_structure, map_structure
from ...common.input_checks import LINEAR_ALGEBRA
from ...common.read_numbers import as_index, fix_numbers, is_read, read
from ..basics.tensors import dtype_name, result_type, torch_dtype
from .table import TorchBuilder, rows

# Arguments whose numbers are elements, by the bare name of the call: their positions and keywords, or None
# for all arguments. Such a number may differ at each call. In other arguments (a size, an axis) a guard
# requires the number that was read while recording, except in an index of ``__getitem__`` or ``__setitem__``.
_ELEMENTS: dict[str, frozenset[Any] | None] = {
    **dict.fromkeys(
        (
            "add", "__add__", "__radd__", "sub", "subtract", "__sub__", "rsub", "__rsub__", "mul", "multiply",
            "__mul__", "__rmul__", "pow", "__pow__", "__rpow__", "div", "divide", "true_divide", "__div__",
            "__truediv__", "__rdiv__", "__rtruediv__", "floor_divide", "__floordiv__", "__rfloordiv__",
            "remainder", "__mod__", "__rmod__", "eq", "__eq__", "ne", "not_equal", "__ne__", "lt", "less",
            "__lt__", "le", "less_equal", "__le__", "gt", "greater", "__gt__", "ge", "greater_equal",
            "__ge__", "clamp", "clip", "clamp_min", "clamp_max", "where", "fill", "tensor", "as_tensor",
            "scalar_tensor", "new_tensor", "masked_fill", "maximum", "minimum",
        )
    ),
    "full": frozenset({1, "fill_value"}),
    "full_like": frozenset({1, "fill_value"}),
    "new_full": frozenset({2, "fill_value"}),
    "lerp": frozenset({2, "weight"}),
    **dict.fromkeys(("batch_norm", "instance_norm"), frozenset({6, "momentum"})),
    **dict.fromkeys(("addcmul", "addcdiv"), frozenset({"value"})),
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm", "addbmm"), frozenset({"alpha"})),
}  # fmt: skip


# The same for floats that are computed from sizes, which rows write into the source as expressions.
_FLOATS: dict[str, frozenset[Any]] = {
    **dict.fromkeys(("arange", "linspace", "range"), frozenset({0, 1, 2, "start", "end", "step"})),
    "interpolate": frozenset({2, "scale_factor"}),
    "scaled_dot_product_attention": frozenset({"scale"}),
    "pad": frozenset({3, "value"}),
    **dict.fromkeys(("index_fill", "scatter"), frozenset({3, "value"})),
    "fill_diagonal": frozenset({1, "fill_value"}),
    **dict.fromkeys(("fmod", "float_power", "xlogy"), frozenset({0, 1})),
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm", "addbmm"), frozenset({"beta"})),
    **dict.fromkeys(("trapezoid", "trapz", "cumulative_trapezoid"), frozenset({"dx"})),
    **dict.fromkeys(("quantile", "nanquantile"), frozenset({1, "q"})),
    "histc": frozenset({2, 3, "min", "max"}),
}
_NONE: frozenset[Any] = frozenset()


def with_fixed_numbers(
    b: TorchBuilder, key: str, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of the call ``key`` without the symbols that its row cannot take."""
    if not (b.reads_numbers or b.has_floats):
        return args, kwargs
    if key == "__getitem__":
        return [args[0], as_index(b, args[0], args[1])], kwargs
    if key == "__setitem__":
        return [args[0], as_index(b, args[0], args[1]), *args[2:]], kwargs
    free = _ELEMENTS.get(key, _NONE)
    if free is None:
        return args, kwargs
    floats = free | _FLOATS.get(key, _NONE)
    return (
        [_fix_symbols(b, item, place in free, place in floats) for place, item in enumerate(args)],
        {name: _fix_symbols(b, item, name in free, name in floats) for name, item in kwargs.items()},
    )


def has_floats(graph: Graph) -> bool:
    return any(
        _is_float(item)
        for node in distinct(graph.nodes)
        for item in iterate_structure((node.inputs, node.params))
    )


def _fix_symbols(b: TorchBuilder, argument: Any, numbers: bool, floats: bool) -> Any:
    argument = argument if numbers else fix_numbers(b, argument)
    return (
        argument
        if floats
        else map_structure(lambda item: b.fix_number(item) if _is_float(item) else item, argument)
    )


def _is_float(item: Any) -> bool:
    return isinstance(item, Size) and item.type is float and not item.reads_elements()


@rows.row("item")
def item(b: TorchBuilder, input: Any) -> Any:
    return read(b, input)


@rows.row("tolist")
def tolist(b: TorchBuilder, input: Any) -> Any:
    if not input.ndim:
        return item(b, input)
    rows_of = [b.getitem(input, key=(place,)) for place in range(b.fix(input.shape[0]))]
    return [tolist(b, row) for row in rows_of]


HALF = ("float16", "bfloat16")


def computed(
    b: TorchBuilder, operation: Callable[..., Any], x: Any, y: Any, dtype: str, exactly: bool = False
) -> Any:
    """Apply ``operation`` to ``x`` and ``y``, promoted to ``dtype`` or to float32 (:func:`needs_float32`)."""
    if dtype in HALF and needs_float32(y, dtype, exactly):
        return b.cast(operation(b.cast(x, "float32"), b.operand(y, "float32")), dtype)
    return operation(*b.promote(x, y, dtype=dtype))


def needs_float32(y: Any, dtype: str, exactly: bool = False) -> bool:
    """Return True if operations with ``y`` are computed in float32 instead of half-precision ``dtype``."""
    if isinstance(y, Value):
        return y.ndim == 0 and y.dtype not in ("bool", dtype)
    if is_read(y):
        return True
    if isinstance(y, (Size, complex)) or y == held(y, dtype):
        return False
    return exactly or not torch.finfo(torch_dtype(dtype)).tiny <= abs(held(y, dtype)) < math.inf


def held(number: float, dtype: str) -> float:
    return (
        float(torch.tensor(number, dtype=torch.float64).to(torch_dtype(dtype))) if dtype in HALF else number
    )


def widened(b: TorchBuilder, operation: Callable[..., Any], x: Any, **params: Any) -> Any:
    return (
        b.cast(operation(b.cast(x, "float32"), **params), x.dtype)
        if x.dtype in HALF
        else operation(x, **params)
    )


# Maps torch's names of functions that compute on floats to operations. Integers and bools become the default
# float type.
_FLOAT_UNARY: dict[tuple[str, ...], str] = {
    ("acos", "arccos"): "acos", ("acosh", "arccosh"): "acosh", ("asin", "arcsin"): "asin",
    ("asinh", "arcsinh"): "asinh", ("atan", "arctan"): "atan", ("atanh", "arctanh"): "atanh", ("cos",): "cos",
    ("cosh",): "cosh", ("exp",): "exp", ("expm1", "special_expm1"): "expm1", ("log",): "log",
    ("log10",): "log10", ("log1p", "special_log1p"): "log1p", ("log2",): "log2",
    ("reciprocal",): "reciprocal", ("sin",): "sin", ("sinh",): "sinh", ("sqrt",): "sqrt", ("tan",): "tan",
    ("tanh",): "tanh",
}  # fmt: skip
# Rounding of integers changes nothing.
_ROUNDING: dict[tuple[str, ...], str] = {("ceil",): "ceil", ("floor",): "floor", ("trunc", "fix"): "trunc"}
_KEEPING: dict[tuple[str, ...], str] = {
    ("neg", "negative", "__neg__"): "negative",
    ("bitwise_not", "__invert__"): "bitwise_invert",
}
_PREDICATES: dict[tuple[str, ...], str] = {
    ("isfinite",): "isfinite",
    ("isinf",): "isinf",
    ("isnan",): "isnan",
    ("signbit",): "signbit",
}
# Functions of two operands of one type.
_BINARY: dict[tuple[str, ...], str] = {
    ("eq", "__eq__"): "equal", ("ne", "not_equal", "__ne__"): "not_equal",
    ("lt", "less", "__lt__"): "less", ("le", "less_equal", "__le__"): "less_equal",
    ("gt", "greater", "__gt__"): "greater", ("ge", "greater_equal", "__ge__"): "greater_equal",
    ("bitwise_and", "__and__", "__rand__"): "bitwise_and", ("bitwise_or", "__or__", "__ror__"): "bitwise_or",
    ("bitwise_xor", "__xor__", "__rxor__"): "bitwise_xor",
    ("bitwise_left_shift", "__lshift__"): "bitwise_left_shift",
    ("bitwise_right_shift", "__rshift__"): "bitwise_right_shift", ("remainder", "__mod__"): "remainder",
    ("maximum",): "maximum", ("minimum",): "minimum", ("hypot",): "hypot", ("nextafter",): "nextafter",
}  # fmt: skip
_FLOAT_BINARY: dict[tuple[str, ...], str] = {("atan2", "arctan2"): "atan2", ("copysign",): "copysign"}
_REFLECTED = {
    "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift",
}  # fmt: skip
_LOGICAL = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor"}


def floats(b: TorchBuilder, *operands: Any) -> tuple[Any, ...]:
    return b.promote(*operands, dtype=_float_type(*operands))


def _float_type(*operands: Any) -> str:
    kind = result_type(*operands)
    return kind if is_inexact(kind) else dtype_name(None)


def _register_unary(names: tuple[str, ...], op: str) -> None:
    @rows.row(*names)
    def unary(b: TorchBuilder, input: Any) -> Any:
        return getattr(b, op)(b.floating(input) if names in _FLOAT_UNARY else b.array(input))


def _register_rounding(names: tuple[str, ...], op: str) -> None:
    @rows.row(*names)
    def rounding(b: TorchBuilder, input: Any) -> Any:
        return getattr(b, op)(input) if is_inexact(input.dtype) else input


def _register_binary(names: tuple[str, ...], op: str) -> None:
    @rows.row(*names)
    def binary(b: TorchBuilder, input: Any, other: Any) -> Any:
        return getattr(b, op)(
            *(floats(b, input, other) if names in _FLOAT_BINARY else b.promote(input, other))
        )


def _register_reflected(name: str, op: str) -> None:
    @rows.row(name)
    def reflected(b: TorchBuilder, input: Any, other: Any) -> Any:
        return getattr(b, op)(*b.promote(other, input))


def _register_logical(name: str, op: str) -> None:
    @rows.row(name)
    def logical(b: TorchBuilder, input: Any, other: Any) -> Any:
        return getattr(b, op)(truth(b, input), truth(b, other))


def truth(b: TorchBuilder, x: Any) -> Any:
    return b.cast(b.array(x), "bool")


for _names, _op in {**_FLOAT_UNARY, **_KEEPING, **_PREDICATES}.items():
    _register_unary(_names, _op)
for _names, _op in _ROUNDING.items():
    _register_rounding(_names, _op)
for _names, _op in {**_BINARY, **_FLOAT_BINARY}.items():
    _register_binary(_names, _op)
for _name, _op in _REFLECTED.items():
    _register_reflected(_name, _op)
for _name, _op in _LOGICAL.items():
    _register_logical(_name, _op)


@rows.row("logaddexp")
def logaddexp(b: TorchBuilder, input: Any, other: Any) -> Any:
    x, y = b.promote(input, other)
    if not is_complex(x.dtype):
        return b.logaddexp(x, y)
    is_larger = b.greater_equal(b.real(x), b.real(y))
    larger, smaller = b.where(is_larger, x, y), b.where(is_larger, y, x)
    return b.add(larger, b.log1p(b.exp(b.subtract(smaller, larger))))


@rows.row("add", "__add__", "__radd__")
def add(b: TorchBuilder, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    x, y = b.promote(input, other)
    return b.add(x, _addend(b, x, y, alpha))


@rows.row("sub", "subtract", "__sub__")
def sub(b: TorchBuilder, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    x, y = b.promote(input, other)
    return b.subtract(x, _addend(b, x, y, alpha))


def _addend(b: TorchBuilder, x: Any, y: Any, factor: Any) -> Any:
    return b.operand(scaled(b, y, factor), (x if hasattr(x, "spec") else y).dtype)


def scaled(b: TorchBuilder, x: Any, factor: Any) -> Any:
    if factor is True or (not hasattr(factor, "spec") and factor == 1):
        return x
    return b.multiply(x, b.promote(x, factor, dtype=x.dtype)[1]) if hasattr(x, "spec") else x * factor


@rows.row("mul", "multiply", "__mul__", "__rmul__")
def mul(b: TorchBuilder, input: Any, other: Any) -> Any:
    return computed(b, b.multiply, input, other, result_type(input, other))


@rows.row("div", "divide", "true_divide", "__div__", "__truediv__")
def div(b: TorchBuilder, input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return computed(b, b.divide, input, other, _float_type(input, other))
    operation = b.trunc_divide if rounding_mode == "trunc" else b.floor_divide
    return computed(b, operation, input, other, result_type(input, other), exactly=True)


@rows.row("__rdiv__", "__rtruediv__")
def rdiv(b: TorchBuilder, input: Any, other: Any) -> Any:
    if input.dtype in HALF and needs_float32(other, input.dtype):
        return mul(b, b.reciprocal(input), other)
    return b.divide(*floats(b, other, input))


@rows.row("pow", "__pow__")
def power(b: TorchBuilder, input: Any, exponent: Any) -> Any:
    x, y = b.promote(input, exponent)
    if (x if hasattr(x, "spec") else y).dtype == "bool":
        return b.logical_or(b.array(x, "bool"), b.logical_not(b.array(y, "bool")))
    return b.pow(x, y)


@rows.row("sign")
def sign(b: TorchBuilder, input: Any) -> Any:
    if is_floating(input.dtype):
        # The sign of NaN is 0 in torch, and NaN by the operation ``sign``.
        return b.subtract(b.cast(b.greater(input, 0.0), input.dtype), b.cast(b.less(input, 0.0), input.dtype))
    return input if input.dtype == "bool" else b.sign(input)


@rows.row("round", "special_round")
def round_(b: TorchBuilder, input: Any, *, decimals: int = 0) -> Any:
    if not is_inexact(input.dtype) or decimals == 0:
        return b.round(input) if is_inexact(input.dtype) else input
    # Numbers are scaled by the same operations as in torch, because others would round differently.
    power = 10.0 ** abs(decimals)
    if decimals > 0:
        return b.divide(b.round(b.multiply(input, power)), power)
    return b.multiply(b.round(b.divide(input, power)), power)


@rows.row("clamp", "clip")
def clamp(b: TorchBuilder, input: Any, min: Any = None, max: Any = None) -> Any:
    given = [operand for operand in (input, min, max) if operand is not None]
    promoted = iter(b.promote(*given))
    operands: list[Any] = [None if operand is None else next(promoted) for operand in (input, min, max)]
    x, low, high = operands
    if x.dtype != "bool":
        return b.clip(x, low, high)
    # For bools the larger of two is their "or", and the smaller their "and".
    x = x if low is None else b.logical_or(x, b.array(low, "bool"))
    return x if high is None else b.logical_and(x, b.array(high, "bool"))


@rows.row("clamp_min")
def clamp_min(b: TorchBuilder, input: Any, min: Any) -> Any:
    return clamp(b, input, min)


rows.table({
    "logical_not": lambda b, input: b.logical_not(truth(b, input)),
    ("rsub", "__rsub__"): lambda b, input, other, *, alpha=1:
        sub(b, other, input, alpha=alpha),
    ("floor_divide", "__floordiv__"): lambda b, input, other: div(b, input, other, rounding_mode="floor"),
    "__rpow__": lambda b, input, other: power(b, other, input),
    ("abs", "absolute", "__abs__"): lambda b, input:
        input if input.dtype.startswith("uint") else b.abs(input),
    # For complex numbers the operation ``sign`` is ``x / abs(x)``.
    "sgn": lambda b, input:
        b.sign(input) if is_complex(input.dtype) else sign(b, input),
    # As ``pow(input, 2)``, the square of bools is an integer.
    "square": lambda b, input: b.square(b.promote(input, 2)[0]),
    "clamp_max": lambda b, input, max: clamp(b, input, None, max),
    "real": lambda b, input: b.real(input) if is_complex(input.dtype) else input,
    "imag": lambda b, input: b.imag(input),
    ("conj", "conj_physical", "_conj", "_conj_physical"): lambda b, input:
        b.conj(input) if is_complex(input.dtype) else input,
})  # fmt: skip


def _within_one(b: TorchBuilder, x: Any) -> Any:
    return b.logical_and(b.greater_equal(x, 0), b.less_equal(x, 1)) if isinstance(x, Value) else None


def _categories(b: TorchBuilder, node: Node) -> Any:
    weights = node.inputs[1]
    are_weights = b.all(b.logical_and(b.greater_equal(weights, 0), b.isfinite(weights)))
    return b.logical_and(are_weights, b.all(b.greater(b.sum(weights, axis=-1), 0)))


def _repetitions(b: TorchBuilder, node: Node) -> Any:
    given = [b.greater_equal(weights, 0) for weights in node.inputs[1:] if isinstance(weights, Value)]
    return b.all(given[0]) if len(given) == 1 else b.logical_and(*map(b.all, given)) if given else None


def _repeated_whole(b: TorchBuilder, node: Node) -> Any:
    total = node.params.get("total")
    return None if total is None or len(node.inputs) == 1 else b.equal(b.sum(node.inputs[1]), total)


def _divisor(b: TorchBuilder, node: Node) -> Any:
    # On the CPU torch raises for a division of integers by 0, also while recording, so a constant divisor is
    # not 0 there.
    divisor = node.inputs[1]
    made = b.maker(divisor)
    is_array = isinstance(divisor, Value) and not (made is not None and made.op == "full")
    return (
        b.not_equal(divisor, 0)
        if is_array and not is_inexact(divisor.dtype) and divisor.dtype != "bool"
        else None
    )


# Conditions on elements under which torch does not raise, by operation: an array of bools, or None if there
# is nothing to check.
CONDITIONS: dict[str, Callable[[TorchBuilder, Node], Any]] = {
    "random_bernoulli": lambda b, node: _within_one(b, node.inputs[1]),
    "random_poisson": lambda b, node: b.greater_equal(node.inputs[1], 0),
    "random_categorical": _categories,
    "quantile": lambda b, node: _within_one(b, node.inputs[1]),
    "cov": _repetitions,
    # torch raises if there are fewer new elements than the mask selects.
    "masked_scatter": lambda b, node: b.less_equal(
        b.count_nonzero(node.inputs[1]), product(node.inputs[2].shape)
    ),
    "repeat": _repeated_whole,
    "cholesky_inverse": lambda b, node: b.not_equal(b.diagonal(node.inputs[0]), 0),
    **LINEAR_ALGEBRA,
    **dict.fromkeys(("floor_divide", "trunc_divide", "remainder", "fmod"), _divisor),
}


# ---------------------------------------------------------------------------------------------------- special
# Elementwise functions beyond the array API standard: ``torch.special``, quantization and others.

# Maps torch's names of functions that compute on floats to operations.
_SPECIAL_UNARY: dict[tuple[str, ...], str] = {
    ("digamma", "special_digamma", "special_psi", "psi"): "digamma", ("erf", "special_erf"): "erf",
    ("erfc", "special_erfc"): "erfc", ("erfinv", "special_erfinv"): "erfinv",
    ("exp2", "special_exp2"): "exp2", ("i0", "special_i0"): "i0", ("lgamma", "special_gammaln"): "lgamma",
    ("rsqrt",): "rsqrt", ("sigmoid", "special_expit", "expit"): "sigmoid", ("sinc", "special_sinc"): "sinc",
    ("special_modified_bessel_i0",): "i0", ("special_modified_bessel_i1",): "i1",
    ("special_modified_bessel_k0",): "bessel_k0", ("special_modified_bessel_k1",): "bessel_k1",
    ("special_scaled_modified_bessel_k0",): "bessel_k0e",
    ("special_scaled_modified_bessel_k1",): "bessel_k1e",
    **{(f"special_{name}",): name for name in (
        "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "entr", "erfcx", "i0e", "i1", "i1e",
        "log_ndtr", "ndtr", "ndtri", "spherical_bessel_j0",
    )},
}  # fmt: skip
_PROMOTED_BINARY = {"fmod": "fmod", "gcd": "gcd", "lcm": "lcm", "logaddexp2": "logaddexp2"}
_SPECIAL_BINARY: dict[tuple[str, ...], str] = {
    ("xlogy", "special_xlogy"): "xlogy", ("special_xlog1py",): "xlog1py", ("special_zeta",): "zeta",
    ("igamma", "special_gammainc"): "gammainc", ("igammac", "special_gammaincc"): "gammaincc",
}  # fmt: skip
_POLYNOMIALS = {
    "chebyshev_polynomial_t": "chebyshev_t", "chebyshev_polynomial_u": "chebyshev_u",
    "chebyshev_polynomial_v": "chebyshev_v", "chebyshev_polynomial_w": "chebyshev_w",
    "hermite_polynomial_h": "hermite_h", "hermite_polynomial_he": "hermite_he",
    "laguerre_polynomial_l": "laguerre_l", "legendre_polynomial_p": "legendre_p",
}  # fmt: skip


def _register_special_unary(names: tuple[str, ...], op: str) -> None:
    @rows.row(*names)
    def unary(b: TorchBuilder, input: Any) -> Any:
        return getattr(b, op)(b.floating(input))


def _register_special_binary(names: tuple[str, ...], op: str, floating: bool) -> None:
    @rows.row(*names)
    def binary(b: TorchBuilder, input: Any, other: Any) -> Any:
        return getattr(b, op)(*(floats(b, input, other) if floating else b.promote(input, other)))


def _register_polynomial(name: str, kind: str, shifted: bool) -> None:
    @rows.row(name)
    def polynomial(b: TorchBuilder, x: Any, n: Any) -> Any:
        x, n = floats(b, x, n)
        if shifted:
            x = b.subtract(b.multiply(x, 2.0), 1.0) if hasattr(x, "spec") else 2.0 * x - 1.0
        return b.orthogonal_polynomial(x, n, kind=kind)


def _register_extreme(name: str, of_integers: str) -> None:
    @rows.row(name)
    def extreme(b: TorchBuilder, input: Any, other: Any) -> Any:
        x, y = b.promote(input, other)
        return getattr(b, name if is_inexact((x if hasattr(x, "spec") else y).dtype) else of_integers)(x, y)


_register_extreme("fmax", "maximum")
_register_extreme("fmin", "minimum")
for _names, _op in _SPECIAL_UNARY.items():
    _register_special_unary(_names, _op)
for _name, _op in _PROMOTED_BINARY.items():
    _register_special_binary((_name,), _op, floating=False)
for _names, _op in _SPECIAL_BINARY.items():
    _register_special_binary(_names, _op, floating=True)
for _name, _kind in _POLYNOMIALS.items():
    _register_polynomial(f"special_{_name}", _kind, shifted=False)
    if _name.startswith("chebyshev"):
        _register_polynomial(f"special_shifted_{_name}", _kind, shifted=True)


@rows.row("logit", "special_logit")
def logit(b: TorchBuilder, input: Any, eps: float | None = None) -> Any:
    return b.logit(b.floating(input), eps=eps)


@rows.row("polygamma", "special_polygamma")
def polygamma(b: TorchBuilder, n: Any, input: Any = None) -> Any:
    # ``Tensor.polygamma(n)`` passes the array first, ``torch.polygamma(n, x)`` the number.
    n, input = (input, n) if hasattr(n, "spec") else (n, input)
    x, n = b.floating(input), b.fix(n)
    return b.digamma(x) if n == 0 else b.polygamma(x, n=n)


@rows.row("mvlgamma", "special_multigammaln")
def mvlgamma(b: TorchBuilder, input: Any, p: int) -> Any:
    x = b.floating(input)
    total = b.lgamma(x)
    for index in range(1, p):
        total = b.add(total, b.lgamma(b.subtract(x, index / 2)))
    return b.add(total, p * (p - 1) / 4 * math.log(math.pi)) if p > 1 else total


rows.table({
    "frexp": lambda b, input: b.frexp(input),
    "ldexp": lambda b, input, other:
        b.multiply(*b.promote(input, b.exp2(b.floating(other)))),
    "frac": lambda b, input: b.subtract(input, b.trunc(input)),
    "deg2rad": lambda b, input: b.multiply(b.floating(input), math.pi / 180),
    "rad2deg": lambda b, input: b.multiply(b.floating(input), 180 / math.pi),
    "isposinf": lambda b, input:
        b.equal(input, math.inf) if is_inexact(input.dtype) else b.zeros(shape=input.shape, dtype="bool"),
    "isneginf": lambda b, input:
        b.equal(input, -math.inf) if is_inexact(input.dtype) else b.zeros(shape=input.shape, dtype="bool"),
    # A complex number is real if its imaginary part is 0.
    "isreal": lambda b, input:
        b.equal(b.imag(input), 0.0) if is_complex(input.dtype) else b.ones(shape=input.shape, dtype="bool"),
    "angle": lambda b, input: b.angle(b.floating(input)),
})  # fmt: skip


@rows.row("float_power")
def float_power(b: TorchBuilder, input: Any, exponent: Any) -> Any:
    kind = "complex128" if is_complex(result_type(input, exponent)) else "float64"
    return b.pow(*b.promote(input, exponent, dtype=kind))


@rows.row("nan_to_num")
def nan_to_num(
    b: TorchBuilder,
    input: Any,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    return (
        b.nan_to_num(input, nan=nan or 0.0, posinf=posinf, neginf=neginf)
        if is_inexact(input.dtype)
        else input
    )


@rows.row("heaviside")
def heaviside(b: TorchBuilder, input: Any, values: Any) -> Any:
    zero = b.array(0, input.dtype)
    return b.where(b.equal(input, zero), values, b.cast(b.greater(input, zero), input.dtype))


@rows.row("isclose")
def isclose(
    b: TorchBuilder, input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x, y = floats(b, input, other)
    return b.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)


@rows.row("lerp")
def lerp(b: TorchBuilder, input: Any, end: Any, weight: Any) -> Any:
    # Computing from the nearer end makes a weight of 1 return ``end`` exactly.
    difference = b.subtract(end, input)
    weight = b.array(weight, input.dtype) if isinstance(weight, Size) else weight
    if not hasattr(weight, "spec"):
        if abs(weight) < 0.5:
            return b.add(input, b.multiply(difference, weight))
        return b.subtract(end, b.multiply(difference, 1 - weight))
    weight = b.cast(weight, input.dtype)
    near = b.add(input, b.multiply(weight, difference))
    far = b.subtract(end, b.multiply(difference, b.subtract(1.0, weight)))
    return b.where(b.less(b.abs(weight), 0.5), near, far)


@rows.row("addcmul")
def addcmul(b: TorchBuilder, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    x, y, z = b.promote(input, tensor1, tensor2)
    return b.add(x, b.multiply(scaled(b, y, value), z))


@rows.row("addcdiv")
def addcdiv(b: TorchBuilder, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    x, y, z = b.promote(input, tensor1, tensor2)
    return b.add(x, div(b, scaled(b, y, value), z))


# With a scale for each channel, torch computes levels in int64, where larger numbers overflow to the
# smallest.
_LEVELS = 2.0**63


@rows.row("fake_quantize_per_tensor_affine")
def per_tensor(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Any:
    value, inside = per_tensor_with_mask(b, input, scale, zero_point, quant_min, quant_max)
    return b.with_gradient(value, input, b.cast(inside, input.dtype))


@rows.row("fake_quantize_per_tensor_affine_cachemask")
def per_tensor_with_mask(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> tuple[Any, Any]:
    kind = _computed_in(input)
    inverse, step = _steps(b, scale, kind)
    zero = _alone(b, zero_point, kind)
    level = b.add(b.round(b.multiply(b.cast(input, kind), inverse)), zero)
    value = b.multiply(
        b.cast(b.subtract(_limited(b, level, quant_min, quant_max), zero), "float32"), b.cast(step, "float32")
    )
    return b.cast(value, input.dtype), _inside(b, level, quant_min, quant_max)


@rows.row("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def per_tensor_where_enabled(
    b: TorchBuilder,
    input: Any,
    scale: Any,
    zero_point: Any,
    fake_quant_enabled: Any,
    quant_min: int,
    quant_max: int,
) -> tuple[Any, Any]:
    value, inside = per_tensor_with_mask(b, input, scale, zero_point, quant_min, quant_max)
    enabled = b.not_equal(_alone(b, fake_quant_enabled, fake_quant_enabled.dtype), 0)
    return b.where(enabled, value, input), b.logical_or(b.logical_not(enabled), inside)


@rows.row("fake_quantize_per_channel_affine")
def per_channel(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    value, inside = per_channel_with_mask(b, input, scale, zero_point, axis, quant_min, quant_max)
    return b.with_gradient(value, input, b.cast(inside, input.dtype))


@rows.row("fake_quantize_per_channel_affine_cachemask")
def per_channel_with_mask(
    b: TorchBuilder, input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> tuple[Any, Any]:
    kind = _computed_in(input)
    for part in (scale, zero_point):
        b.guard(apply("eq", part.shape[0], input.shape[axis]))
    shape = tuple(size if number == axis else 1 for number, size in enumerate(input.shape))
    inverse, step = (b.reshape(part, shape=shape) for part in _steps(b, scale, kind))
    zero, scaled = b.reshape(b.cast(zero_point, kind), shape=shape), b.multiply(b.cast(input, kind), inverse)
    if is_inexact(zero_point.dtype):
        level = b.round(b.add(scaled, zero))
    else:
        level = b.add(b.round(scaled), zero)
        b.expect(
            b.all(b.logical_and(b.greater_equal(zero_point, quant_min), b.less_equal(zero_point, quant_max))),
            True,
        )
    # Unlike in the call with one scale, torch computes levels in int64, so levels that overflow become the
    # smallest one.
    level = b.where(b.less(level, _LEVELS), level, -_LEVELS)
    value = b.multiply(b.subtract(_limited(b, level, quant_min, quant_max), zero), step)
    return b.cast(value, input.dtype), _inside(b, level, quant_min, quant_max)


def _computed_in(x: Any) -> str:
    return "float64" if x.dtype == "float64" else "float32"


def _steps(b: TorchBuilder, scale: Any, kind: str) -> tuple[Any, Any]:
    if isinstance(scale, (int, float)):
        # torch rounds the scale and its inverse to float32.
        single = torch.tensor(scale, dtype=torch.float32)
        return (1 / single).item(), single.item()
    array = _alone(b, b.array(scale, "float32"), "float32")
    return b.cast(b.divide(1.0, array), kind), b.cast(array, kind)


def _alone(b: TorchBuilder, number: Any, kind: str) -> Any:
    if isinstance(number, (int, float)):
        return float(number)
    return b.cast(b.reshape(number, shape=()) if number.ndim == 1 and number.shape == (1,) else number, kind)


def _limited(b: TorchBuilder, level: Any, quant_min: int, quant_max: int) -> Any:
    return b.where(
        # NaN compares as False, so it becomes the lowest level, as in torch.
        b.greater_equal(level, float(quant_min)),
        b.clip(level, None, float(quant_max)),
        float(quant_min),
    )


def _inside(b: TorchBuilder, level: Any, quant_min: int, quant_max: int) -> Any:
    return b.logical_and(b.greater_equal(level, float(quant_min)), b.less_equal(level, float(quant_max)))
