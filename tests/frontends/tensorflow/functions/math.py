"""Samples of ``tf.math``, ``tf.math.special`` and ``tf.bitwise``."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from .table import EDGES, OTHERS, WHOLE, Call, binary, by, call, d, each, f, i, p, t, u, unary, without, z

_INT, _COMPLEX = call(i("bn")), call(z("bn"))
_IDS, _LOOSE = np.array([0, 0, 2, 2, 3], np.int32), np.array([3, -1, 0, 3, 1], np.int32)
# A compiled program of TensorFlow may give something else at infinity than its kernels.
FINITE = EDGES[~np.isinf(EDGES)]
_NANS = np.array(
    [[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [np.inf, -np.inf, 2.0], [5.0, 5.0, 1.0]], np.float32
)
_REDUCED = [
    call(f("bnm")),
    call(f("bnm"), axis=-1, keepdims=True),
    call(f("bnm"), axis=(0, 2)),
    call(f("bnm"), axis=[1, -1], keepdims=True),
    call(f("bnm"), axis=()),
    without(f("bnm", dtype="float16"), axis=1),
    without(_NANS, axis=1),
    without(np.zeros((2, 0, 3), np.float32), axis=1),
]
_REDUCED_INTS = [
    call(i("bnm"), axis=1),
    call(i("bnm", dtype="uint8"), axis=(0, 1)),
    call(i("bnm", dtype="int64"), axis=-1, keepdims=True),
]
_RUNNING = [
    call(f("bnm"), axis=axis, exclusive=exclusive, reverse=reverse)
    for axis, exclusive, reverse in ((0, False, False), (-1, True, False), (1, False, True), (-2, True, True))
]
_SEGMENTS = [
    call(f("5n"), _IDS),
    call(f("5", dtype="float64"), _IDS),
    without(i("5n"), _IDS),
    without(f("5n", dtype="float16"), _IDS),
]
_UNSORTED = [
    call(f("5n"), _LOOSE, 4),
    call(f("5n"), _LOOSE, num_segments=6),
    without(i("5n"), _LOOSE, 4),
    call(f("52n"), np.stack([_LOOSE, _IDS], 1), 5),
    without(f("5n", dtype="float16"), _LOOSE, 4),
]
_COMPARED = [
    *binary(),
    without(i("bn", 0, 2), i("n", 0, 2)),
    without(i("bn", 0, 2, "uint8"), i("bn", 0, 2, "uint8")),
]
_WHOLES = [
    call(WHOLE, np.roll(WHOLE, 3)),
    call(i("bn", dtype="int64"), i("n", dtype="int64")),
    call(i("bn", dtype="uint8"), 3),
]
_DIVISORS = [call(i("bn"), i("n", 1, 5)), call(i("bn", -100, 100, "int8"), i("n", -4, -1, "int8")), call(i("bn", 0, 9, "uint8"), i("n", 1, 5, "uint8"))]  # fmt: skip
_TRUTHS = [call(t("bn"), t("n")), call(t("bn"), True), call(t("b1"), t("1n"))]

TF_MATH: dict[str, list[Call]] = {
    **each("abs negative square sign", unary("normal", _INT, _COMPLEX)),
    **each("asinh atan cos sin tan tanh cosh sinh sigmoid exp expm1", unary("normal", _COMPLEX)),
    **each("acos asin atanh", unary("unit", _COMPLEX)),
    **each("acosh log log1p sqrt rsqrt reciprocal", unary("positive", call(z("n")))),
    **each("ceil floor rint", unary()),
    "round": unary("normal", _INT, by(lambda f, x: f(x * 2.0), i("bn", dtype="float32"))),
    **each("bessel_i0 bessel_i0e bessel_i1 bessel_i1e erf erfc lgamma", unary(edges=False)),
    "digamma": unary("positive"),
    **each("erfinv erfcinv ndtri", unary("fraction", edges=False)),
    "erfinv": unary("unit"),
    **each("is_finite is_inf is_nan", unary()),
    **each("log_sigmoid softplus softsign", unary()),
    "reciprocal_no_nan": unary("normal", _COMPLEX),
    "angle": unary("normal", _COMPLEX),
    **each("real imag conj", [_COMPLEX, call(z("n", "complex128")), call(f("bn"))]),
    "logical_not": [call(t("bn")), call(t("n")), call(t(""))],
    **each("logical_and logical_or logical_xor", _TRUTHS),
    **each("add subtract multiply maximum minimum squared_difference", [*binary(), *_WHOLES[:2]]),
    **each("divide truediv", [*binary(), *_DIVISORS, call(z("bn"), z("n"))]),
    **each(
        "divide_no_nan multiply_no_nan",
        [
            *binary(),
            call(np.zeros(3, np.float32), f("3")),
            call(f("3"), np.zeros(3, np.float32)),
            call(z("n"), z("n")),
        ],
    ),
    **each("floordiv floormod", [*binary("normal", "positive"), *_DIVISORS, without(f("bn"), -1.5)]),
    **each("equal not_equal", [*_COMPARED, without(t("bn"), t("bn")), without(z("bn"), z("bn"))]),
    **each("greater greater_equal less less_equal", _COMPARED),
    "atan2": binary(),
    "pow": [
        *binary("positive"),
        call(i("bn"), i("n", 0, 4)),
        call(z("n"), z("n")),
        call(f("bn"), 2.0),
        call(f("bn"), 3),
    ],
    "nextafter": [
        without(f("bn"), f("bn")),
        without(EDGES, OTHERS),
        without(f("n", dtype="float64"), f("n", dtype="float64")),
    ],
    **each(
        "xdivy xlogy xlog1py",
        [*binary("normal", "positive"), call(np.zeros(3, np.float32), np.array([0.0, -1, 2], np.float32))],
    ),
    "igamma": binary("positive", "positive", edges=False),
    "igammac": binary("positive", "positive", edges=False),
    "betainc": [
        call(p("bn"), p("bn"), u("bn")),
        call(p("n"), p("n"), u("bn")),
        call(p("n", "float64"), p("n", "float64"), u("n", "float64")),
    ],
    "zeta": [
        call(np.array([2.0, 3.5, 1.5], np.float32), p("3")),
        call(np.array([2.0, 3.5], np.float64), p("2", "float64")),
        call(3.0, p("n")),
    ],
    "polygamma": [
        call(np.array([1.0, 2, 3], np.float32), p("3")),
        call(1.0, p("bn")),
        call(np.array([0.0, 4.0], np.float64), p("2", "float64")),
        without(np.array([[-1.0], [0.0], [1.0], [1.5], [2.0], [3.0]], np.float32), FINITE),
        *(without(degree, FINITE) for degree in (-1.0, 0.0, 1.0, 1.5, 2.0, 3.0)),
    ],
    "lbeta": [call(p("bn")), call(p("n")), call(p("bnm", "float64"))],
    "polyval": [
        call([f("n"), f("n"), 2.0], f("n")),
        call([1.0, f(""), f("")], f("bn")),
        call([f("")], f("bn")),
        call([f("n", dtype="float64")] * 3, f("n", dtype="float64")),
    ],
    "scalar_mul": [call(2.5, f("bn")), call(f(""), f("bn")), call(3, i("bn"))],
    "accumulate_n": [
        call([f("bn"), f("bn"), f("bn")]),
        call([i("n"), i("n")]),
        call([f("bn", dtype="float64")]),
    ],
    "add_n": [call([f("bn"), f("bn"), f("bn")]), call([i("n"), i("n")]), call([z("n")])],
    "approx_max_k": [without(d("bt"), 4), without(d("bt"), 2), without(d("t"), 5)],
    "approx_min_k": [without(d("bt"), 4), without(d("bt"), 2), without(d("t"), 5)],
    **each(
        "argmax argmin",
        [
            call(f("bnm"), axis=1),
            call(i("bn", 0, 2), axis=-1, output_type="int32"),
            call(_NANS, axis=1),
            call(f("bn")),
            call(t("bn"), axis=1),
        ],
    ),
    "bincount": [
        call(i("n", 0, 6)),
        call(i("n", 0, 6), weights=f("n")),
        call(i("bn", 0, 6), axis=-1, minlength=8),
        call(i("bn", 0, 4), minlength=3, maxlength=6),
        call(i("n", 0, 6), dtype="int64"),
        call(i("bn", 0, 4), axis=-1, binary_output=True),
    ],
    "confusion_matrix": [
        call(i("n", 0, 4), i("n", 0, 4)),
        call(i("n", 0, 4), i("n", 0, 4), num_classes=6),
        call(i("n", 0, 4), i("n", 0, 4), num_classes=5, weights=f("n"), dtype="float32"),
    ],
    "count_nonzero": [
        call(i("bnm", -1, 2)),
        call(f("bnm"), axis=1, keepdims=True),
        call(i("bn", 0, 2), axis=(0, 1), dtype="int32"),
        call(t("bn"), axis=-1),
    ],
    **each(
        "cumsum cumprod",
        [
            *_RUNNING,
            call(i("bn"), axis=1),
            without(f("bn", dtype="float16"), axis=1),
            call(z("bn")),
            call(i("n", dtype="uint8"), exclusive=True),
        ],
    ),
    "cumulative_logsumexp": [
        *_RUNNING,
        without(EDGES[1:]),
        without(EDGES[2:]),
        call(f("n", dtype="float64"), exclusive=True),
    ],
    "in_top_k": [
        call(i("n", 0, 4), f("n4"), 2),
        call(i("n", -2, 7), f("n4"), 3),
        call(
            np.array([0, 1, 2], np.int64),
            np.array([[1, 1, 0], [1, np.nan, 0], [np.inf, 2, 3]], np.float32),
            1,
        ),
    ],
    "invert_permutation": [
        call(np.array([2, 0, 1, 3], np.int32)),
        call(np.array([1, 0], np.int64)),
        by(lambda f, x: f(tf.argsort(x)), f("n")),
    ],
    **each(
        "is_non_decreasing is_strictly_increasing",
        [call(f("bn")), call(np.arange(4.0)), call(np.array([1, 1, 2], np.int32)), call(f("1"))],
    ),
    "l2_normalize": [
        call(f("bnm"), axis=-1),
        call(f("bnm"), axis=[0, 1]),
        call(f("bn"), axis=None, epsilon=0.5),
        call(np.zeros((2, 3), np.float32), axis=1),
    ],
    "log_softmax": [
        call(f("bnm")),
        call(f("bnm"), axis=1),
        call(f("bnm"), axis=0),
        without(np.array([[1, 3], [-np.inf, 2], [-np.inf, -np.inf]], np.float32)),
    ],
    "softmax": [
        call(f("bnm")),
        call(f("bnm"), axis=1),
        call(f("bnm"), axis=0),
        without(np.array([[1, 3], [-np.inf, 2], [-np.inf, -np.inf]], np.float32)),
    ],
    **each(
        "reduce_all reduce_any",
        [
            call(t("bnm")),
            call(t("bnm"), axis=(0, -1)),
            call(t("bn"), axis=1, keepdims=True),
            call(np.zeros((2, 0), bool), axis=1),
        ],
    ),
    **each("reduce_sum reduce_mean reduce_max reduce_min", [*_REDUCED, *_REDUCED_INTS]),
    "reduce_prod": [*_REDUCED, *_REDUCED_INTS],
    **each(
        "reduce_euclidean_norm reduce_std reduce_variance reduce_logsumexp",
        [*_REDUCED, call(f("bn", dtype="float64"), axis=0)],
    ),
    **each("segment_max segment_mean segment_min segment_prod segment_sum", _SEGMENTS),
    **each("unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum", _UNSORTED),
    **each("unsorted_segment_mean unsorted_segment_sqrt_n", _UNSORTED),
    "top_k": [
        call(d("bn"), 2),
        call(d("t"), k=4, sorted=True),
        without(i("bn", 0, 2), 3),
        call(f("bn")),
        without(np.array([[1, np.nan, 3, np.inf, -np.inf]], np.float32), 3),
        without(d("bn"), 2, index_type="int64"),
    ],
    "zero_fraction": [call(i("bn", 0, 2)), call(f("bn")), call(i("n", 0, 2, "int64"), dtype="float64")],
    "sobol_sample": [without(3, 7), without(2, 5, skip=3), without(1, 4, dtype="float64")],
    **each("bessel_j0 bessel_j1", unary(edges=False), "special."),
    **each(
        "bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1",
        unary("positive", edges=False),
        "special.",
    ),
    "special.expint": [*unary("positive"), call(np.array([0.5, 3, 6, 12, 20, 40, 70, 88], np.float32))],
    **each(
        "dawsn fresnel_cos fresnel_sin",
        unary("normal", call(np.array([0.5, 4, 8, -1.6, 1e9, 1e5], np.float32))),
        "special.",
    ),
    "special.spence": unary("positive", call(np.array([0.2, 0.7, 1.2, 1.7, 3, 9], np.float32))),
}
SAMPLES: dict[str, list[Call]] = {
    **{f"tf.math.{name}": calls for name, calls in TF_MATH.items()},
    **each(
        "bitwise_and bitwise_or bitwise_xor",
        [
            call(WHOLE, np.roll(WHOLE, 3)),
            call(i("bn", dtype="uint8"), i("n", dtype="uint8")),
            call(i("bn", dtype="int64"), 5),
            call(i("n", 0, 9, "uint16"), i("n", 0, 9, "uint16")),
        ],
        "tf.bitwise.",
    ),
    **each(
        "left_shift right_shift",
        [
            call(WHOLE, i("", 0, 5)),
            call(i("bn", dtype="uint8"), i("n", 0, 8, dtype="uint8")),
            call(i("bn", dtype="int64"), i("n", 0, 40, dtype="int64")),
            call(i("n", -99, 99, "int8"), i("n", 0, 8, "int8")),
        ],
        "tf.bitwise.",
    ),
    "tf.bitwise.invert": [call(WHOLE), call(i("bn", dtype="uint8")), call(i("bn", dtype="int64"))],
}
