"""Rows of element-wise primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....ir import Node, Value
from ....ops.dtypes import ITEMSIZE, is_complex, is_floating, is_inexact, is_integer
from ...common.builder import bits_of
from ...common.gamma import lift_digamma, lift_polygamma
from .table import JaxBuilder, rows

# Integer dtypes of at most this many bytes need clipping at both ends before a cast.
_NARROW = 2
_UNARY = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "bessel_i0e": "i0e", "bessel_i1e": "i1e", "ceil": "ceil", "cos": "cos", "cosh": "cosh",
    "erf": "erf", "erf_inv": "erfinv", "erfc": "erfc", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "floor": "floor", "imag": "imag", "is_finite": "isfinite", "lgamma": "lgamma",
    "log": "log", "log1p": "log1p", "log2": "log2", "logistic": "sigmoid", "neg": "negative",
    "real": "real", "rsqrt": "rsqrt", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square",
    "stop_gradient": "stop_gradient", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
_BINARY = {
    "add": "add", "atan2": "atan2", "complex": "complex", "eq": "equal", "ge": "greater_equal",
    "gt": "greater", "igamma": "gammainc", "igammac": "gammaincc", "le": "less_equal", "lt": "less",
    "mul": "multiply", "ne": "not_equal", "nextafter": "nextafter", "pow": "pow", "rem": "fmod",
    "shift_left": "bitwise_left_shift", "sub": "subtract",
    "zeta": "zeta",
}  # fmt: skip


def without_broadcasts(b: JaxBuilder, *operands: Any) -> list[Any]:
    return [_narrow(b, item, [other for other in operands if other is not item]) for item in operands]


def _narrow(b: JaxBuilder, item: Any, others: list[Any]) -> Any:
    """Return ``item`` without some broadcasts that an elementwise operation with ``others`` does itself."""
    node = _broadcast(b, item)
    if node is None:
        return item
    inner = node.inputs[0]
    arrays = [other for other in others if isinstance(other, Value) and _broadcast(b, other) is None]
    if any(other.shape == item.shape for other in arrays):
        return _narrow(b, inner, others)
    adds_leading_axes = item.shape == (1,) * (item.ndim - inner.ndim) + inner.shape
    return inner if adds_leading_axes and any(other.ndim >= item.ndim for other in arrays) else item


def _broadcast(b: JaxBuilder, item: Any) -> Node | None:
    node = b.maker(item)
    return node if node is not None and node.op == "broadcast_to" else None


def _unary(name: str) -> Callable[..., Any]:
    return lambda b, x, **_: getattr(b, name)(x)


def _binary(name: str) -> Callable[..., Any]:
    return lambda b, x, y, **_: getattr(b, name)(*without_broadcasts(b, x, y))


for _primitive, _name in _UNARY.items():
    rows.row(f"{_primitive}_p")(_unary(_name))
for _primitive, _name in _BINARY.items():
    if _primitive != "pow":
        rows.row(f"{_primitive}_p")(_binary(_name))


rows.table({
    # The result is complex even if `x` is real.
    "conj_p": lambda b, x, **_: b.conj(b.as_result(x)),
    "digamma_p": lambda b, x, **_: lift_digamma(b, x),
    "regularized_incomplete_beta_p": lambda b, a, c, x: b.betainc(*without_broadcasts(b, a, c, x)),
})  # fmt: skip


def _extreme(name: str, comparison: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, y: Any) -> Any:
        if not is_complex(b.result.dtype):
            return getattr(b, name)(*without_broadcasts(b, x, y))
        x, y = b.as_result(x), b.as_result(y)
        # Complex numbers are compared by their real parts, and at ties by their imaginary parts.
        first, second = (b.real(x), b.real(y)), (b.imag(x), b.imag(y))
        compare = getattr(b, comparison)
        return b.where(b.where(b.equal(*first), compare(*second), compare(*first)), x, y)

    return row


rows.row("max_p")(_extreme("maximum", "greater"))
rows.row("min_p")(_extreme("minimum", "less"))


def _logical(name: str) -> Callable[..., Any]:
    def row(b: JaxBuilder, x: Any, y: Any) -> Any:
        kind = "logical" if "bool" in (getattr(x, "dtype", None), getattr(y, "dtype", None)) else "bitwise"
        return getattr(b, f"{kind}_{name}")(*without_broadcasts(b, x, y))

    return row


for _name in ("and", "or", "xor"):
    rows.row(f"{_name}_p")(_logical(_name))


# -------------------------------------------------------------------------------------- total order of floats
def _before(b: JaxBuilder, x: Any, y: Any) -> Any:
    x, y = b.array(x, getattr(y, "dtype", None)), b.array(y, getattr(x, "dtype", None))
    if not is_floating(x.dtype):
        return b.less(x, y)
    zeros = b.logical_and(b.equal(x, y), b.logical_and(b.signbit(x), b.logical_not(b.signbit(y))))
    last = b.logical_and(b.logical_not(b.isnan(x)), b.isnan(y))
    return b.logical_or(b.less(x, y), b.logical_or(zeros, last))


@rows.row("lt_to_p")
def lt_to(b: JaxBuilder, x: Any, y: Any) -> Any:
    return _before(b, x, y)


rows.table({
    "le_to_p": lambda b, x, y: b.logical_not(_before(b, y, x)),
    "eq_to_p": lambda b, x, y: b.logical_not(b.logical_or(_before(b, x, y), _before(b, y, x))),
    "not_p": lambda b, x: b.logical_not(x) if x.dtype == "bool" else b.bitwise_invert(x),
    # The exponent may be an integer array if the base is floating.
    "pow_p": lambda b, x, y: b.pow(
        *without_broadcasts(b, *(b.operand(item, b.result.dtype) for item in (x, y)))
    ),
    # JAX has this in the derivative of `tanh` since 0.11. The product has no cancellation near 1.
    "one_minus_square_p": lambda b, x, **_: b.multiply(
        b.subtract(b.operand(1, x.dtype), x), b.add(x, b.operand(1, x.dtype))
    ),
    # For real numbers the derivative at 0 is that from the right.
    "abs_p": lambda b, x, **_: b.abs(x, right=is_floating(x.dtype)),
    "population_count_p": lambda b, x: b.sum(bits_of(b, x), axis=(x.ndim,), dtype=x.dtype),
})  # fmt: skip


@rows.row("div_p")
def div(b: JaxBuilder, x: Any, y: Any) -> Any:
    return (b.divide if is_inexact(b.result.dtype) else b.trunc_divide)(*without_broadcasts(b, x, y))


@rows.row("integer_pow_p")
def integer_pow(b: JaxBuilder, x: Any, *, y: int) -> Any:
    if y == 2:
        return b.square(x)
    if y == -1 and is_inexact(x.dtype):
        return b.reciprocal(x)
    return b.pow(x, b.operand(y, x.dtype))


@rows.row("cbrt_p")
def cbrt(b: JaxBuilder, x: Any, **_: Any) -> Any:
    # This power of a negative number is NaN, so the root of the magnitude is computed.
    length = b.pow(b.abs(x, right=is_floating(x.dtype)), 1 / 3)
    return b.where(b.signbit(x), b.negative(length), length)


@rows.row("sign_p")
def sign(b: JaxBuilder, x: Any) -> Any:
    if is_floating(x.dtype):
        # The sign of NaN is not NaN in every target.
        return b.where(b.isnan(x), x, b.sign(x))
    # In JAX the derivative of `sign` is 0 for complex numbers too.
    return b.sign(b.stop_gradient(x)) if is_complex(x.dtype) else b.sign(x)


@rows.row("round_p")
def round_(b: JaxBuilder, x: Any, *, rounding_method: Any) -> Any:
    if rounding_method.name == "TO_NEAREST_EVEN":
        return b.round(x)
    whole = b.trunc(x)
    return b.where(b.greater_equal(b.abs(b.subtract(x, whole)), 0.5), b.add(whole, b.sign(x)), whole)


@rows.row("shift_right_arithmetic_p")
def shift_right_arithmetic(b: JaxBuilder, x: Any, y: Any) -> Any:
    dtype, (x, y) = b.result.dtype, without_broadcasts(b, x, y)
    if not dtype.startswith("u"):
        return b.bitwise_right_shift(x, y)
    # XLA takes the highest bit of an unsigned integer for its sign, too.
    x, y = (b.bitcast(b.array(item, dtype), dtype=dtype.removeprefix("u")) for item in (x, y))
    return b.bitcast(b.bitwise_right_shift(x, y), dtype=dtype)


@rows.row("shift_right_logical_p")
def shift_right_logical(b: JaxBuilder, x: Any, y: Any) -> Any:
    x = b.as_result(x)
    bits = 8 * ITEMSIZE[x.dtype]
    signed = x.dtype.removeprefix("u")
    x, y = b.bitcast(x, dtype=signed), b.array(y, signed)
    # The arithmetic shift fills these bits with the sign.
    zeros = b.bitwise_left_shift(b.full(shape=(), fill_value=-2, dtype=signed), b.subtract(bits - 1, y))
    moved = b.bitwise_and(b.bitwise_right_shift(x, y), b.bitwise_invert(zeros))
    # XLA shifts everything out for any other count; processors use its lowest bits.
    outside = b.logical_or(b.less(y, 0), b.greater_equal(y, bits))
    return b.bitcast(b.where(outside, 0, moved), dtype=b.result.dtype)


@rows.row("clamp_p")
def clamp(b: JaxBuilder, low: Any, x: Any, high: Any) -> Any:
    x, low, high = b.as_result(x), known_number(b, low), known_number(b, high)
    if not is_floating(x.dtype):
        return b.clip(x, low, high)
    if not isinstance(low, Value) and not isinstance(high, Value) and low <= high:
        return b.hard_tanh(x, minimum=low, maximum=high)
    # No gradient reaches ``x`` where it equals a bound.
    at_bound = b.logical_or(b.equal(x, low), b.equal(x, high))
    return b.clip(b.where(at_bound, b.stop_gradient(x), x), low, high)


@rows.row("select_n_p")
def select_n(b: JaxBuilder, which: Any, *cases: Any) -> Any:
    if not any(isinstance(case, Value) for case in cases):
        cases = (b.as_result(cases[0]), *cases[1:])
    which = b.array(which)
    if which.dtype == "bool":
        return b.where(*without_broadcasts(b, which, cases[1], cases[0])) if len(cases) > 1 else cases[0]
    chosen = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        chosen = b.where(b.less_equal(which, number), cases[number], chosen)
    return chosen


@rows.row("convert_element_type_p")
def convert_element_type(b: JaxBuilder, x: Any, **_: Any) -> Any:
    if is_complex(x.dtype) and not is_complex(b.result.dtype) and b.result.dtype != "bool":
        x = b.real(x)
    return b.astype(_saturate(b, x, b.result.dtype), dtype=b.result.dtype)


def _saturate(b: JaxBuilder, x: Any, dtype: str) -> Any:
    # Targets wrap around, or leave the result to the processor.
    if not is_floating(x.dtype) or not is_integer(dtype):
        return x
    least = 0 if dtype.startswith("u") else -(2 ** (8 * ITEMSIZE[dtype] - 1))
    if ITEMSIZE[dtype] > _NARROW:
        return x if least else b.maximum(x, 0.0)
    # 16-bit floats cannot represent the largest 16-bit integers.
    x = b.astype(x, dtype="float32") if ITEMSIZE[x.dtype] == _NARROW else x
    return b.clip(x, float(least), float(least + 2 ** (8 * ITEMSIZE[dtype]) - 1))


@rows.row("bitcast_convert_type_p")
def bitcast_convert_type(b: JaxBuilder, x: Any, *, new_dtype: Any) -> Any:
    dtype = b.result.dtype
    have, want = ITEMSIZE[x.dtype], ITEMSIZE[dtype]
    if have == want:
        return b.bitcast(x, dtype=dtype)
    if have > want:
        return b.bitcast(b.reshape(x, shape=(*x.shape, 1)), dtype=dtype)
    return b.reshape(b.bitcast(x, dtype=dtype), shape=x.shape[:-1])


@rows.row("polygamma_p")
def polygamma(b: JaxBuilder, n: Any, x: Any) -> Any:
    degree = known_number(b, n)
    if isinstance(degree, Value):
        raise NotImplementedError("polygamma of a degree that is known only at run time")
    return lift_polygamma(b, degree, x, at_infinity=math.nan)


@rows.row("reduce_precision_p")
def reduce_precision(b: JaxBuilder, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    bits = {(5, 10): "float16", (8, 7): "bfloat16", (8, 23): "float32", (11, 52): "float64"}.get(
        (exponent_bits, mantissa_bits)
    )
    if bits is None:
        raise NotImplementedError(
            f"no data type has {exponent_bits} bits of exponent and {mantissa_bits} of mantissa"
        )
    return b.astype(b.astype(x, dtype=bits), dtype=x.dtype)


def known_number(b: JaxBuilder, x: Any) -> Any:
    while (node := b.maker(x)) is not None and node.op in ("broadcast_to", "reshape", "stop_gradient"):
        x = node.inputs[0]
    return node.params["fill_value"] if node is not None and node.op == "full" else x


@rows.row("clz_p")
def leading_zeros(b: JaxBuilder, x: Any) -> Any:
    zeros = b.subtract(b.array(1, x.dtype), b.flip(bits_of(b, x), axis=(x.ndim,)))
    return b.sum(b.cumulative_prod(zeros, axis=x.ndim, dtype=x.dtype), axis=(x.ndim,), dtype=x.dtype)
