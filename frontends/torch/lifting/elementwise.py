"""Elementwise functions that are also in the array API standard."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ....ir import Graph, Value
from ....ir.node import Node, distinct
from ....ops.dtypes import is_complex, is_floating, is_inexact
from ....sizes import Size, product
from ....trees import iterate_structure, map_structure
from ...common.element_conditions import LINEAR_ALGEBRA
from ...common.read_numbers import as_index, fix_numbers, is_read, read
from ..basics.tensors import dtype_name, result_type, torch_dtype
from .table import TorchBuilder, rows

# Arguments whose numbers are elements, by the bare name of the call: their positions and keywords, or None
# for all arguments. Such a number may differ at each call. In every other argument (a size, an axis, a bound,
# a rate) a guard requires the recorded number.
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
    """Return the arguments with symbolic numbers replaced by their recorded values, with guards.

    Numbers stay symbolic in the arguments that `_ELEMENTS` and `_FLOATS` list for the call `key`. In an
    index, numbers that were read from arrays become arrays.
    """
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
    """Return `argument` with symbolic numbers replaced by their recorded values, with guards.

    Numbers read from tensors stay if `numbers`, floats computed from sizes if `floats`.
    """
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
    """Lift ``Tensor.tolist`` to nested lists of 0-d arrays. The sizes are fixed."""
    if not input.ndim:
        return item(b, input)
    rows_of = [b.getitem(input, key=(place,)) for place in range(b.fix(input.shape[0]))]
    return [tolist(b, row) for row in rows_of]


HALF = ("float16", "bfloat16")


def computed(
    b: TorchBuilder, operation: Callable[..., Any], x: Any, y: Any, dtype: str, exactly: bool = False
) -> Any:
    """Apply `operation` in `dtype`, or in float32 if torch keeps the number `y` exact next to half precision.

    A loss of the last digits of `y` is ignored, unless the result is discontinuous in them (`exactly`).
    """
    if dtype in HALF and keeps(y, dtype, exactly):
        return b.cast(operation(b.cast(x, "float32"), b.operand(y, "float32")), dtype)
    return operation(*b.promote(x, y, dtype=dtype))


def keeps(y: Any, dtype: str, exactly: bool = False) -> bool:
    """Return True if rounding `y` to the half-precision `dtype` may matter.

    A 0-d array of another dtype may always matter. A number does if it overflows or underflows, or, with
    `exactly`, if it changes at all.
    """
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
    """Apply `operation` to `x`, in float32 if `x` has half precision.

    torch does so if a number decides where the result changes.
    """
    return (
        b.cast(operation(b.cast(x, "float32"), **params), x.dtype)
        if x.dtype in HALF
        else operation(x, **params)
    )


# torch's names -> operation, of functions that compute on floats: integers and bools become the default float
# type.
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
    """Lift ``torch.logaddexp``. For complex numbers, that with the larger real part is factored out."""
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
    """Lift ``torch.div``: true division of integers returns floats, a rounded one integers."""
    if rounding_mode is None:
        return computed(b, b.divide, input, other, _float_type(input, other))
    operation = b.trunc_divide if rounding_mode == "trunc" else b.floor_divide
    return computed(b, operation, input, other, result_type(input, other), exactly=True)


@rows.row("__rdiv__", "__rtruediv__")
def rdiv(b: TorchBuilder, input: Any, other: Any) -> Any:
    if input.dtype in HALF and keeps(other, input.dtype):
        return mul(b, b.reciprocal(input), other)
    return b.divide(*floats(b, other, input))


@rows.row("pow", "__pow__")
def power(b: TorchBuilder, input: Any, exponent: Any) -> Any:
    """Lift ``torch.pow``. For bools, anything to the power of False is True."""
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
    """Lift ``torch.round``, half to even.

    For `decimals`, numbers are scaled by torch's own operations, because other ones round differently.
    """
    if not is_inexact(input.dtype) or decimals == 0:
        return b.round(input) if is_inexact(input.dtype) else input
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
    # torch raises for a division of integers by 0, also while recording, so a constant divisor is not 0.
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
