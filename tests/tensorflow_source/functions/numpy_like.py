"""Samples of functions that ``tf.experimental.numpy`` and ``keras.ops`` have under one name."""

from __future__ import annotations

import numpy as np

from .table import EDGES, WHOLE, Call, binary, by, call, d, each, f, i, p, t, u, unary, without, z

_WHOLE = [call(i("bn")), without(i("n", dtype="uint8")), call(t("bn")), call(i("n", dtype="int64"))]
_NANS = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [np.inf, -np.inf, 2.0], [5.0, 5.0, 1.0]], np.float32)
_SUMS = [
    call(f("bnm")), call(f("bnm"), axis=-1, keepdims=True), call(f("bnm"), axis=(0, 2)), call(i("bn"), axis=1), call(i("bn", dtype="uint8"), axis=0),
    call(t("bn"), axis=0), without(_NANS, axis=1), without(f("bn", dtype="float16"), axis=1),
]  # fmt: skip
_LEAST = [call(f("bnm")), call(f("bnm"), axis=-1, keepdims=True), call(f("bnm"), axis=(0, 2)), call(i("bn"), axis=1), without(_NANS, axis=1), call(t("bn"), axis=0)]
_MIXED = [call(f("bn"), i("n")), call(i("bn"), f("n", dtype="float16")), call(i("bn"), 2.5), call(i("bn"), 3), call(t("bn"), f("n")), call(f("bn", dtype="float64"), f("n")), call(i("bn", dtype="uint8"), i("n", dtype="int8"))]
_BITS = [call(WHOLE, np.roll(WHOLE, 3)), call(i("bn", dtype="uint8"), i("n", dtype="uint8")), call(i("bn", dtype="int64"), i("n"))]
_TRUTHS = [call(t("bn"), t("n")), call(f("bn"), f("n")), call(i("bn", -1, 2), i("n", -1, 2)), without(EDGES, np.roll(EDGES, 5))]
_COMPARED = [*binary(), without(i("bn", 0, 2), i("n", 0, 2)), without(t("bn"), t("bn")), without(i("bn", 0, 2), f("n")), without(i("bn"), 1.5)]
_DIVISORS = [call(i("bn"), i("n", 1, 5)), call(i("bn", -100, 100, "int8"), i("n", -4, -1, "int8")), call(f("bn"), -1.5), call(i("bn"), p("n"))]

NUMPY_LIKE: dict[str, list[Call]] = {
    **each("abs absolute negative square sign conj conjugate", unary("normal", *_WHOLE[:2], call(z("bn")))),
    **each("arcsinh arctan cos sin tan tanh sinh cosh exp expm1 exp2", unary("normal", *_WHOLE)), **each("arccos arcsin arctanh", unary("unit", call(i("n", 0, 1)))),
    **each("arccosh log log10 log1p log2 sqrt reciprocal", unary("positive", call(i("n", 1, 5)))), "cbrt": unary("positive", call(i("n", 1, 9))),
    **each("ceil floor", unary("normal", *_WHOLE[:2])), "round": [*unary("normal", _WHOLE[0]), call(f("bn"), decimals=2), call(i("n", -99, 99), -1)],
    **each("deg2rad rad2deg sinc", unary("normal", _WHOLE[0])),
    **each("isfinite isinf isnan isneginf isposinf", unary("normal", _WHOLE[0])), "isreal": [call(f("n")), call(z("n")), call(np.array([1 + 0j, 2j]))],
    **each("real imag", [call(f("bn")), call(z("bn")), call(i("n"))]), "angle": [call(z("bn")), call(f("bn")), call(z("n", "complex128")), call(np.array([-1.0, 0.0, -0.0, 2], np.float32))],
    "logical_not": [call(t("bn")), call(f("n")), call(i("n", -1, 2)), without(EDGES)], "signbit": [call(f("bn")), without(EDGES), call(i("n"))],
    **each("add subtract multiply maximum minimum", [*binary(), *_MIXED]), **each("divide true_divide", [*binary(), *_MIXED[:6], call(z("n"), z("n")), call(i("bn"), i("n", 1, 5)), call(t("n"), t("n"))]),
    **each("floor_divide mod", [*binary("normal", "positive"), *_DIVISORS]),
    "power": [*binary("positive"), call(f("bn"), 2), call(i("bn"), i("n", 0, 4)), call(i("bn"), 2.0), call(f("n"), i("n", -2, 3))],
    **each("arctan2 hypot logaddexp logaddexp2", [*binary(), call(i("bn"), i("n")), call(f("bn"), i("n"))]),
    **each("gcd lcm", [call(i("bn", 1, 30), i("n", 1, 30)), call(WHOLE, np.roll(WHOLE, 3)), call(i("bn", 1, 30, "int64"), 12)]), "heaviside": [call(f("bn"), 0.5), call(f("bn"), f("n")), without(EDGES, 0.5), call(i("n"), 2)],
    **each("bitwise_and bitwise_or bitwise_xor", _BITS), "bitwise_not": [call(WHOLE), call(i("n", dtype="uint8")), call(t("n"))],
    **each("logical_and logical_or logical_xor", _TRUTHS), **each("equal not_equal greater greater_equal less less_equal", _COMPARED),
    "nextafter": [without(f("bn"), f("bn")), without(EDGES, np.roll(EDGES, 5)), without(f("n", dtype="float64"), f("n", dtype="float64"))],
    "isclose": [call(f("bn"), f("bn")), call(EDGES, EDGES), call(f("n"), f("n"), rtol=0.5, atol=0.5), call(EDGES, EDGES, equal_nan=True)],
    "allclose": [call(f("bn"), f("bn")), call(f("n"), f("n"), rtol=9.0, atol=9.0), call(i("n", 0, 1), i("n", 0, 1))],
    **each("all any", [call(t("bnm")), call(t("bnm"), axis=(0, 2)), call(f("bn"), axis=1, keepdims=True), call(i("bn", 0, 2), axis=0), call(np.zeros((2, 0), bool), axis=1)]),
    **each("sum mean prod var std", [*_SUMS, call(np.zeros((2, 0, 3), np.float32), axis=1)]), **each("max min amax amin", _LEAST), "ptp": [call(f("bnm")), call(f("bnm"), axis=1), call(i("bn"), axis=-1)],
    **each("argmax argmin", [call(d("bnm"), axis=1), call(d("bn")), without(i("bn", 0, 2), axis=-1), without(_NANS, axis=1), without(t("bn"), axis=0)]),
    "argsort": [call(d("bn")), call(d("bnm"), axis=0), call(d("bn"), axis=None), call(i("bn", 0, 2), axis=-1)], "sort": [call(f("bn")), call(f("bnm"), axis=0), call(i("n")), without(_NANS, axis=1)],
    "average": [call(f("bnm")), call(f("bn"), axis=1, weights=p("n")), call(f("bn"), weights=p("bn")), call(i("bn"), axis=0)],
    "count_nonzero": [call(i("bn", -1, 2)), call(f("bnm"), axis=1), call(t("bn"), axis=(0, 1))],
    **each("cumsum cumprod", [call(f("bn"), axis=1), call(f("bn")), call(i("bn"), axis=0), call(t("n")), call(i("n", dtype="uint8"))]), "diff": [call(f("bn")), call(f("bn"), n=2), call(f("bnm"), axis=0), call(i("n"))],
    **each("nanmean nansum", [call(f("bn")), without(_NANS, axis=1), without(_NANS), without(_NANS, axis=0, keepdims=True), call(i("n"))]), "nanprod": [call(f("bn")), without(_NANS, axis=1), without(_NANS), call(i("n"))],
    "append": [call(f("n"), f("m")), call(f("bn"), f("bn"), axis=0), call(f("bn"), f("m")), call(i("n"), f("n"))],
    "arange": [without(5), without(2, 9, 3), without(1.0, 3.0, 0.5), without(5, dtype="float32"), without(9, 1, -2)],
    **each("array", [call(f("bn")), without([1, 2, 3]), call(i("n"), dtype="float32"), without([1.5, 2.0]), without(True)]),
    "broadcast_to": [call(f("3"), (2, 3)), call(i("21"), (2, 4)), call(f(""), (2,))], "clip": [call(f("bn"), -0.5, 0.5), call(i("bn"), -2, 2), without(EDGES, -1.0, 2.0), call(f("bn"), f("n"), 1.5), call(i("bn"), -1.5, 2.5)],
    "concatenate": [call([f("bn"), f("bn")]), call([f("bn"), f("bm")], axis=-1), call([i("n"), f("n")]), call([f("bn"), f("nm")], axis=None) if False else call([f("bn"), f("1n")], axis=0)],
    "copy": [call(f("bn")), call(i("n")), call(t("n"))], "cross": [call(f("b3"), f("b3")), call(f("3"), f("3")), call(i("b3"), f("3")), call(f("3b"), f("3b"), axis=0), call(f("b2"), f("b2"))],
    "diag": [call(f("n")), call(f("nm")), call(f("n"), k=1), call(i("nm"), k=-1)], "diagflat": [call(f("n")), call(f("bn")), call(i("n"), k=2)], "diagonal": [call(f("nm")), call(f("bnm"), offset=1), call(f("bnm"), axis1=1, axis2=2), call(f("nm"), offset=-1)],
    "dot": [call(f("n"), f("n")), call(f("bn"), f("nm")), call(f("bn"), f("n")), call(f("bnm"), f("kmn")), call(f("bn"), 2.0), call(i("bn"), i("nm"))],
    "einsum": [call("bij,bjk->bik", f("bnm"), f("bmk")), call("ij->", f("nm")), call("...ij,...jk", f("bnm"), f("mk")), call("ii->i", f("ss")), call("i,j->ij", i("n"), f("m"))],
    **each("empty_like", [by(lambda g, x: g(x) * 0, f("bn")), by(lambda g, x: g(x) * 0, i("n")), by(lambda g, x: g(x) * 0, f("n", dtype="float64"))]),
    "expand_dims": [call(f("bn"), 0), call(f("bn"), -1), call(i("bnm"), axis=2)], "eye": [without(3), without(3, 4, k=1), without(3, dtype="int32"), without(4, 2, -1)],
    "flip": [call(f("bnm")), call(f("bnm"), axis=1), call(i("n"), axis=0), call(f("bnm"), axis=(0, 2))], "full": [without((2, 3), 2.5), without((2,), 3, dtype="float64"), call((2, 3), f("3")), without((), True)], "full_like": [call(f("bn"), 2.5), call(i("n"), 3), call(f("bn"), 7, dtype="int32")],
    "hstack": [call([f("bn"), f("bm")]), call([f("n"), f("m")]), call([i("n"), f("m")])], "vstack": [call([f("bn"), f("mn")]), call([f("n"), f("n")]), call([i("n"), f("n")])], "dstack": [call([f("bn"), f("bn")]), call([f("n"), f("n")]), call([f("bn2"), f("bn3")])],
    "identity": [without(3), without(2, dtype="int32"), without(4, dtype="float64")], "inner": [call(f("n"), f("n")), call(f("bn"), f("mn")), call(i("bn"), i("n"))], "outer": [call(f("n"), f("m")), call(f("bn"), f("m")), call(i("n"), f("m"))],
    "kron": [call(f("bn"), f("mb")), call(f("n"), f("m")), call(i("bn"), i("nb"))],
    "linspace": [without(0.0, 1.0, 5), call(f(""), f(""), 4), call(f("n"), f("n"), num=3), without(0, 5, 4, endpoint=False), call(f("n"), f("n"), 3, axis=-1), without(1, 2, 1)], "logspace": [without(0.0, 1.0, 5), call(u(""), p(""), 4), without(0, 2, 4, endpoint=False, base=2.0)], "geomspace": [without(1.0, 16.0, 5), call(p("n"), p("n"), 4), without(1.0, 16.0, 4, endpoint=False)],
    "matmul": [call(f("bnm"), f("bmk")), call(f("n"), f("n")), call(f("bn"), f("n")), call(f("n"), f("bnm")), call(i("bn"), i("nm")), call(i("bn"), f("nm")), call(z("bn"), z("nm"))],
    "meshgrid": [call(f("n"), f("m")), call(f("n"), f("m"), indexing="ij"), call(i("n"), i("m"), i("b"))], "moveaxis": [call(f("bnm"), 0, -1), call(f("bnmk"), [0, 1], [2, 0]), call(i("bn"), 1, 0)],
    "ndim": [without(f("bnm")), without(f("")), without(i("n"))], "nonzero": [without(i("bn", 0, 2)), without(f("n")), without(t("bn"))],
    "ones": [without((2, 3)), without((2,), dtype="int32"), without(())], "zeros": [without((2, 3)), without((2,), dtype="int32"), without(())], **each("ones_like zeros_like", [call(f("bn")), call(i("n"), dtype="float64"), call(t("n"))]),
    "pad": [call(f("bn"), ((1, 2), (0, 3)), "constant"), call(f("bn"), ((1, 1), (2, 1)), mode="reflect"), call(f("bn"), ((1, 0), (2, 1)), mode="symmetric"), call(i("bn"), ((1, 0), (2, 1)), "constant", constant_values=7)],
    "ravel": [call(f("bnm")), call(i("bn")), call(f(""))], "repeat": [call(f("bn"), 2), call(f("bn"), 3, axis=1), call(f("3n"), np.array([1, 0, 2]), axis=0), call(i("n"), 2)], "reshape": [call(f("bn"), (-1,)), call(f("b6"), (-1, 3, 2)), call(i("23"), (3, 2))],
    "roll": [call(f("bnm"), 1), call(f("bnm"), 2, axis=1), call(f("bnm"), (1, -2), axis=(0, 2)), call(i("n"), -7)], "rot90": [call(f("bn")), call(f("bnm"), k=3, axes=(1, 2)), call(i("bn"), 2)],
    "select": [call([t("bn"), t("bn")], [f("bn"), f("bn")], 0.5), call([t("n")], [i("n")]), call([t("n"), t("n")], [f("n"), f("n")])], "size": [without(f("bnm")), without(f("")), without(i("n"))], "shape": [without(f("bnm")), without(f("")), without(i("n"))],
    "split": [call(f("4n"), 2), call(f("bn6"), [1, 3], axis=2), call(i("n6"), 3, -1)], **each("hsplit", [call(f("n4"), 2), call(f("b6"), [1, 3]), call(f("4"), 2)]), "vsplit": [call(f("4n"), 2), call(f("6b"), [1, 3]), call(i("4n"), 4)], "dsplit": [call(f("bn4"), 2), call(f("bn6"), [1, 3]), call(i("bn4"), 4)],
    "squeeze": [call(f("1n1")), call(f("1n1"), axis=0), call(i("b1"), axis=-1)], "stack": [call([f("bn"), f("bn")]), call([f("bn"), f("bn")], axis=-1), call([i("n"), f("n")])], "swapaxes": [call(f("bnm"), 0, 2), call(f("bn"), -1, 0), call(i("bnm"), 1, 2)],
    "take": [call(f("5n"), i("bm", 0, 5), axis=0), call(f("bn"), np.array([0, 5, 1])), call(f("b5"), i("m", 0, 5), axis=1), call(f("b5"), 2, axis=-1), call(f("5"), np.array([-1, 2]))], "take_along_axis": [call(f("b5"), i("bm", 0, 5), axis=1), call(f("5n"), i("2n", 0, 5, "int64"), axis=0), by(lambda g, x: g(x, np.array([0, 2, 1]), None), f("n"))],
    "tensordot": [call(f("bnm"), f("mk"), 1), call(f("bnm"), f("nbk"), ((0, 1), (1, 0))), call(f("bn"), f("m"), axes=0)], "tile": [call(f("bn"), (2, 3)), call(f("n"), 2), call(i("bn"), (2, 1, 1))], "trace": [call(f("nm")), call(f("nmb"), offset=1), call(i("nm")), call(f("bnm"), axis1=1, axis2=2)],
    "transpose": [call(f("bnm")), call(f("bnm"), (1, 0, 2)), call(i("bn"))], "tri": [without(3), without(3, 4, 1), without(4, k=-1, dtype="int32")], **each("tril triu", [call(f("nm")), call(f("bnm"), k=1), call(i("nm"), k=-1)]),
    "vander": [call(f("n")), call(f("n"), 3), call(i("n"), 4, increasing=True)], "vdot": [call(f("n"), f("n")), call(f("bn"), f("bn")), call(i("n"), i("n")), call(z("n"), z("n"))], "where": [call(t("bn"), f("bn"), f("n")), call(t("bn"), i("bn"), 1.5), without(t("bn")), call(i("bn", 0, 2), f("bn"), 0.0), call(t("b1"), i("n"), f("n"))],
}  # fmt: skip
