"""Rows of elementwise operations, Bessel functions and special integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import ITEMSIZE, is_complex, is_floating, is_inexact
from ....sizes import product
from ...common.builder import bits_of
from ...common.gamma import is_pole, lift_digamma, lift_polygamma
from .table import TensorFlowBuilder, broadcast_together, rows

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
    def row(b: TensorFlowBuilder, x: Any, y: Any, **_: Any) -> Any:
        x, y = b.beside(x, y)
        if not is_floating(b.result.dtype):
            return getattr(b, name)(x, y)
        # A number that is NaN is greater and less than nothing, too.
        y = b.array(y, b.result.dtype) if y != y else y
        # The gradient of equal floats goes to the first operand.
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
    x, y = b.arrays(x, y)
    nothing = b.equal(y, 0)
    # Where ``y`` is 0, the result must be 0 even if ``x`` is infinite or NaN.
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
    if isinstance(a, float):
        return lift_polygamma(b, a, b.array(x, b.result.dtype), at_infinity=0.0)
    a, x = b.arrays(a, x)
    a = b.stop_gradient(a)
    odd = b.equal(b.remainder(a, 2.0), 1.0)
    factor = b.multiply(b.where(odd, b.array(1.0, x.dtype), -1.0), b.exp(b.lgamma(b.add(a, 1.0))))
    value = b.where(b.equal(a, 0.0), lift_digamma(b, x), b.multiply(factor, _zeta(b, b.add(a, 1.0), x)))
    value = b.where(is_pole(b, x), b.where(odd, b.array(math.inf, x.dtype), math.nan), value)
    value = b.where(b.logical_and(b.greater(a, 0.0), b.equal(x, math.inf)), b.array(0.0, x.dtype), value)
    is_degree = b.logical_and(b.greater_equal(a, 0.0), b.equal(a, b.floor(a)))
    # The derivative of the product is NaN, too.
    return b.multiply(value, b.where(is_degree, b.array(1.0, x.dtype), math.nan))


rows.row("Digamma")(lambda b, x, **_: lift_digamma(b, b.array(x)))


def _zero_where_x_is_zero(name: str) -> Callable[..., Any]:
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
    if Truncate:
        raise UnsupportedOperation("a cast that cuts bits off instead of rounding")
    x, dtype = b.array(x), DstT
    if is_complex(x.dtype) and not is_complex(dtype) and dtype != "bool":
        x = b.real(x)
    return b.astype(x, dtype=dtype)


@rows.row("Bitcast")
def bitcast(b: TensorFlowBuilder, x: Any, *, type: Any, **_: Any) -> Any:
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


# ---------------------------------------------------------------------------------------------------- special
# Rows of Bessel functions and special integrals.
#
# The integrals use the rational approximations of TensorFlow.


def _of_positive(name: str, below: float, at_zero: float) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
        x = b.array(x)
        found = b.where(b.less(x, 0), b.array(below, x.dtype), getattr(b, name)(x))
        found = found if below == at_zero else b.where(b.equal(x, 0), b.array(at_zero, x.dtype), found)
        return b.with_gradient(found, x, _BESSEL_SLOPES[name](b, x))

    return row


def _oscillating(name: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
        x = b.array(x)
        return b.with_gradient(getattr(b, name)(x), x, _BESSEL_SLOPES[name](b, x))

    return row


def _slope_of_j1(b: TensorFlowBuilder, x: Value) -> Any:
    nothing = b.equal(x, 0)
    safe = b.where(nothing, b.array(1, x.dtype), x)
    return b.where(nothing, b.array(0.5, x.dtype), b.subtract(b.bessel_j0(x), b.divide(b.bessel_j1(x), safe)))


# The Bessel functions of some targets have no derivatives.
_BESSEL_SLOPES: dict[str, Callable[..., Any]] = {
    "bessel_j0": lambda b, x: b.negative(b.bessel_j1(x)),
    "bessel_j1": _slope_of_j1,
    "bessel_k0": lambda b, x: b.negative(b.bessel_k1(x)),
    "bessel_k0e": lambda b, x: b.subtract(b.bessel_k0e(x), b.bessel_k1e(x)),
    "bessel_k1": lambda b, x: b.subtract(b.negative(b.bessel_k0(x)), b.divide(b.bessel_k1(x), x)),
    "bessel_k1e": lambda b, x: b.subtract(
        b.multiply(b.bessel_k1e(x), b.subtract(1.0, b.reciprocal(x))), b.bessel_k0e(x)
    ),
    "bessel_y0": lambda b, x: b.negative(b.bessel_y1(x)),
    "bessel_y1": lambda b, x: b.subtract(b.bessel_y0(x), b.divide(b.bessel_y1(x), x)),
}

for _operation in ("J0", "J1"):
    rows.row(f"Bessel{_operation}")(_oscillating(f"bessel_{_operation.lower()}"))
for _operation in ("K0", "K0e", "K1", "K1e"):
    rows.row(f"Bessel{_operation}")(_of_positive(f"bessel_{_operation.lower()}", math.inf, math.inf))
rows.row("BesselY0")(_of_positive("bessel_y0", -math.inf, -math.inf))
rows.row("BesselY1")(_of_positive("bessel_y1", -math.inf, math.nan))


Rational = tuple[tuple[float, ...], tuple[float, ...]]

RATIONALS: dict[str, Rational] = {
    "dawsn_1": (
        (
            1.1368149897175597e-11, 8.492622676674738e-10, 1.9443420417555306e-08, 9.531517412544844e-07,
            3.078283098749132e-06, 0.00035251336852028877, -0.0008501498467244109, 0.04226182230055466,
            -0.09174803717734524, 1.0,
        ),
        (
            2.403720730667626e-11, 1.488646813684934e-09, 5.212652810105416e-08, 1.2725847827318697e-06,
            2.324902498207895e-05, 0.00032552474182605793, 0.003488058146571626, 0.027944853119882897,
            0.15887424196012057, 0.5749186294893204, 1.0,
        ),
    ),
    "dawsn_2": (
        (
            0.5089551564179009, -0.24475441814269785, 0.09415123353035344, -0.021871125514203903,
            0.003662076123295692, -0.0004232091144603888, 3.5964130479389666e-05, -2.1464035171996896e-06,
            9.100107800763914e-08, -2.4027452082825098e-09, 3.592333854409284e-11,
        ),
        (
            1.0, -0.6318398698733682, 0.2367067882282487, -0.053180636700322324, 0.008480417185862954,
            -0.0009479967684866654, 7.810255929445524e-05, -4.558751532524426e-06, 1.8910035811142186e-07,
            -4.913246913319206e-09, 7.184664032357345e-11,
        ),
    ),
    "dawsn_3": (
        (
            -0.5905928605347732, 0.6292352427243688, -0.17285897538038814, 0.016483704782518965,
            -0.0004868276130204627,
        ),
        (
            1.0, -2.698200571975449, 1.7327079904594784, -0.3937085822819395, 0.03442789240412334,
            -0.0009736552260409412,
        ),
    ),
    "expint_1": (
        (
            -5.350447357812543, 218.50491688166133, -4176.572384826693, 55411.76756393557,
            -331338.13311781443, 1592627.1633849454,
        ),
        (
            1.0, -52.505479591128626, 1259.6161867867906, -17565.495819735348, 149306.2117002726,
            -729494.9239640528, 1592627.1633849454,
        ),
    ),
    "expint_2": (
        (
            0.019818085032596897, -1.2716456259849176, -2.0881603356812284, 2.7555445091879367,
            -0.44095070487016, 0.046656238059358916, -0.0015450426796734852, 7.059980605299618e-05,
        ),
        (
            1.0, 1.4764986709149215, 0.5629177174822436, 0.16990178978793072, 0.02291647179034212,
            0.0044501504397287525, 0.00017274396122065214, 3.953167195549672e-05,
        ),
    ),
    "expint_3": (
        (
            -1.3732153758712087, -0.7084559133740839, 1.580806855547941, -0.2601500427425623,
            0.029946746941137137, -0.001038086040188744, 4.371064420753005e-05, 2.141783679522603e-06,
        ),
        (
            1.0, 0.8585231423622028, 0.4483285822873995, 0.07687932158124476, 0.024498682410218877,
            0.0008832165941927797, 0.00045909522995113536, -4.729848351866523e-06, 2.66519553739071e-06,
        ),
    ),
    "expint_4": (
        (
            -2.1069346016919166, 1.7327338696646881, -0.2423619178935842, 0.02322724180937566,
            0.00023728804404931798, -8.343219561192553e-05, 1.3634087956052505e-05, -3.655412321999254e-07,
            1.4649417339759612e-08, 6.17640786371036e-10,
        ),
        (
            1.0, -0.2298062239901678, 0.11050770414740378, -0.015665429666307924, 0.002761106850817353,
            -0.00020891480122840484, 1.7085289388076754e-05, -4.4593117963566865e-07, 1.3946349303538475e-08,
            6.150865933977338e-10,
        ),
    ),
    "expint_5": (
        (
            -0.24581193676740204, -0.14833822533220778, 0.07248291795735552, -0.013483156873809405,
            0.001342775069788637, -7.942465637159712e-05, 2.644179518984236e-06, -4.239473659313765e-08,
        ),
        (
            1.0, -0.10442259084438711, -0.26764531281014026, 0.09695000254621984, -0.01601745692712991,
            0.001496414899205908, -8.462452563778485e-05, 2.7289384034767266e-06, -4.239462431819542e-08,
        ),
    ),
    "expint_6": (
        (
            0.12125611181054567, -0.5823133179043894, 0.2348887314557017, -0.030400343181132484,
            0.0015100821468651906, -2.5231370954995714e-05,
        ),
        (
            1.0, -1.002252150365854, 0.2928709694872224, -0.03337004338674008, 0.0015605448811273888,
            -2.5231370936032347e-05,
        ),
    ),
    "expint_7": (
        (
            -0.7657847078286127, 0.6886192415566705, -0.2132598113545206, 0.033461075523841935,
            -0.003076541477344756, 0.00017471193164549074, -6.1037116822741705e-06, 1.218032765428652e-07,
            -1.0860761027932903e-09,
        ),
        (
            1.0, -1.8888028686623086, 1.066691687211409, -0.27519159823063805, 0.039308526882338234,
            -0.003414684558602365, 0.00018668443707035555, -6.345146083130515e-06, 1.239754287483207e-07,
            -1.0860761027931265e-09,
        ),
    ),
    "fresnel_cos_1": (
        (
            -4.9884311457357354e-08, 9.504280628298596e-06, -0.0006451914356839651, 0.018884331939670384,
            -0.20552590095501388, 1.0,
        ),
        (
            3.99982968972496e-12, 9.154392157746574e-10, 1.2500186247959882e-07, 1.2226278902417902e-05,
            0.0008680295429417843, 0.04121420907221998, 1.0,
        ),
    ),
    "fresnel_sin_1": (
        (
            -2991.8191940101983, 708840.0452577386, -62974148.62058625, 2548908805.7337637,
            -44297951805.96978, 318016297876.5678,
        ),
        (
            1.0, 281.3762688899943, 45584.78108065326, 5173438.887700964, 419320245.8981112,
            22441179564.534092, 607366389490.0846,
        ),
    ),
    "fresnel_f": (
        (
            0.4215435550436775, 0.1434079197807589, 0.011522095507358577, 0.000345017939782574,
            4.6361374928786735e-06, 3.055689837902576e-08, 1.0230451416490724e-10, 1.7201074326816183e-13,
            1.3428327623306275e-16, 3.763297112699879e-20,
        ),
        (
            1.0, 0.7515863983533789, 0.11688892585919138, 0.0064405152650885865, 0.00015593440916415301,
            1.8462756734893055e-06, 1.1269922476399903e-08, 3.6014002958937136e-11, 5.887545336215784e-14,
            4.5200143407412973e-17, 1.2544323709001127e-20,
        ),
    ),
    "fresnel_g": (
        (
            0.5044420736433832, 0.1971028335255234, 0.018764858409257526, 0.0006840793809153931,
            1.1513882611188428e-05, 9.828524436884223e-08, 4.4534441586175015e-10, 1.0826804113902088e-12,
            1.375554606332618e-15, 8.363544356306774e-19, 1.8695871016278324e-22,
        ),
        (
            1.0, 1.4749575992512833, 0.33774898912002, 0.02536037414203388, 0.0008146791071843061,
            1.2754507566772912e-05, 1.0431458965757199e-07, 4.6068072814652043e-10, 1.1027321506624028e-12,
            1.3879653125957886e-15, 8.391588162831187e-19, 1.8695871016278324e-22,
        ),
    ),
    "spence": (
        (
            4.6512858607399003e-05, 0.007315890452380947, 0.13384763957830903, 0.8796913117545303,
            2.7114985119655346, 4.256971560081218, 3.297713409852251, 1.0,
        ),
        (
            0.0006909904889125533, 0.02540437639325444, 0.2829748606025681, 1.4117259775183106,
            3.6380053334513707, 5.03278880143317, 3.547713409852251, 1.0,
        ),
    ),
}  # fmt: skip


def _polynomial(b: TensorFlowBuilder, x: Value, coefficients: tuple[float, ...]) -> Any:
    result: Any = b.array(coefficients[0], x.dtype)
    for coefficient in coefficients[1:]:
        result = b.add(b.multiply(result, x), coefficient)
    return result


def _quotient(b: TensorFlowBuilder, name: str, x: Value) -> Any:
    above, below = RATIONALS[name]
    return b.divide(_polynomial(b, x, above), _polynomial(b, x, below))


def _below(
    b: TensorFlowBuilder, x: Value, cases: list[tuple[float, Callable[[Value], Any]]], otherwise: Any
) -> Any:
    result, lower = otherwise, [0.0, *(bound for bound, _ in cases)]
    for (bound, function), least in reversed(list(zip(cases, lower))):
        # Clipped to the bounds of its case, no argument makes a function overflow.
        result = b.where(b.less(x, bound), function(b.clip(x, least, bound)), result)
    return result


def _with_sign(b: TensorFlowBuilder, x: Value, found: Value) -> Any:
    return b.where(b.less(x, 0.0), b.negative(found), found)


def _integral(operation: str, slope: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that makes a function of ``b`` and ``x`` the row of ``operation``.

    ``slope(b, x, result)`` computes the derivative of the function.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def row(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
            x = b.array(x)
            wide = x.dtype if x.dtype == "float64" else "float32"
            at = b.astype(x, dtype=wide)
            found = function(b, at)
            return b.astype(b.with_gradient(found, at, slope(b, at, found)), dtype=x.dtype)

        row.__doc__ = function.__doc__
        return rows.row(operation)(row)

    return add


# ------------------------------------------------------------------------------------- Dawson
@_integral("Dawsn", lambda b, x, y: b.subtract(1.0, b.multiply(b.multiply(x, y), 2.0)))
def _dawson(b: TensorFlowBuilder, x: Value) -> Any:
    def near(y: Value) -> Any:
        return b.multiply(y, _quotient(b, "dawsn_1", b.square(y)))

    def far(name: str) -> Callable[[Value], Any]:
        def function(y: Value) -> Any:
            inverse = b.reciprocal(y)
            squared = b.square(inverse)
            part = b.multiply(inverse, _quotient(b, name, squared))
            return b.multiply(b.add(b.multiply(squared, part), inverse), 0.5)

        return function

    size = b.abs(x)
    cases = [(3.25, near), (6.25, far("dawsn_2")), (1e9, far("dawsn_3"))]
    return _with_sign(b, x, _below(b, size, cases, b.divide(0.5, size)))


# ------------------------------------------------------------------------------------- exponential integral
_EULER = 0.5772156649015329


@_integral("Expint", lambda b, x, y: b.divide(b.exp(x), x))
def _exponential(b: TensorFlowBuilder, x: Value) -> Any:
    def near(y: Value) -> Any:
        return b.add(b.add(b.multiply(y, _quotient(b, "expint_1", y)), _EULER), b.log(y))

    def far(place: int) -> Callable[[Value], Any]:
        def function(y: Value) -> Any:
            inverse = b.reciprocal(y)
            part = b.add(b.multiply(inverse, _quotient(b, f"expint_{place}", inverse)), 1.0)
            return b.multiply(b.multiply(b.exp(y), inverse), part)

        return function

    bounds = (4.0, 8.0, 16.0, 32.0, 64.0)
    cases = [(2.0, near), *((bound, far(place)) for place, bound in enumerate(bounds, start=2))]
    found = _below(b, x, cases, far(7)(b.maximum(x, 64.0)))
    return b.where(b.logical_or(b.less(x, 0.0), b.isnan(x)), b.array(math.nan, x.dtype), found)


# ------------------------------------------------------------------------------------- Fresnel
def _fresnel(near: str, power: int, part: Callable[..., Any]) -> Callable[..., Any]:
    def small(b: TensorFlowBuilder, y: Value) -> Any:
        squared = b.square(y)
        return b.multiply(b.multiply(y, squared) if power == 3 else y, _quotient(b, near, b.square(squared)))

    def large(b: TensorFlowBuilder, y: Value) -> Any:
        squared = b.square(y)
        inverse = b.reciprocal(b.multiply(squared, math.pi))
        fourth = b.square(inverse)
        f = b.subtract(1.0, b.multiply(fourth, _quotient(b, "fresnel_f", fourth)))
        g = b.multiply(inverse, _quotient(b, "fresnel_g", fourth))
        angle = b.multiply(squared, math.pi / 2)
        return b.add(0.5, b.divide(part(b, f, g, b.sin(angle), b.cos(angle)), b.multiply(y, math.pi)))

    def function(b: TensorFlowBuilder, x: Value) -> Any:
        size = b.abs(x)
        # Beyond the second bound TensorFlow takes the integrals for 0.5.
        cases = [(math.sqrt(2.5625), lambda y: small(b, y)), (36974.0, lambda y: large(b, y))]
        found = _below(b, size, cases, b.array(0.5, x.dtype))
        return b.where(b.isnan(x), x, _with_sign(b, x, found))

    return function


def _angle(b: TensorFlowBuilder, x: Value) -> Any:
    return b.multiply(b.square(x), math.pi / 2)


_cosine = _fresnel("fresnel_cos_1", 1, lambda b, f, g, s, c: b.subtract(b.multiply(f, s), b.multiply(g, c)))
_sine = _fresnel(
    "fresnel_sin_1", 3, lambda b, f, g, s, c: b.negative(b.add(b.multiply(f, c), b.multiply(g, s)))
)
_integral("FresnelCos", lambda b, x, y: b.cos(_angle(b, x)))(_cosine)
_integral("FresnelSin", lambda b, x, y: b.sin(_angle(b, x)))(_sine)


# ------------------------------------------------------------------------------------- Spence
def _slope_of_spence(b: TensorFlowBuilder, x: Value, y: Value) -> Any:
    one = b.equal(x, 1.0)
    safe = b.where(one, b.array(2.0, x.dtype), x)
    return b.where(one, b.array(-1.0, x.dtype), b.divide(b.log(safe), b.subtract(1.0, safe)))


@_integral("Spence", _slope_of_spence)
def _spence(b: TensorFlowBuilder, x: Value) -> Any:
    large = b.less(1.5, x)
    y = b.where(b.less(x, 2.0), x, b.reciprocal(x))
    low, high = b.less(y, 0.5), b.less(1.5, y)
    w = b.where(high, b.subtract(b.reciprocal(y), 1.0), b.where(low, b.negative(y), b.subtract(y, 1.0)))
    found = b.negative(b.multiply(w, _quotient(b, "spence", w)))
    logarithm = b.log(y)
    mirrored = b.subtract(b.subtract(math.pi**2 / 6, b.multiply(logarithm, b.log1p(b.negative(y)))), found)
    found = b.where(low, mirrored, found)
    found = b.where(large, b.subtract(b.multiply(b.square(logarithm), -0.5), found), found)
    found = b.where(b.equal(x, 0.0), b.array(math.pi**2 / 6, x.dtype), found)
    return b.where(b.less(x, 0.0), b.array(math.nan, x.dtype), found)
