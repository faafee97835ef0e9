"""Samples of ufuncs and other element-wise functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, Sample, b, c, d, f, i, sample

X, Y, P, U = f(3, 4), f(4), f(3, 4, kind="positive"), f(3, 4, kind="unit")
_UNARY_ANY = ("negative", "positive", "absolute", "fabs", "rint", "sign", "exp", "exp2", "expm1", "square", "sin", "cos", "tan", "arctan", "sinh", "cosh",
              "tanh", "arcsinh", "degrees", "radians", "floor", "ceil", "trunc", "isfinite", "isinf", "isnan", "signbit", "conjugate",
              "cbrt",
              "spacing", "logical_not", "deg2rad", "rad2deg")  # fmt: skip
_UNARY_POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "reciprocal")
_UNARY_UNIT = ("arcsin", "arccos", "arctanh")
_BINARY = ("add", "subtract", "multiply", "divide", "logaddexp", "logaddexp2", "arctan2", "hypot", "maximum", "minimum", "fmax", "fmin", "copysign",
           "nextafter", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
           "fmod",
           "remainder", "floor_divide", "heaviside")  # fmt: skip
_INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm")


def _call(name: str) -> Any:
    return getattr(np, name)


SAMPLES: list[Sample] = [
    *(sample(name, _call(name), X) for name in _UNARY_ANY),
    *(sample(name, _call(name), P) for name in _UNARY_POSITIVE),
    *(sample(name, _call(name), U) for name in _UNARY_UNIT),
    sample("arccosh", lambda x: np.arccosh(x + 1), P),
    *(sample(name, _call(name), X, Y) for name in _BINARY),
    *(sample(name, _call(name), i(3, 4), i(4)) for name in _INTEGERS),
    sample("power", np.power, P, Y),
    sample("float_power", np.float_power, P, Y),
    sample("power of ints", lambda x: np.power(x, 3), i(3, 4)),
    sample("left_shift", lambda x: np.left_shift(x, 2), i(3, 4, low=0)),
    sample("right_shift", lambda x: x >> 1, i(3, 4)),
    sample("invert", lambda x, m: (~x, ~m), i(3), b(4)),
    sample("divmod", np.divmod, X, f(4, kind="positive")),
    sample("divmod operator", lambda x: divmod(x, 3), i(3, 4)),
    sample("modf", np.modf, X),
    sample("frexp", np.frexp, X),
    sample("ldexp", np.ldexp, X, i(4, low=-2, high=3, dtype="int32")),
    sample("abs of complex", np.abs, c(3, 4)),
    sample("sqrt of ints", np.sqrt, i(3, 4, low=0)),
    sample("exp of int8", lambda x: np.exp(x.astype(np.float32)), i(3, low=0, high=3, dtype="int8")),
    sample("divide ints", lambda x, y: x / (y + 10), i(3, 4), i(4)),
    sample("floor divide ints", lambda x, y: x // (y + 10), i(3, 4), i(4)),
    sample("mod ints", lambda x, y: x % (y + 10), i(3, 4), i(4)),
    sample("float and Python numbers", lambda x: 2 * x + 1.5 - x / 3, X),
    sample("int and Python float", lambda x: x * 2.5, i(3, 4)),
    sample("uint8 and Python int", lambda x: x + 3, i(3, 4, dtype="uint8")),
    sample("float32 and float64 scalar", lambda x: x * np.float64(2.5), X),
    sample("float32 and float32 scalar", lambda x: x * np.float32(2.5), X),
    sample("int32 and int64", lambda x, y: x + y, i(3, 4, dtype="int32"), i(4)),
    sample("int16 and float32", lambda x, y: x + y, i(3, 4, dtype="int16"), f(4)),
    sample("int64 and float32", lambda x, y: x * y, i(3, 4), f(4)),
    sample("uint8 and int8", lambda x, y: x - y, i(3, dtype="uint8"), i(3, dtype="int8")),
    sample("bool and bool", lambda x, y: (x + y, x * y, x & y, x | y, x ^ y), b(3, 4), b(4)),
    sample("bool and int", lambda x, y: x + y, b(3, 4), i(4)),
    sample("bool and Python float", lambda x: x * 0.5, b(3, 4)),
    sample("complex and float", lambda x, y: x * y + 1j, c(3, 4), f(4)),
    sample("scalar of a reduction", lambda x: x * x.sum() - x.mean(), X),
    sample("scalar arithmetic", lambda x: (x.sum() + 1) * 2 - x.max() ** 2, X),
    sample("size in arithmetic", lambda x: x * x.shape[0] / x.shape[1], X),
    sample("sqrt of a size", lambda x: x / np.sqrt(x.shape[-1]), X),
    sample("power of a size", lambda x: x * x.shape[0] ** -0.5, X),
    sample("operators", lambda x, y: (-x + abs(y) - +x) * y, X, Y),
    sample("reflected operators", lambda x: (1 - x, 2 / (x + 10), 3**x, 7 // (x + 10), 5 % (x + 10)), X),
    sample("matmul operator", lambda x, y: x @ y, X, f(4, 2)),
    sample("comparisons", lambda x, y: (x > y, x >= y, x < y, x <= y, x == y, x != y), X, Y),
    sample("ufunc dtype", lambda x, y: np.add(x, y, dtype=np.float64), X, Y),
    sample("ufunc out", lambda x, y: np.multiply(x, y, out=np.empty(x.shape, np.float32)), X, Y),
    sample("ufunc out and where", lambda x: np.log(x, out=np.zeros(x.shape), where=x > 0), d(3, 4)),
    sample("add.reduce", np.add.reduce, X),
    sample("multiply.reduce", lambda x: np.multiply.reduce(x, axis=1), X),
    sample("maximum.reduce", lambda x: np.maximum.reduce(x, axis=-1, keepdims=True), X),
    sample("minimum.reduce", lambda x: np.minimum.reduce(x, axis=None), X),
    sample("logical_or.reduce", lambda x: np.logical_or.reduce(x > 1, axis=1), X),
    sample("logaddexp.reduce", lambda x: np.logaddexp.reduce(x, axis=1), X),
    sample("add.accumulate", lambda x: np.add.accumulate(x, axis=1), X),
    sample("maximum.accumulate", lambda x: np.maximum.accumulate(x, axis=1), X),
    sample("minimum.accumulate", np.minimum.accumulate, X),
    sample("multiply.outer", np.multiply.outer, f(3), f(4, 2)),
    sample("subtract.outer", np.subtract.outer, f(3), f(4)),
    sample("add.at", lambda x, k: _after(x, lambda z: np.add.at(z, k, 1.0)), f(3, 2), i(8, low=0, high=3)),
    sample(
        "maximum.at",
        lambda x, k, v: _after(x, lambda z: np.maximum.at(z, k, v)),
        f(5),
        i(8, low=0, high=5),
        f(8),
    ),
    *(
        sample(
            f"{of.__name__}.at a mask",
            lambda x, m, v, of=of: (
                _after(x, lambda z: of.at(z, m, 0.25)),
                _after(x, lambda z: of.at(z, m, v)),
                _after(x, lambda z: of.at(z, m, x[m] * 2)),
            ),
            f(5, 3),
            b(5),
            f(3),
        )
        for of in (np.add, np.subtract, np.multiply, np.maximum, np.minimum)
    ),
    sample(
        "bitwise_count",
        lambda x, y: (np.bitwise_count(x), np.bitwise_count(y)),
        i(3, 4),
        i(8, low=0, high=255, dtype="uint8"),
    ),
    sample("clip", lambda x: np.clip(x, -0.5, 0.5), X),
    sample("clip method", lambda x: x.clip(0), X),
    sample("clip by arrays", lambda x, y: np.clip(x, -abs(y), abs(y)), X, Y),
    sample("clip ints", lambda x: np.clip(x, 0, 3), i(3, 4)),
    sample("round", lambda x: np.round(x, 2), X),
    sample("round method", lambda x: (x * 3).round(), X),
    sample("around", lambda x: np.around(x * 100, -1), X),
    sample("fix", np.fix, X),
    sample("real and imag", lambda x: (x.real, x.imag, np.real(x), np.imag(x)), c(3, 4)),
    sample("conj", lambda x: x.conj(), c(3, 4)),
    sample("angle", lambda x: (np.angle(x), np.angle(x, deg=True)), c(3, 4)),
    sample("isclose", lambda x: np.isclose(x, x + 1e-9), X),
    sample("isreal", lambda x: (np.isreal(x), np.iscomplex(x)), c(3)),
    sample("isposinf", lambda x: (np.isposinf(x), np.isneginf(x)), f(3, kind="holes")),
    sample("nan_to_num", lambda x: np.nan_to_num(x, nan=7.0), f(3, 4, kind="holes")),
    sample("nan_to_num of complex", lambda x, y: np.nan_to_num(x + 1j * y), f(3, 4, kind="holes"), f(3, 4)),
    sample("sinc", np.sinc, X),
    sample("i0", np.i0, f(4, kind="unit")),
    sample("unwrap", lambda x: np.unwrap(x * 4), d(8)),
    sample("astype", lambda x: (x.astype(int), x.astype(np.float64), x.astype("bool"), x.astype(np.int8)), X),
    sample("astype of bool", lambda x: x.astype(np.float32), b(3, 4)),
    sample("view as ints", lambda x: x.view(np.int32), X),
    sample("float16", lambda x: x + x * 2, Array((3, 4), "float16")),
    sample("sum to scalar and back", lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(), d(4)),
    sample("angle of real numbers", lambda x: (np.angle(x), np.angle(x * 0.0, deg=True)), d(3, 4)),
]


def _after(x: Any, change: Any) -> Any:
    x = x.copy()
    change(x)
    return x
