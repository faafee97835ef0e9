"""Rows of elementwise operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .....errors import UnsupportedOperation
from .....ir import Value
from .....ops.dtypes import ITEMSIZE, is_complex, is_floating, is_inexact
from .....sizes import product
from ....common.builder import bits_of
from ..table import TensorFlowBuilder, broadcast_together, rows

_UNARY = {
    "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
    "BesselI0": "i0", "BesselI0e": "i0e", "BesselI1": "i1", "BesselI1e": "i1e",

    "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Erfc": "erfc", "Erfinv": "erfinv",
    "Exp": "exp", "Expm1": "expm1", "Floor": "floor", "Imag": "imag", "Inv": "reciprocal",
    "Invert": "bitwise_invert", "IsFinite": "isfinite", "IsInf": "isinf", "IsNan": "isnan",
    "Lgamma": "lgamma", "Log": "log", "Log1p": "log1p", "LogicalNot": "logical_not", "Ndtri": "ndtri",
    "Neg": "negative", "Real": "real", "Reciprocal": "reciprocal", "Rint": "round", "Rsqrt": "rsqrt",
    "Sigmoid": "sigmoid", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt", "Square": "square", "Tan": "tan",
    "Tanh": "tanh",
}  # fmt: skip
_BINARY = {
    "Add": "add", "AddV2": "add", "Atan2": "atan2", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Complex": "complex", "FloorMod": "remainder", "Greater": "greater",
    "GreaterEqual": "greater_equal", "Igamma": "gammainc", "Igammac": "gammaincc", "Less": "less",
    "LessEqual": "less_equal", "LogicalAnd": "logical_and", "LogicalOr": "logical_or", "Mod": "fmod",
    "Mul": "multiply", "NextAfter": "nextafter", "Pow": "pow", "RealDiv": "divide", "Sub": "subtract",
    "TruncateDiv": "trunc_divide", "TruncateMod": "fmod",
}  # fmt: skip


def _unary(name: str) -> Callable[..., Any]:
    return lambda b, x, **_: getattr(b, name)(b.array(x))


def _binary(name: str) -> Callable[..., Any]:
    return lambda b, x, y, **_: getattr(b, name)(*b.beside(x, y))


for _operation, _name in _UNARY.items():
    rows.row(_operation)(_unary(_name))
for _operation, _name in _BINARY.items():
    rows.row(_operation)(_binary(_name))


rows.table({
    ("Abs", "ComplexAbs"): lambda b, x, **_: b.abs(b.array(x)),
    "Angle": lambda b, x, **_: b.angle(b.array(x)),
    "ApproximateEqual": lambda b, x, y, *, tolerance, **_: b.less_equal(
        b.abs(b.subtract(*b.beside(x, y))), float(tolerance)
    ),
    ("StopGradient", "GuaranteeConst"): lambda b, x, **_: b.stop_gradient(b.array(x)),
    "SelectV2": lambda b, condition, x, y, **_: b.where(
        b.array(condition, "bool"), *_select_operands(b, x, y)
    ),
})  # fmt: skip


@rows.row("Conj")
def conj(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    return b.conj(x) if is_complex(x.dtype) else x


@rows.row("Sign")
def sign(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    return b.where(b.isnan(x), x, b.sign(x)) if is_floating(x.dtype) else b.sign(x)


@rows.row("Round")
def round_(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    if not is_inexact(x.dtype):
        raise NotImplementedError("Round of integers, of which TensorFlow itself makes zeros")
    return b.round(x)


def _extreme(name: str, comparison: str) -> Callable[..., Any]:
    """Return a row of ``Maximum`` or ``Minimum`` that propagates NaN.

    The gradient of equal operands goes to the first.
    """

    def row(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
        x, y = b.beside(x, y)
        if not is_floating(b.result.dtype):
            return getattr(b, name)(x, y)
        second = getattr(b, comparison)(x, y)
        return b.where(b.logical_or(second, b.isnan(y)) if isinstance(y, Value) else second, y, x)

    return row


rows.row("Maximum")(_extreme("maximum", "less"))
rows.row("Minimum")(_extreme("minimum", "greater"))


@rows.row("Div")
def div(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
    # ``Div`` of integers truncates, as in C.
    return (b.divide if is_inexact(b.result.dtype) else b.trunc_divide)(*b.beside(x, y))


@rows.row("FloorDiv")
def floor_div(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
    x, y = b.beside(x, y)
    # For floats, ``floor_divide`` follows Python, and TensorFlow computes ``floor(x / y)``.
    return b.floor(b.divide(x, y)) if is_floating(b.result.dtype) else b.floor_divide(x, y)


@rows.row("DivNoNan")
def div_no_nan(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
    x, y = b.arrays(x, y)
    nothing = b.equal(y, 0)
    return b.where(nothing, b.array(0, x.dtype), b.divide(x, b.where(nothing, b.array(1, y.dtype), y)))


@rows.row("MulNoNan")
def mul_no_nan(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
    """Lift ``MulNoNan``: 0 where ``y`` is 0, even if ``x`` is infinite or NaN.

    Where ``y`` is 0, a finite ``x`` is still the gradient for ``y``.
    """
    x, y = b.arrays(x, y)
    nothing = b.equal(y, 0)
    finite = b.where(b.logical_and(nothing, b.logical_not(b.isfinite(x))), b.array(0, x.dtype), x)
    return b.multiply(finite, y)


@rows.row("Xdivy")
def xdivy(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
    x, y = b.arrays(x, y)
    nothing = b.equal(x, 0)
    return b.where(nothing, b.array(0, x.dtype), b.divide(x, b.where(nothing, b.array(1, y.dtype), y)))


@rows.row("SquaredDifference")
def squared_difference(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
    difference = b.subtract(*b.beside(x, y))
    return (
        b.multiply(difference, b.conj(difference)) if is_complex(difference.dtype) else b.square(difference)
    )


def _comparison(name: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, x: Any, y: Any, *, incompatible_shape_error: bool = True, **_: Any) -> Any:
        x, y = b.beside(x, y)
        if not incompatible_shape_error and b.result.ndim < max(getattr(item, "ndim", 0) for item in (x, y)):
            # Shapes that do not broadcast compare as unequal, with a scalar result.
            return b.full(shape=(), fill_value=name == "not_equal", dtype="bool")
        return getattr(b, name)(x, y)

    return row


rows.row("Equal")(_comparison("equal"))
rows.row("NotEqual")(_comparison("not_equal"))


@rows.row("Betainc")
def betainc(b: TensorFlowBuilder, a: Any, c: Any, x: Any, **_: Any) -> Any:
    a, c, x = b.arrays(a, c, x)
    # TensorFlow defines a gradient for the last operand only.
    return b.betainc(b.stop_gradient(a), b.stop_gradient(c), x)


@rows.row("Zeta")
def zeta(b: TensorFlowBuilder, x: Any, q: Any, **_: Any) -> Any:
    x, q = b.arrays(x, q)
    # TensorFlow defines a gradient for the second operand only.
    return _zeta(b, b.stop_gradient(x), q)


def _zeta(b: TensorFlowBuilder, x: Value, q: Value) -> Any:
    x, q = broadcast_together(b, x, q)
    slope = b.negative(b.multiply(x, b.zeta(b.add(x, 1.0), q)))
    return b.with_gradient(b.zeta(x, q), q, slope)


@rows.row("Polygamma", static=("a",))
def polygamma(b: TensorFlowBuilder, a: Any, x: Any, **_: Any) -> Any:
    """Lift ``Polygamma``; for a degree that is an array, by the Hurwitz zeta function."""
    if isinstance(a, float):
        return _polygamma_of(b, int(a), b.array(x, b.result.dtype))
    a, x = b.arrays(a, x)
    a = b.stop_gradient(a)
    odd = b.equal(b.remainder(a, 2.0), 1.0)
    factor = b.multiply(b.where(odd, b.array(1.0, x.dtype), -1.0), b.exp(b.lgamma(b.add(a, 1.0))))
    return b.where(b.equal(a, 0.0), _digamma(b, x), b.multiply(factor, _zeta(b, b.add(a, 1.0), x)))


def _polygamma_of(b: TensorFlowBuilder, degree: int, x: Value) -> Any:
    pole = b.logical_and(b.less_equal(x, 0), b.equal(x, b.floor(x)))
    return (
        b.where(pole, b.array(math.inf if degree % 2 else math.nan, x.dtype), b.polygamma(x, n=degree))
        if degree
        else _digamma(b, x)
    )


@rows.row("Digamma")
def _digamma(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    # TensorFlow's function is NaN at 0, while ``digamma`` is infinite there.
    return b.where(b.equal(x, 0), b.array(math.nan, x.dtype), b.digamma(x))


def _zero_where_x_is_zero(name: str) -> Callable[..., Any]:
    """Return a row of ``xlogy`` or ``xlog1py``: 0 with zero gradients where ``x`` is 0, for any ``y``."""

    def row(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
        x, y = b.arrays(x, y)
        nothing = b.equal(x, 0)
        # Without this, a singular gradient at ``y`` would make the zero gradient NaN.
        safe = b.where(nothing, b.array(1, y.dtype), y)
        return b.where(nothing, b.array(0, x.dtype), getattr(b, name)(x, safe))

    return row


rows.row("Xlog1py")(_zero_where_x_is_zero("xlog1py"))
rows.row("Xlogy")(_zero_where_x_is_zero("xlogy"))


def _shift(name: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
        x, y = b.beside(x, y)
        dtype = b.result.dtype
        # TensorFlow clamps the amount, because larger shifts are undefined behaviour in C++.
        return getattr(b, name)(x, b.clip(b.array(y, dtype), 0, 8 * ITEMSIZE[dtype] - 1))

    return row


rows.row("LeftShift")(_shift("bitwise_left_shift"))
rows.row("RightShift")(_shift("bitwise_right_shift"))


@rows.row("PopulationCount")
def population_count(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    return b.astype(b.sum(bits_of(b, x), axis=(x.ndim,), dtype=x.dtype), dtype="uint8")


@rows.row("Cast")
def cast(b: TensorFlowBuilder, x: Any, *, DstT: Any, Truncate: bool = False, **_: Any) -> Any:
    """Lift ``Cast``. Floats become integers by truncation, and complex numbers lose their imaginary part.

    Raise ``UnsupportedOperation`` for the attribute ``Truncate``.
    """
    if Truncate:
        raise UnsupportedOperation("a cast that cuts bits off instead of rounding")
    x, dtype = b.array(x), DstT
    if is_complex(x.dtype) and not is_complex(dtype) and dtype != "bool":
        x = b.real(x)
    return b.astype(x, dtype=dtype)


@rows.row("Bitcast")
def bitcast(b: TensorFlowBuilder, x: Any, *, type: Any, **_: Any) -> Any:
    """Lift ``Bitcast``. If the item sizes differ, the last axis holds the parts of one larger element."""
    x, dtype = b.array(x), type
    have, want = ITEMSIZE[x.dtype], ITEMSIZE[dtype]
    if have == want:
        return b.bitcast(x, dtype=dtype)
    if have > want:
        return b.bitcast(b.reshape(x, shape=(*x.shape, 1)), dtype=dtype)
    return b.reshape(b.bitcast(x, dtype=dtype), shape=x.shape[:-1])


@rows.row(
    "Identity", "Snapshot", "DeepCopy", "EnsureShape", "PlaceholderWithDefault", "DebugIdentityV2", "Copy",
    "CopyHost", "DebugGradientIdentity",
)  # fmt: skip
def identity(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    return b.array(x)


@rows.row("PreventGradient")
def prevent_gradient(b: TensorFlowBuilder, x: Any, *, message: Any = "", **_: Any) -> Any:
    x = b.array(x)
    return (
        b.refuse_gradient(x, x, message=message.decode() if isinstance(message, bytes) else message)
        if is_inexact(x.dtype)
        else x
    )


@rows.row("CheckNumerics", "CheckNumericsV2")
def check_numerics(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    b.expect(b.all(b.isfinite(x)), True)
    return x


@rows.row("ClipByValue")
def clip_by_value(b: TensorFlowBuilder, x: Any, low: Any, high: Any, **_: Any) -> Any:
    x, low, high = b.beside(x, low, high)
    if not isinstance(low, Value) and not isinstance(high, Value) and low <= high:
        return b.clip(x, low, high)
    return b.maximum(b.minimum(x, high), low)


def _select_operands(b: TensorFlowBuilder, *items: Any) -> list[Any]:
    if any(isinstance(item, Value) for item in items):
        return b.beside(*items)
    return [b.as_result(item) for item in items]


@rows.row("Select")
def select_rows(b: TensorFlowBuilder, condition: Any, x: Any, y: Any, **_: Any) -> Any:
    """Lift ``Select``, whose condition may also be a vector that selects rows."""
    condition, rank = b.array(condition, "bool"), b.result.ndim
    if condition.ndim == 1 and rank > 1:
        condition = b.reshape(condition, shape=(*condition.shape, *(1,) * (rank - 1)))
    return b.where(condition, *_select_operands(b, x, y))


@rows.row("AddN")
def add_n(b: TensorFlowBuilder, items: Any, **_: Any) -> Any:
    items = b.arrays(*items)
    result = items[0]
    for item in items[1:]:
        result = b.add(result, item)
    return result


@rows.row("ToBool")
def to_bool(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    x = b.array(x)
    if x.ndim:
        # TensorFlow asks whether there are elements, and not what they are.
        return b.not_equal(b.array(product(x.shape), "int64"), 0)
    return b.not_equal(x, 0) if x.dtype != "bool" else x
