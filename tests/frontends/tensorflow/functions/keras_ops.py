"""Samples of ``keras.ops`` on the TensorFlow backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .numpy_like import NUMPY_LIKE
from .table import EDGES, WHOLE, Call, binary, by, call, d, each, f, i, p, t, u, unary, without, z

_NANS = np.array(
    [[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [np.inf, -np.inf, 2.0], [5.0, 5.0, 1.0]], np.float32
)
_NAN_REDUCED = [
    call(f("bnm")),
    without(_NANS, axis=1),
    without(_NANS),
    call(f("bnm"), axis=(0, 2), keepdims=True),
    call(i("bn"), axis=0),
]
_SHIFTS = [
    call(WHOLE, i("", 0, 5)),
    call(i("bn", dtype="uint8"), i("n", 0, 8, dtype="uint8")),
    call(i("bn"), 2),
]
_NO_INTS = unary("normal", call(i("n")))
_WINDOW = [by(lambda g, x: g(5) * x, f("5")), by(lambda g, x: g(8) + x, f("8")), without(1), without(7)]
_POOL = [
    call(f("bhwc"), 2),
    call(f("bhwc"), (3, 2), strides=(2, 1), padding="same"),
    call(f("btc"), 2, strides=1),
    call(f("b567c"), 2, padding="same"),
    call(f("bchw"), 2, data_format="channels_first"),
    call(f("bct"), 3, 2, "same", "channels_first"),
]
_CONV = [
    call(f("bhw2"), f("3223")),
    call(f("bhw2"), f("3223"), strides=(2, 1), padding="same"),
    call(f("bt2"), f("323"), dilation_rate=2),
    call(f("b5672"), f("22223"), padding="same"),
    call(f("b2hw"), f("3223"), data_format="channels_first"),
    call(f("bhw4"), f("3226")),
    call(f("bhw2"), f("3223"), dilation_rate=(2, 1), padding="same"),
]
_QUANTILES = [
    call(f("bn"), 0.5),
    call(f("bnm"), np.array([0.1, 0.9], np.float32), axis=1),
    call(f("bnm"), 0.3, axis=(0, 2), keepdims=True),
    *[call(f("bn"), 0.3, axis=-1, method=method) for method in ("lower", "higher", "nearest", "midpoint")],
]
_PERCENTILES = [
    call(f("bn"), 50.0),
    call(f("bnm"), np.array([10.0, 90.0], np.float32), axis=1),
    call(f("bnm"), 30.0, axis=(0, 2), keepdims=True),
    call(f("bn"), 30.0, axis=-1, method="nearest"),
]
_IDS = np.array([0, 0, 2, 2, 3], np.int32)
_SEGMENTS = [
    call(f("5n"), _IDS, 5),
    call(f("5n"), _IDS[[3, 0, 1, 4, 2]], num_segments=4),
    call(f("5n"), _IDS, 4, sorted=True),
    call(i("5"), _IDS, 4),
]


def _spd(x: Any) -> Any:
    return tf.matmul(x, x, adjoint_b=True) + tf.eye(tf.shape(x)[-1], dtype=x.dtype) * 2


def _of_spd(called: Any, x: Any, *rest: Any, **options: Any) -> Any:
    return called(_spd(x), *rest, **options)


def _magnitudes(called: Any, x: Any, **options: Any) -> Any:
    return [tf.abs(part) for part in tf.nest.flatten(called(x, **options))]


def _sorted_values(called: Any, x: Any) -> Any:
    return tf.sort(tf.abs(called(x)[0]), axis=-1)


def _pairs(called: Any, x: Any, y: Any, *rest: Any, **options: Any) -> Any:
    return called((x, y), *rest, **options)


_SQUARE = [
    Call((f("ss"),), {}, _of_spd),
    Call((f("bss"),), {}, _of_spd),
    Call((f("ss", dtype="float64"),), {}, _of_spd),
]
_COMPLEX = [by(_pairs, f("bt"), f("bt")), by(_pairs, f("t"), f("t")), by(_pairs, f("b5"), f("b5"))]
_COMPLEX2 = [by(_pairs, f("bhw"), f("bhw")), by(_pairs, f("hw"), f("hw")), by(_pairs, f("bh5"), f("bh5"))]
_LOSSES = [call(u("bn"), u("bn")), call(u("bn"), f("bn"), from_logits=True)]

KERAS: dict[str, list[Call]] = {
    **NUMPY_LIKE,
    "array": [call(f("bn")), without(np.array([1, 2, 3])), call(i("n"), dtype="float32")],
    "empty": [by(lambda g, x: g((2, 3)) * 0 + x, f("3"))] * 3,
    "argsort": [call(d("bn")), call(d("bnm"), axis=0), call(i("bn", 0, 2), axis=-1)],
    "eye": [without(3), without(3, 4, k=1), without(3, dtype="int32")],
    "select": [
        call([t("bn"), t("bn")], [f("bn"), f("bn")], 0.5),
        call([t("n")], [i("n")]),
        call([t("n"), t("n")], [f("n"), f("n")]),
    ],
    "take": [*NUMPY_LIKE["take"], call(f("5n"), np.array([[-1, 0], [4, -5]]), axis=0)],
    "transpose": NUMPY_LIKE["transpose"],
    "tri": [without(3), without(3, 4, 1), without(4, k=-1, dtype="int32")],
    "vander": [call(f("n")), call(f("n"), 3), call(f("n"), 4)],
    **each(
        "adaptive_average_pool adaptive_max_pool",
        [
            call(f("bhwc"), (2, 3)),
            call(f("btc"), 4),
            call(f("bchw"), 2, data_format="channels_first"),
            call(f("b567c"), (2, 3, 2)),
        ],
    ),
    "argpartition": [
        Call((d("bn"), k), {}, lambda g, x, k: tf.gather(x, g(x, k), batch_dims=1)[..., k], False)
        for k in (0, 1, 2)
    ],
    "array_split": [call(f("5n"), 2), call(f("b7"), 3, axis=1), call(f("6n"), 4)],
    "associative_scan": [
        by(lambda g, x: g(lambda a, c: a + c, x), f("nb")),
        by(lambda g, x: g(lambda a, c: a * c, x, axis=1), f("bn")),
        by(lambda g, x: g(tf.maximum, x, reverse=True), f("nb")),
    ],
    **each("average_pool max_pool", _POOL),
    **each("bartlett blackman hamming hanning", _WINDOW),
    "kaiser": [
        by(lambda g, x: g(5, 4.0) * x, f("5")),
        by(lambda g, x: g(8, 2.0) + x, f("8")),
        without(7, 14.0),
    ],
    "batch_normalization": [
        call(f("bhwc"), f("c"), p("c"), -1),
        call(f("bhwc"), f("c"), p("c"), -1, f("c"), p("c"), 0.1),
        call(f("bchw"), f("c"), p("c"), 1, scale=p("c")),
        without(f("bn", dtype="float16"), f("n", dtype="float16"), p("n", "float16"), -1),
    ],
    "binary_crossentropy": [
        *_LOSSES,
        call(np.array([0.0, 1, 0, 1], np.float32), np.array([0.0, 1, 1, 0], np.float32)),
        call(u("n", "float64"), u("n", "float64")),
    ],
    "categorical_crossentropy": [*_LOSSES, call(u("bnm"), u("bnm"), axis=1)],
    "sparse_categorical_crossentropy": [
        call(i("b", 0, 4), u("b4")),
        call(i("bn", 0, 4), f("bn4"), from_logits=True),
        call(i("b1", 0, 4), u("b4")),
    ],
    "bincount": [call(i("n", 0, 6)), call(i("n", 0, 6), weights=f("n")), call(i("bn", 0, 6), minlength=8)],
    "bitwise_invert": NUMPY_LIKE["bitwise_not"],
    **each("bitwise_left_shift bitwise_right_shift left_shift right_shift", _SHIFTS),
    "cast": [call(f("bn"), "int32"), call(i("n"), "float16"), call(t("n"), "float32")],
    "cdist": [
        call(f("bn"), f("mn")),
        call(f("3n"), f("2n")),
        call(f("bn", dtype="float64"), f("mn", dtype="float64")),
    ],
    **each(
        "elu relu relu6 selu silu softplus softsign tanh_shrink log_sigmoid hard_sigmoid hard_silu hard_tanh sparse_plus sparse_sigmoid sigmoid rsqrt trunc squareplus",
        _NO_INTS,
    ),
    "celu": unary("normal", call(f("bn"), alpha=0.5)),
    "gelu": unary("normal", call(f("bn"), approximate=False)),
    "glu": [call(f("b4")), call(f("4b"), axis=0), call(f("b6", dtype="float64"))],
    **each("hard_shrink soft_shrink", unary("normal", call(f("bn"), 1.0))),
    "leaky_relu": unary("normal", call(f("bn"), 0.4)),
    "threshold": [call(f("bn"), 0.2, -1.0), call(EDGES, 0.5, 2.0), call(f("n", dtype="float64"), -0.5, 0.0)],
    "sparsemax": [call(f("bn")), call(f("bnm"), axis=1), call(f("n"))],
    **each("erf i0", unary("normal", edges=False)),
    "erfc": unary("normal"),
    "erfinv": unary("unit"),
    "exp2": unary("normal", call(i("n"))),
    **each("log_softmax", [call(f("bnm")), call(f("bnm"), axis=1), call(f("bn"), axis=None)]),
    "softmax": [
        call(f("bnm")),
        call(f("bnm"), axis=1),
        call(f("bnm"), axis=(0, 2)),
        call(f("bn"), axis=None),
    ],
    "logsumexp": [
        call(f("bnm")),
        call(f("bnm"), axis=1, keepdims=True),
        call(f("bnm"), axis=(0, 2)),
        without(_NANS, axis=1),
    ],
    "cholesky": _SQUARE,
    "cholesky_inverse": [
        by(lambda g, x, **o: g(tf.linalg.cholesky(_spd(x)), **o), f("ss")),
        by(lambda g, x: g(tf.linalg.cholesky(_spd(x))), f("bss")),
        by(lambda g, x: g(tf.linalg.matrix_transpose(tf.linalg.cholesky(_spd(x))), upper=True), f("ss")),
    ],
    **each("det inv logdet slogdet", _SQUARE),
    "eig": [Call(one.args, {}, _sorted_values, False) for one in _SQUARE],
    "eigh": [Call(one.args, {}, lambda g, x: g(_spd(x))[0]) for one in _SQUARE],
    "lstsq": [call(f("63"), f("6")), call(f("53"), f("52")), call(f("26"), f("23"))],
    "lu_factor": _SQUARE,
    "matrix_rank": [call(f("nm")), call(np.ones((3, 3), np.float32)), call(f("bnm"), tol=0.5)],
    "norm": [
        call(f("bn")),
        call(f("bnm"), ord=1, axis=1),
        call(f("bnm"), ord=np.inf, axis=-1, keepdims=True),
        call(f("bnm"), ord="fro", axis=(0, 2)),
        call(f("nm"), ord=2),
        call(f("nm"), ord="nuc"),
        call(f("bn"), ord=3, axis=0),
        call(f("nm"), ord=-1),
        call(f("nm"), ord=-2),
        call(f("bn"), ord=0, axis=1),
    ],
    "pinv": [call(f("nm")), call(f("b34")), call(f("43"), rcond=0.3)],
    "qr": [
        Call((f("43"),), {}, _magnitudes, False),
        Call((f("b43"),), {}, _magnitudes, False),
        Call((f("34"),), {"mode": "complete"}, _magnitudes, False),
    ],
    "solve": [
        by(lambda g, x, y: g(_spd(x), y), f("ss"), f("sn")),
        by(lambda g, x, y: g(_spd(x), y), f("ss"), f("s")),
        by(lambda g, x, y: g(_spd(x), y), f("bss"), f("bsn")),
    ],
    "solve_triangular": [
        by(lambda g, x, y: g(_spd(x), y), f("ss"), f("sn")),
        by(lambda g, x, y: g(_spd(x), y, lower=True), f("ss"), f("s")),
        by(lambda g, x, y: g(_spd(x), y), f("bss"), f("bsn")),
    ],
    "svd": [
        Call((f("43"),), {"full_matrices": False}, _magnitudes, False),
        call(f("b43"), compute_uv=False),
        Call((f("34"),), {}, lambda g, x: g(x)[1], False),
    ],
    "cond": [
        by(lambda g, x: g(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: -x), f("bn")),
        by(lambda g, x: g(x[0] > 0, lambda: x + 1, lambda: x), f("n")),
        by(lambda g, x: g(tf.shape(x)[0] > 4, lambda: x * 3, lambda: x), f("n")),
    ],
    "conv": _CONV,
    "conv_transpose": [
        call(f("bhw2"), f("3232"), strides=2),
        call(f("bhw2"), f("3232"), strides=2, padding="same"),
        call(f("bt2"), f("332"), strides=3),
        call(f("bhw2"), f("3332"), padding="same", output_padding=1, strides=2),
        call(f("b2hw"), f("3232"), strides=2, data_format="channels_first"),
        call(f("bt2"), f("332"), dilation_rate=2),
    ],
    "depthwise_conv": [
        call(f("bhw2"), f("3223")),
        call(f("bhw2"), f("3221"), strides=2, padding="same"),
        Call((f("bhw2"), f("3221")), {"dilation_rate": 2}, None, False),
        call(f("bt2"), f("323")),
    ],
    "separable_conv": [
        call(f("bhw2"), f("3223"), f("1164")),
        call(f("bhw2"), f("3221"), f("1123"), strides=2, padding="same"),
        call(f("bt2"), f("323"), f("164")),
    ],
    "corrcoef": [call(f("bn")), call(f("3t")), call(f("2n"))],
    "correlate": [
        call(f("t"), f("n")),
        call(f("t"), f("n"), mode="same"),
        call(f("t"), f("n"), mode="full"),
        call(i("t"), i("n")),
    ],
    "ctc_decode": [
        without(f("265"), np.array([6, 4], np.int32)),
        without(f("165"), np.array([6], np.int32)),
        without(f("265"), np.array([6, 4], np.int32), merge_repeated=False),
    ],
    "ctc_loss": [
        by(
            lambda g, x: g(
                np.array([[1, 2, 2], [3, 1, 0]], np.int32),
                x,
                np.array([3, 2], np.int32),
                np.array([6, 5], np.int32),
            ),
            f("265"),
        ),
        by(
            lambda g, x: g(np.array([[1, 2]], np.int32), x, np.array([2], np.int32), np.array([6], np.int32)),
            f("164"),
        ),
        by(
            lambda g, x: g(
                np.array([[1, 2]], np.int32),
                x,
                np.array([2], np.int32),
                np.array([5], np.int32),
                mask_index=3,
            ),
            f("164"),
        ),
    ],
    "custom_gradient": [
        by(lambda g, x: g(lambda y: (y * y, lambda up: up * 5.0))(x), f("bn")),
        by(lambda g, x: g(lambda y: (tf.exp(y), lambda up: -up))(x) + x, f("n")),
        by(lambda g, x: g(lambda y: (tf.sin(y), lambda up: up))(x) * x, f("n")),
    ],
    "depth_to_space": [
        call(f("bhw4"), 2),
        call(f("b4hw"), 2, data_format="channels_first"),
        call(f("bhw9"), 3),
    ],
    "space_to_depth": [
        call(f("b46c"), 2),
        call(f("bc46"), 2, data_format="channels_first"),
        call(f("b69c"), 3),
    ],
    "digitize": [
        call(f("bn"), np.array([-1.0, 0.0, 1.0])),
        call(i("n"), np.array([-2, 2])),
        call(EDGES, np.array([0.0, 1.0])),
    ],
    "divide_no_nan": binary(
        "normal",
        "normal",
        call(np.zeros(3, np.float32), f("3")),
        call(f("3"), np.zeros(3, np.float32)),
        call(i("n"), i("n", -1, 2)),
    ),
    "dot_product_attention": [
        call(f("bnm4"), f("bkm4"), f("bkm4")),
        call(f("bnm4"), f("bkm4"), f("bkm4"), mask=t("b1nk"), scale=0.3),
        call(f("bnm4"), f("bnm4"), f("bnm4"), is_causal=True),
        call(f("bnm4"), f("bkm4"), f("bkm4"), bias=f("bmnk")),
    ],
    "extract_sequences": [call(f("bt"), 4, 2), call(f("t"), 5, 3), call(f("bt"), 3, 1)],
    **each("fft", _COMPLEX),
    **each("fft2 ifft2", _COMPLEX2),
    "rfft": [call(f("bt")), call(f("b5"), 8), call(f("t"), fft_length=6)],
    "irfft": [
        by(_pairs, f("b5"), f("b5")),
        by(_pairs, f("b5"), f("b5"), fft_length=7),
        by(_pairs, f("b5"), f("b5"), 12),
    ],
    "stft": [
        call(f("bt"), 4, 2, 8),
        call(f("t"), 6, 3, 8, window="hamming"),
        call(f("bt"), 4, 2, 4, center=False, window=None),
    ],
    "istft": [
        by(_pairs, f("b65"), f("b65"), 4, 2, 8),
        by(_pairs, f("65"), f("65"), 8, 4, 8, window="hamming"),
        by(_pairs, f("b65"), f("b65"), 8, 2, 8, length=14),
    ],
    **each("fmax fmin", [*binary(), call(i("bn"), f("n")), call(i("n"), i("n"))]),
    "fmod": [*binary("normal", "positive"), call(i("bn"), i("n", 1, 5)), call(f("bn"), -1.5)],
    "fold": [
        call(f("b84"), (4, 4), 2, stride=2),
        call(f("b49"), (4, 4), 2),
        call(f("b44"), (4, 4), 2, dilation=2),
        call(f("b49"), 4, 2, padding=0),
    ],
    "unfold": [
        call(f("bchw"), 2),
        call(f("bchw"), (3, 2), stride=2),
        call(f("bchw"), 2, dilation=2, padding=1),
    ],
    "fori_loop": [
        by(lambda g, x: g(0, 4, lambda n, y: y * 1.5, x), f("bn")),
        by(lambda g, x: g(1, 3, lambda n, y: y + tf.cast(n, "float32"), x), f("n")),
        by(lambda g, x: g(0, tf.shape(x)[0], lambda n, y: y + x[n], tf.zeros_like(x[0])), f("nb")),
    ],
    "get_item": [
        call(f("5n"), 2),
        by(lambda g, x: g(x, (slice(None, None, -1), 0)), f("bn")),
        by(lambda g, x: g(x, slice(1, 3)), f("5n")),
    ],
    "histogram": [without(f("t")), without(f("bt"), 5), without(f("t"), bins=4, range=(-1.0, 1.0))],
    "in_top_k": [
        call(i("n", 0, 4), f("n4"), 2),
        call(i("n", 0, 4, "int64"), f("n4"), 3),
        call(i("n", 0, 4), f("n4"), 1),
    ],
    "isin": [
        call(i("bn", 0, 4), i("m", 0, 4)),
        call(f("n"), f("n")),
        call(i("n", 0, 4), i("m", 0, 4), invert=True),
    ],
    "jvp": [
        by(lambda g, x, v: g(lambda y: y * y, (x,), (v,)), f("bn"), f("bn")),
        by(lambda g, x, v: g(tf.sin, (x,), (v,)), f("n"), f("n")),
        by(lambda g, x, v: g(lambda y: tf.reduce_sum(y * y), (x,), (v,)), f("n"), f("n")),
    ],
    "layer_normalization": [
        call(f("bn")),
        call(f("bn"), f("n"), f("n")),
        call(f("bnm"), axis=[1, 2]),
        call(f("bnm"), axis=1, epsilon=0.1),
    ],
    "rms_normalization": [call(f("bn")), call(f("bn"), f("n")), call(f("bnm"), axis=(1, 2), epsilon=0.1)],
    "ldexp": [call(f("bn"), i("n")), call(f("n", dtype="float64"), i("n")), call(i("n"), i("n", 0, 3))],
    "map": [
        by(lambda g, x: g(lambda y: y * 2, x), f("nb")),
        by(lambda g, x: g(tf.reduce_sum, x), f("nbm")),
        by(lambda g, x: g(lambda y: (y, y + 1.0), x), f("n")),
    ],
    "vectorized_map": [
        by(lambda g, x: g(lambda y: y * 2, x), f("nb")),
        by(lambda g, x: g(lambda y: tf.reduce_sum(y) * y, x), f("nbm")),
        by(lambda g, x: g(lambda y: y + 1.0, x), f("n")),
    ],
    "vectorize": [
        by(lambda g, x: g(lambda y: y * 2)(x), f("nb")),
        by(lambda g, x, y: g(lambda a, c: a * c)(x, y), f("n"), f("n")),
        by(lambda g, x: g(tf.reduce_sum, signature="(d)->()")(x), f("nb")),
    ],
    **each(
        "median",
        [
            call(f("bn")),
            call(f("bnm"), axis=1),
            call(f("bnm"), axis=(0, 2), keepdims=True),
            without(_NANS, axis=1),
            call(i("bn"), axis=0),
        ],
    ),
    "nanmedian": _NAN_REDUCED,
    **each("quantile nanquantile", _QUANTILES),
    **each("percentile nanpercentile", _PERCENTILES),
    "moments": [
        call(f("bnm"), [0]),
        call(f("bnm"), [0, -1], keepdims=True),
        call(f("bnm"), 1),
        without(f("bn", dtype="float16"), [0]),
    ],
    "multi_hot": [call(i("bn", 0, 5), 5), call(i("n", 0, 5), 6), call(i("bnm", 0, 5), 5, dtype="int32")],
    "one_hot": [call(i("bn", -1, 6), 5), call(i("n", 0, 5), 4, axis=0), call(i("bn", 0, 5), 5, dtype="bool")],
    "nan_to_num": [call(EDGES), call(EDGES, 1.0, 2.0, 3.0), call(i("n")), call(EDGES.astype(np.float16))],
    **each(
        "nanargmax nanargmin", [without(_NANS[[0, 2, 3]], axis=1), without(f("bn")), without(_NANS, axis=0)]
    ),
    **each(
        "nancumsum nancumprod", [call(f("bn"), axis=1), without(_NANS, axis=1), without(_NANS), call(i("n"))]
    ),
    **each("nanmax nanmin nanmean nansum nanstd nanvar nanprod", _NAN_REDUCED),
    "normalize": [
        call(f("bn")),
        call(f("bn"), axis=0, order=1),
        call(f("bnm"), axis=1, order=3),
        without(np.zeros((2, 3), np.float32)),
    ],
    "polar": [call(p("bn"), f("bn")), call(p("n"), f("n")), call(p("n", "float64"), f("n", dtype="float64"))],
    "psnr": [call(u("bn"), u("bn"), 1.0), call(u("bhwc"), u("bhwc"), 2.0), call(u("n"), u("n"), 255.0)],
    "rearrange": [
        call(f("bnm"), "b n m -> b (n m)"),
        call(f("b6"), "b (x y) -> x b y", x=2),
        call(f("bn"), "b n -> n b"),
    ],
    "saturate_cast": [
        call(f("bn"), "int8"),
        call(np.array([300.0, -300, 3.7], np.float32), "uint8"),
        call(i("bn", -999, 999), "uint8"),
    ],
    "scan": [
        by(lambda g, x: g(lambda c, y: (c + y, c * y), tf.zeros_like(x[0]), x), f("nb")),
        by(lambda g, x: g(lambda c, y: (c * 0.5 + y, c), tf.zeros_like(x[0]), x, reverse=True), f("nb")),
        by(lambda g, x: g(lambda c, _: (c * 2.0, c), x, length=3), f("n")),
    ],
    "scatter": [
        call(np.array([[0], [2]], np.int32), f("2"), (4,)),
        call(np.array([[0, 1], [2, 2], [0, 1]], np.int32), f("3"), (3, 4)),
        call(i("n1", 0, 4), f("n"), (4,)),
    ],
    "scatter_update": [
        call(f("5m"), np.array([[0], [2]], np.int32), f("2m")),
        call(f("56"), np.array([[0, 1], [2, 2]], np.int32), f("2")),
        *[
            call(f("5"), np.array([[1], [1]], np.int32), f("2"), reduction=reduction)
            for reduction in ("add", "max", "min", "mul")
        ],
    ],
    "searchsorted": [
        by(lambda g, x, y: g(tf.sort(x), y), f("n"), f("m")),
        by(lambda g, x, y: g(tf.sort(x), y, side="right"), i("n"), i("m")),
        call(np.array([1.0, 2, 2, 3], np.float32), np.array([2, 0, 4, 3], np.float32), "right"),
    ],
    **each("segment_max segment_min segment_prod segment_sum", _SEGMENTS),
    "slice": [
        call(f("bnm"), [0, 1, 0], [2, 2, 2]),
        call(f("56"), i("2", 0, 2), [3, 2]),
        call(i("5"), np.array([2]), (2,)),
    ],
    "slice_update": [
        call(f("56"), [1, 2], f("23")),
        call(f("56"), i("2", 0, 2), f("32")),
        call(i("5"), [2], i("2")),
    ],
    "stop_gradient": [call(f("bn")), by(lambda g, x: g(x) * x, f("bn")), call(i("n"))],
    "switch": [
        by(lambda g, x, n: g(n, [lambda y: y, lambda y: y * 2, lambda y: -y], x), f("bn"), i("", 0, 3)),
        by(lambda g, x, n: g(n, [lambda y: y, lambda y: y * 2], x), f("n"), i("", -2, 5)),
        by(lambda g, x: g(1, [lambda y: y, lambda y: y * 2], x), f("n")),
    ],
    "top_k": [call(d("bn"), 2), call(d("t"), k=4), without(i("bn", 0, 2), 3)],
    "trapezoid": [call(f("bn")), call(f("bn"), f("n")), call(f("bnm"), dx=0.5, axis=1)],
    "unique": [
        without(i("n", 0, 3)),
        without(np.array([3, 1, 3, 2], np.int32), return_counts=True),
        without(np.array([3, 1, 3, 2], np.int32), return_inverse=True),
        without(np.array([3, 1, 3, 2], np.int32), size=5, fill_value=-1),
    ],
    "unravel_index": [
        without(np.array([2, 5, 3]), (3, 4)),
        without(i("n", 0, 12), (3, 4)),
        without(np.array([7]), (2, 2, 3)),
    ],
    "unstack": [call(f("3n")), call(f("b4n"), axis=1), call(i("23"), 2, 0)],
    "view": [call(f("bn"), "int32"), call(i("n"), "float32"), call(f("b4", dtype="float16"), "float32")],
    "view_as_complex": [call(f("n2")), call(f("bn2")), call(f("n2", dtype="float64"))],
    "view_as_real": [call(z("n")), call(z("bn")), call(z("n", "complex128"))],
    "while_loop": [
        by(lambda g, x: g(lambda n, y: n < 4, lambda n, y: (n + 1, y * 1.5), (0, x))[1], f("bn")),
        by(lambda g, x: g(lambda y: tf.reduce_sum(y * y) < 100.0, lambda y: (y * 2.0,), (x,))[0], p("n")),
        by(
            lambda g, x: g(lambda n, y: n < 10, lambda n, y: (n + 1, y + 1.0), (0, x), maximum_iterations=3)[
                1
            ],
            f("n"),
        ),
    ],
    "convert_to_tensor": [call(f("bn")), call(i("n"), dtype="float32"), call(f("n"), "float64")],
    **each("fabs", unary("normal", call(i("bn")))),
    **each("fliplr flipud", [call(f("bn")), call(i("bnm")), call(f("bn", dtype="float64"))]),
    "nextafter": NUMPY_LIKE["nextafter"][::2] + [without(f("n"), f("n"))],
}
SAMPLES: dict[str, list[Call]] = {
    f"keras.ops.{name}": calls for name, calls in KERAS.items() if name not in ("shape", "kron")
}
