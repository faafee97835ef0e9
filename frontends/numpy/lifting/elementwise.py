"""Rows of ufuncs, on operands of the dtypes of the loop that NumPy selects, and of ``math``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ir.node import Node
from ....ops.dtypes import INTEGERS, UNSIGNED, is_bool, is_complex, is_floating, is_inexact, is_integer
from ....sizes import apply, hint_of
from ...common import read_numbers
from ...common.builder import bits_of
from ...common.indexing import cut
from ...common.input_checks import LINEAR_ALGEBRA, Conditions, are_finite
from ...common.read_numbers import LARGE, cbrt, scale_by
from .manipulation import diff, ravel
from .table import NumpyBuilder, axis_of, dtype_name, rows


@rows.row("packbits")
def packbits(b: NumpyBuilder, a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    x, along = _line(b, a, axis)
    return b.packbits(x, axis=along, bitorder=bitorder)


@rows.row("unpackbits")
def unpackbits(b: NumpyBuilder, a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    x, along = _line(b, a, axis)
    bits = b.unpackbits(x, axis=along, bitorder=bitorder)
    if count is None or hint_of(count) <= hint_of(bits.shape[along]):
        return bits if count is None else cut(b, bits, along, None, count)
    b.guard(apply("gt", count, bits.shape[along]))
    # NumPy appends zeros.
    after = [(0, count - bits.shape[along] if place == along else 0) for place in range(bits.ndim)]
    return b.pad(bits, padding=tuple(after), value=0)


def _line(b: NumpyBuilder, a: Any, axis: Any) -> tuple[Value, int]:
    x = b.array(a)
    return (ravel(b, x), 0) if axis is None else (x, axis_of(axis, x.ndim))


@rows.row("unwrap")
def unwrap(
    b: NumpyBuilder, p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Any:
    if not is_floating(p.dtype):
        raise UnsupportedOperation(f"unwrap of {p.dtype} has no row; convert to floats before")
    x, place = p, axis_of(axis, p.ndim)
    step, half = diff(b, x, axis=place), period / 2
    folded = b.subtract(b.remainder(b.add(step, half), period), half)
    # As in NumPy, a step of half a period keeps its sign.
    folded = b.where(
        b.logical_and(b.equal(folded, -half), b.greater(step, 0.0)), b.array(half, x.dtype), folded
    )
    least = half if discont is None else max(float(discont), half)
    correction = b.where(b.less(b.abs(step), least), b.array(0.0, x.dtype), b.subtract(folded, step))
    total = b.cumulative_sum(correction, axis=place, dtype=x.dtype)
    shape = tuple(1 if i == place else dim for i, dim in enumerate(x.shape))
    return b.add(x, b.concat(b.zeros(shape=shape, dtype=x.dtype), total, axis=place))


# Names of functions in host_math that differ by the number of arguments.
_BY_COUNT = {("pow", 2): "pow_float", ("log", 2): "log_to"}
_ROUNDED = ("floor", "ceil", "trunc")


def _row(name: str) -> None:
    @rows.row(f"math.{name}")
    def row(b: NumpyBuilder, *given: Any) -> Any:
        numbers = tuple(b.cast(b.array(number, "float64"), "float64") for number in given)
        return read_numbers.compute_math(b, _BY_COUNT.get((name, len(given)), name), numbers)


def _row_of_rounding(name: str) -> None:
    @rows.row(f"math.{name}")
    def row(b: NumpyBuilder, number: Any) -> Any:
        number = b.array(number)
        if is_floating(number.dtype):
            b.expect(b.less(b.abs(number), float(LARGE)), True)
            number = getattr(b, name)(number)
        return b.cast(number, b.recorded_dtype())


for _math_name in (*read_numbers.COMPUTE, "pow"):
    if _math_name not in _BY_COUNT.values():
        _row(_math_name)
for _math_name in _ROUNDED:
    _row_of_rounding(_math_name)


@rows.row("math.fsum")
def fsum(b: NumpyBuilder, numbers: Any) -> Any:
    total, rest = b.array(0.0, "float64"), b.array(0.0, "float64")
    given = tuple(b.cast(b.array(number, "float64"), "float64") for number in numbers)
    # A compensated sum (Neumaier), because ``math.fsum`` is exact.
    for number in given:
        added = b.add(total, number)
        is_larger = b.greater_equal(b.abs(total), b.abs(number))
        large, small = b.where(is_larger, total, number), b.where(is_larger, number, total)
        rest = b.add(rest, b.add(b.subtract(large, added), small))
        total = added
    result = b.where(b.isfinite(total), b.add(total, rest), total)
    read_numbers.expect_result(b, result, given)
    return result


# ------------------------------------------------------------------------------------- cmath
def _row_of_complex(name: str, compute: Callable[..., Any]) -> None:
    @rows.row(f"cmath.{name}")
    def row(b: NumpyBuilder, *given: Any) -> Any:
        # cmath computes in complex128.
        numbers = tuple(b.cast(b.array(number, "complex128"), "complex128") for number in given)
        result = compute(b, *numbers)
        b.expect(b.logical_or(b.isfinite(result), b.logical_not(b.isfinite(numbers[0]))), True)
        return result


def _log(b: NumpyBuilder, z: Any, base: Any = None) -> Any:
    return b.log(z) if base is None else b.divide(b.log(z), b.log(base))


_COMPLEX: dict[str, Callable[..., Any]] = {
    **{
        name: read_numbers.COMPUTE[name]
        for name in (
            "sqrt", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
            "acosh", "atanh",
        )
    },
    "log": _log,
    "log10": lambda b, z: b.divide(b.log(z), math.log(10)),
    "phase": lambda b, z: b.angle(z),
}  # fmt: skip
for _math_name, _compute_math in _COMPLEX.items():
    _row_of_complex(_math_name, _compute_math)


@rows.row("builtins.complex")
def complex_(b: NumpyBuilder, real: Any, imag: Any = 0.0) -> Any:
    return b.complex(*(b.cast(b.array(number, "float64"), "float64") for number in (real, imag)))


@rows.row("cmath.rect")
def rect(b: NumpyBuilder, r: Any, phi: Any) -> Any:
    r, phi = (b.cast(b.array(number, "float64"), "float64") for number in (r, phi))
    return b.complex(b.multiply(r, b.cos(phi)), b.multiply(r, b.sin(phi)))


def _finite(b: NumpyBuilder, node: Node) -> Any:
    return are_finite(b, node.inputs[0])


def _has_range(b: NumpyBuilder, node: Node) -> Any:
    return _finite(b, node) if node.params.get("range") is None else None


CONDITIONS: Conditions = {
    **LINEAR_ALGEBRA,
    **dict.fromkeys(("eig", "eigvals"), _finite),
    "histogram_bin_edges": _has_range,
}


def expect_no_error(b: NumpyBuilder, made: Iterable[Node], errstate: Mapping[str, str]) -> None:
    """Guard against new infinities and NaN in the results of ``made`` where ``errstate`` lets NumPy raise."""
    raising = {name for name, action in errstate.items() if action == "raise"}
    for node in made if raising & {"divide", "over", "invalid"} else ():
        for value in node.outputs:
            if is_inexact(value.dtype):
                if (infinite := _refused_infinities(b, node, value, raising)) is not None:
                    b.expect(_has_none_new(b, b.isinf, node, infinite), True)
                if "invalid" in raising:
                    b.expect(_has_none_new(b, b.isnan, node, b.isnan(value)), True)


# Operations that make an infinity only by an overflow, or only by a division by zero.
_OVERFLOWING = frozenset({
    "add", "subtract", "multiply", "exp", "exp2", "expm1", "square", "sinh", "cosh", "hypot", "sum", "prod",
    "cumulative_sum", "cumulative_prod", "matmul", "mean",
})  # fmt: skip
_POLES = frozenset({"log", "log2", "log10", "log1p", "atanh"})
# Operations that make one by both, and which of the operands divides.
_DIVISORS = {"divide": 1, "floor_divide": 1, "reciprocal": 0, "pow": 0}


def _refused_infinities(b: NumpyBuilder, node: Node, value: Value, raising: Set[str]) -> Value | None:
    """Return a mask of the infinities in ``value`` that may come from an error in ``raising``, or None."""
    divides, overflows = ("divide" in raising, "over" in raising)
    if not (divides and node.op not in _OVERFLOWING or overflows and node.op not in _POLES):
        return None
    infinite = b.isinf(value)
    if divides and overflows or node.op not in _DIVISORS:
        return infinite
    divisor = node.inputs[_DIVISORS[node.op]]
    by_zero = b.equal(divisor if isinstance(divisor, Value) else b.array(divisor, value.dtype), 0)
    return b.logical_and(infinite, by_zero if divides else b.logical_not(by_zero))


def _has_none_new(b: NumpyBuilder, test: Callable[[Value], Value], node: Node, found: Value) -> Value:
    """Emit a bool: True if ``found`` has no True, or ``test`` holds somewhere in an inexact input array."""
    told = b.logical_not(b.any(found))
    for item in node.inputs:
        if isinstance(item, Value) and is_inexact(item.dtype):
            told = b.logical_or(told, b.any(test(item)))
    return told


# The canonical operation that computes each ufunc on operands of the dtypes of its loop.
_SAME: dict[str, str] = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "floor_divide": "floor_divide",
    "negative": "negative", "positive": "positive", "power": "pow", "float_power": "pow",
    "remainder": "remainder", "fmod": "fmod", "absolute": "abs", "fabs": "abs", "rint": "round",
    "sign": "sign", "conjugate": "conj", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2",
    "log10": "log10", "expm1": "expm1", "log1p": "log1p", "sqrt": "sqrt", "square": "square",
    "reciprocal": "reciprocal", "gcd": "gcd", "lcm": "lcm", "sin": "sin", "cos": "cos", "tan": "tan",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "hypot": "hypot",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "greater": "greater", "greater_equal": "greater_equal",
    "less": "less", "less_equal": "less_equal", "equal": "equal", "not_equal": "not_equal",
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin", "isfinite": "isfinite",
    "isinf": "isinf", "isnan": "isnan", "signbit": "signbit", "copysign": "copysign",
    "nextafter": "nextafter", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "matmul": "matmul",
    "frexp": "frexp",
}  # fmt: skip
_SPECIAL: dict[str, str] = {
    "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "gammaln": "lgamma", "psi": "digamma",
    "expit": "sigmoid", "i0": "i0", "i1": "i1", "ndtr": "ndtr", "ndtri": "ndtri", "log_ndtr": "log_ndtr",
    "xlogy": "xlogy", "xlog1py": "xlog1py", "gammainc": "gammainc", "gammaincc": "gammaincc",
    "j0": "bessel_j0", "j1": "bessel_j1", "y0": "bessel_y0", "y1": "bessel_y1", "i0e": "i0e", "i1e": "i1e",
    "entr": "entr", "erfcx": "erfcx",
}  # fmt: skip
_LOGICAL = {
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "logical_not": "logical_not",
}
_ROUNDING = frozenset({"floor", "ceil", "trunc"})
_COMPARISONS = frozenset({"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"})
_TRUTH = frozenset({"isfinite", "isinf", "isnan"})


def operands_of(b: NumpyBuilder, ufunc: Any, operands: tuple[Any, ...], dtype: Any = None) -> tuple[Any, ...]:
    """Convert operands to the dtypes of the inner loop that NumPy selects for ``ufunc``.

    ``dtype`` is the wanted dtype of the results, or None.
    """
    given = [_loop_type(b, item) for item in operands]
    # All operands are Python numbers.
    if not any(isinstance(kind, np.dtype) for kind in given):
        given = list(map(np.dtype, given))
    wanted = {} if dtype is None else {"signature": (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)}
    loop = [str(kind.name) for kind in ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout), **wanted)]
    made = [_operand(b, item, kind) for item, kind in zip(operands, loop)]
    return (
        tuple(made)
        if any(isinstance(item, Value) for item in made)
        else (b.array(made[0], loop[0]), *made[1:])
    )


def _loop_type(b: NumpyBuilder, item: Any) -> Any:
    kind = b.type_of(item)
    if isinstance(kind, bool):
        # Unlike other Python numbers a bool is not weakly typed.
        return np.dtype(bool)
    return kind if isinstance(kind, np.dtype) else type(kind)


def _operand(b: NumpyBuilder, item: Any, kind: str) -> Any:
    if isinstance(item, (list, tuple)):
        return b.array(item, kind)
    number = hint_of(item)
    if (
        isinstance(number, int)
        and kind in INTEGERS
        and not np.iinfo(kind).min <= number <= np.iinfo(kind).max
    ):
        raise UnsupportedOperation(
            f"{number} beside an array of {kind}, which does not hold it; cast the array before"
        )
    return b.operand(item, kind)


def elementwise(name: str, compute: Callable[..., Any], ufunc: Any = None) -> Callable[..., Any]:
    """Register and return a row of the ufunc ``name``.

    ``compute`` gets the operands converted by :func:`operands_of`. ``ufunc`` is ``numpy.<name>`` by default.
    """
    called = ufunc or getattr(np, name)

    def row(
        b: NumpyBuilder,
        *operands: Any,
        dtype: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> Any:
        operands = tuple(b.array(item) if isinstance(item, (list, tuple)) else item for item in operands)
        if name in _COMPARISONS and (found := _compared_out_of_range(b, called, operands)) is not None:
            return found
        return compute(b, *operands_of(b, called, operands[: called.nin], dtype))

    row.elementwise = True  # type: ignore[attr-defined]
    return rows.row(name)(row)


def _compared_out_of_range(b: NumpyBuilder, compare: Any, operands: tuple[Any, ...]) -> Any:
    """Return the constant result of comparing an integer array with an int outside of its dtype, or None."""
    arrays = [
        item for item in operands if isinstance(item, Value) and item.dtype in INTEGERS and item not in b.weak
    ]
    numbers = [item for item in operands if type(item) is int]
    if (
        len(arrays) != 1
        or len(numbers) != 1
        or np.iinfo(arrays[0].dtype).min <= numbers[0] <= np.iinfo(arrays[0].dtype).max
    ):
        return None
    # Every element is on the same side of the number as 0.
    answer = bool(compare(*(0 if isinstance(item, Value) else item for item in operands)))
    return b.full(shape=arrays[0].shape, fill_value=answer, dtype="bool")


def _plain(op: str) -> Callable[..., Any]:
    def compute(b: NumpyBuilder, *operands: Any) -> Any:
        first = next(item for item in operands if isinstance(item, Value))
        if op in _ROUNDING and not is_inexact(first.dtype):
            return first
        if op in _TRUTH and not is_inexact(first.dtype):
            return b.full(shape=first.shape, fill_value=op == "isfinite", dtype="bool")
        if op == "abs" and is_bool(first.dtype):
            return first
        if op == "reciprocal" and not is_inexact(first.dtype):
            raise UnsupportedOperation(
                "the reciprocal of whole numbers, which is 0 but for 1 and -1, has no row; divide floats"
            )
        if op == "sign" and is_floating(first.dtype):
            # torch's sign of NaN is 0.
            return b.where(b.isnan(first), first, b.sign(first))
        if op == "matmul" and is_bool(first.dtype):
            # An element of the boolean product is True if any of its terms is.
            return b.not_equal(b.matmul(*(b.astype(item, dtype="int64") for item in operands)), 0)
        if op == "pow" and is_integer(first.dtype) and isinstance(operands[1], Value):
            b.refuse_negative(operands[1])
        if op in _DIVISIONS and not is_inexact(first.dtype) and isinstance(operands[1], Value):
            return _whole_division(b, op, *operands)
        kinds = {item.dtype for item in operands if isinstance(item, Value)}
        if len(kinds) > 1:
            raise UnsupportedOperation(
                f"numpy computes this with operands of {' and '.join(sorted(kinds))}; cast them to one type "
                "before"
            )
        return getattr(b, op)(*operands)

    return compute


_DIVISIONS = frozenset({"floor_divide", "remainder", "fmod"})


def _whole_division(b: NumpyBuilder, op: str, x: Any, y: Value) -> Value:
    # NumPy returns 0 for an integer division by 0, where other frameworks raise or return something else.
    nothing = b.equal(y, 0)
    found: Value = getattr(b, op)(x, b.where(nothing, b.array(1, y.dtype), y))
    return b.where(nothing, b.array(0, y.dtype), found)


for _name, _op in _SAME.items():
    elementwise(_name, _plain(_op))


# ---------------------------------------------------------------------------------------------- logic
def _logical(op: str) -> Callable[..., Any]:
    def compute(b: NumpyBuilder, *operands: Any) -> Any:
        return getattr(b, op)(*(b.astype(b.array(item), dtype="bool") for item in operands))

    return compute


def _row_of_logic(name: str) -> None:
    @rows.row(name)
    def row(b: NumpyBuilder, *operands: Any, dtype: Any = None) -> Any:
        return _logical(name)(b, *operands)

    row.elementwise = True  # type: ignore[attr-defined]


for _name in _LOGICAL:
    _row_of_logic(_name)


# ---------------------------------------------------------------------------------------------- formulas
def _modf(b: NumpyBuilder, x: Any) -> Any:
    whole = b.trunc(x)
    # The difference of two infinities would be NaN, but the fraction of an infinity is 0.
    return b.copysign(b.where(b.isinf(x), 0.0, b.subtract(x, whole)), x), whole


def _heaviside(b: NumpyBuilder, x: Any, at_zero: Any) -> Any:
    x = b.array(x, at_zero.dtype if isinstance(at_zero, Value) else None)
    step = b.where(b.greater(x, 0.0), b.array(1.0, x.dtype), b.array(0.0, x.dtype))
    return b.where(b.isnan(x), x, b.where(b.equal(x, 0.0), b.array(at_zero, x.dtype), step))


def _spacing(b: NumpyBuilder, x: Any) -> Any:
    if x.dtype == "float16":
        raise UnsupportedOperation("spacing of float16, whose sign is not that of other floats, has no row")
    away = b.copysign(b.full(shape=x.shape, fill_value=math.inf, dtype=x.dtype), x)
    return b.subtract(b.nextafter(x, away), x)


def _ldexp(b: NumpyBuilder, x: Any, exponent: Any) -> Any:
    kind = x.dtype if isinstance(x, Value) else "float64"
    rest, found = b.cast(b.array(exponent, "int64"), "int64"), b.array(x, kind)
    # A power of two that is beyond the range of floats may bring the product into it.
    for parts in (3, 2, 1):
        part = b.trunc_divide(rest, parts)
        found, rest = b.multiply(found, b.exp2(b.cast(part, kind))), b.subtract(rest, part)
    return found


def _matvec(b: NumpyBuilder, x: Any, y: Any) -> Any:
    found = b.matmul(x, b.reshape(y, shape=(*y.shape, 1)))
    return b.reshape(found, shape=found.shape[:-1])


def _vecmat(b: NumpyBuilder, x: Any, y: Any) -> Any:
    # NumPy conjugates the vector.
    row = b.conj(x) if is_complex(x.dtype) else x
    found = b.matmul(b.reshape(row, shape=(*x.shape[:-1], 1, x.shape[-1])), y)
    return b.reshape(found, shape=(*found.shape[:-2], found.shape[-1]))


def _bitwise_count(b: NumpyBuilder, x: Any) -> Any:
    # NumPy counts the bits of the absolute value.
    ones = bits_of(b, x if x.dtype in UNSIGNED else b.abs(x))
    return b.sum(b.cast(ones, "uint8"), axis=(x.ndim,), dtype="uint8")


_FORMULAS: dict[str, Callable[..., Any]] = {
    "divmod": lambda b, x, y: (_plain("floor_divide")(b, x, y), _plain("remainder")(b, x, y)),
    "modf": _modf,
    "heaviside": _heaviside,
    "cbrt": cbrt,
    "spacing": _spacing,
    "ldexp": _ldexp,
    "vecdot": lambda b, x, y: b.vecdot(x, y, axis=-1),
    "matvec": _matvec,
    "vecmat": _vecmat,
    "bitwise_count": _bitwise_count,
    "degrees": scale_by(180 / math.pi),
    "rad2deg": scale_by(180 / math.pi),
    "radians": scale_by(math.pi / 180),
    "deg2rad": scale_by(math.pi / 180),
}
for _name, _compute in _FORMULAS.items():
    elementwise(_name, _compute)


# ------------------------------------------------------------------------------------- scipy.special
def _special(name: str, op: str) -> None:
    @rows.row(name)
    def row(b: NumpyBuilder, *operands: Any) -> Any:
        kind = b.recorded_dtype()
        return getattr(b, op)(*(b.cast(b.array(item, kind), kind) for item in operands))

    row.elementwise = True  # type: ignore[attr-defined]


for _name, _op in _SPECIAL.items():
    # NumPy has an i0 too, which computes the same.
    if _name not in ("i0",):
        _special(_name, _op)


rows.table({"i0": lambda b, x: b.cast(b.i0(b.floating(x)), b.recorded_dtype())})


# ------------------------------------------------------------------------------------------ methods of ufuncs
def _outer(name: str) -> None:
    @rows.row(f"{name}.outer")
    def outer(b: NumpyBuilder, x: Any, y: Any, **kwargs: Any) -> Any:
        x, y = b.array(x), b.array(y)
        spread = b.reshape(x, shape=(*x.shape, *(1,) * y.ndim))
        return rows.get(name)(b, spread, y, **kwargs)  # type: ignore[misc]


for _name in (*_SAME, *_LOGICAL, "heaviside"):
    if getattr(np, _name).nin == 2 and _name != "matmul":
        _outer(_name)


# ------------------------------------------------------------------------------------- other functions
@rows.row("angle")
def angle(b: NumpyBuilder, z: Any, deg: bool = False) -> Any:
    # NumPy computes the angle of a real number by ``arctan2``, so that -0.0 has the angle pi.
    found = b.angle(z) if is_complex(z.dtype) else b.atan2(0.0, b.floating(z))
    return b.multiply(found, 180 / math.pi) if deg else found


@rows.row("iscomplex")
def iscomplex(b: NumpyBuilder, x: Any) -> Any:
    return b.not_equal(b.imag(x), 0.0) if is_complex(x.dtype) else b.zeros(shape=x.shape, dtype="bool")


@rows.row("round", "around")
def round_(b: NumpyBuilder, a: Any, decimals: int = 0) -> Any:
    if not is_inexact(a.dtype):
        return b.copy(a) if decimals >= 0 else b.cast(round_(b, b.cast(a, "float64"), decimals), a.dtype)
    if is_complex(a.dtype):
        return b.complex(round_(b, b.real(a), decimals), round_(b, b.imag(a), decimals))
    if decimals == 0:
        return b.round(a)
    # NumPy multiplies, rounds and divides, too, so that ties are rounded alike.
    scale = 10.0 ** abs(decimals)
    return (
        b.divide(b.round(b.multiply(a, scale)), scale)
        if decimals > 0
        else b.multiply(b.round(b.divide(a, scale)), scale)
    )


@rows.row("clip")
def clip(
    b: NumpyBuilder,
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
) -> Any:
    # The upper bound is applied last, so it wins if it is below the lower one, as in NumPy.
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None:
        a = rows.get("maximum")(b, a, low)  # type: ignore[misc]
    return a if high is None else rows.get("minimum")(b, a, high)  # type: ignore[misc]


@rows.row("isclose")
def isclose(
    b: NumpyBuilder, a: Any, b_: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x, y = b.promote(a, b_)
    if not is_inexact(x.dtype):
        x, y = b.floating(x), b.floating(y)
    return b.isclose(x, y, rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan))


@rows.row("nan_to_num")
def nan_to_num(
    b: NumpyBuilder, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    x = b.array(x)
    return b.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf) if is_inexact(x.dtype) else b.copy(x)


@rows.row("ndarray.item")
def item(b: NumpyBuilder, a: Value) -> Any:
    return b.cast(a, b.recorded_dtype())


@rows.row("astype")
def astype(
    b: NumpyBuilder,
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    return b.astype(x, dtype=dtype_name(dtype)) if dtype_name(dtype) != x.dtype else b.copy(x)


@rows.row("view")
def view(b: NumpyBuilder, x: Any, dtype: Any = None, type: Any = None) -> Any:
    if type is not None:
        raise UnsupportedOperation("a view as another class of arrays has no counterpart")
    if dtype is None or dtype_name(dtype) == x.dtype:
        return b.reshape(x, shape=x.shape)
    return b.bitcast(x, dtype=dtype_name(dtype))


rows.table({
    "real": lambda b, val: b.real(val) if is_complex(val.dtype) else val,
    "imag": lambda b, val: (
        b.imag(val) if is_complex(val.dtype) else b.zeros(shape=val.shape, dtype=val.dtype)
    ),
    "conj": lambda b, x: b.conj(x) if is_complex(x.dtype) else b.copy(x),
    "isreal": lambda b, x: b.logical_not(iscomplex(b, x)),
    "fix": lambda b, x: b.trunc(b.array(x)) if is_inexact(b.array(x).dtype) else x,
    "isposinf": lambda b, x: b.equal(b.floating(x), math.inf),
    "isneginf": lambda b, x: b.equal(b.floating(x), -math.inf),
    "sinc": lambda b, x: b.sinc(b.floating(x)),
    "copy": lambda b, a, order="K", subok=False: b.copy(b.array(a)),
    # The operator `x ** y` has shortcuts, in which bools have another result type than in the ufunc.
    "ndarray.power": lambda b, x, y: b.cast(
        _plain("pow")(b, *operands_of(b, np.power, (x, y))), b.recorded_dtype()
    ),
})  # fmt: skip
