"""TensorFlow functions at their kinks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from . import AROUND, DOMAINS, FACTORS, NOTHING, TIES, Kink, kink, pairs

INF = math.inf
NAN = math.nan
IMAGE = [
    [
        [[1.0], [1.0], [2.0], [2.0]],
        [[1.0], [1.0], [2.0], [3.0]],
        [[0.0], [-0.0], [5.0], [5.0]],
        [[0.0], [0.0], [5.0], [4.0]],
    ]
]
_SEGMENTS = [0, 0, 1, 1]

_UNARY: dict[str, Any] = {
    "abs": tf.abs, "sign": tf.sign, "floor": tf.floor, "ceil": tf.math.ceil, "round": tf.round, "sqrt": tf.sqrt, "rsqrt": tf.math.rsqrt,
    "square": tf.square, "reciprocal": tf.math.reciprocal, "log": tf.math.log, "log1p": tf.math.log1p, "expm1": tf.math.expm1,
    "asin": tf.asin, "acos": tf.acos, "atanh": tf.atanh, "acosh": tf.acosh, "tanh": tf.tanh, "erf": tf.math.erf, "erfc": tf.math.erfc,
    "lgamma": tf.math.lgamma, "digamma": tf.math.digamma, "sigmoid": tf.sigmoid, "relu": tf.nn.relu, "relu6": tf.nn.relu6,
    "elu": tf.nn.elu, "selu": tf.nn.selu, "softplus": tf.nn.softplus, "softsign": tf.nn.softsign, "leaky_relu": tf.nn.leaky_relu,
    "silu": tf.nn.silu, "gelu": tf.nn.gelu,
}  # fmt: skip
_BINARY: dict[str, Any] = {
    "maximum": tf.maximum, "minimum": tf.minimum, "atan2": tf.atan2, "pow": tf.pow, "xlogy": tf.math.xlogy, "xlog1py": tf.math.xlog1py,
    "xdivy": tf.math.xdivy, "divide": tf.divide, "divide_no_nan": tf.math.divide_no_nan, "multiply_no_nan": tf.math.multiply_no_nan,
    "squared_difference": tf.math.squared_difference, "hypot": lambda x, y: tf.sqrt(x * x + y * y),
}  # fmt: skip
_PAIRS = pairs(0.0, -0.0, 1.0, -1.0, 2.0, 0.5)

ROWS: dict[str, Kink] = {
    **{name: kink(function, DOMAINS.get(name, AROUND), orders=1) for name, function in _UNARY.items()},
    **{name: kink(function, *_PAIRS, orders=1) for name, function in _BINARY.items()},
    "floormod": kink(tf.math.floormod, *pairs(1.0, -1.0, 2.0, 0.5), orders=1),
    "pow-2": kink(lambda x: x**2, AROUND, orders=1),
    "pow-0": kink(lambda x: x**0, AROUND, orders=1),
    "pow-half": kink(lambda x: x**0.5, AROUND, orders=1),
    "pow-negative": kink(lambda x: x**-1, AROUND, orders=1),
    "pow-of-0": kink(lambda x: 0.0**x, [0.0, 1.0, 2.0, -1.0], orders=1),
    "where-nan": kink(lambda x: tf.where(x > 0, tf.math.log(x), x * 2), [0.0, -1.0, 4.0], orders=1),
    "where-root": kink(lambda x: tf.where(x > 0, tf.sqrt(x), x * 2), [0.0, -1.0, 4.0], orders=1),
    "log-times-0": kink(lambda x: x * tf.math.log(x), [0.0, 1.0, 2.0], orders=1),
    "by-itself": kink(lambda x: x / x, [0.0, 1.0, 2.0], orders=1),
    "clip": kink(lambda x: tf.clip_by_value(x, -1.0, 2.0), AROUND, orders=1),
    "clip-norm": kink(lambda x: tf.clip_by_norm(x, 1.0, axes=1), NOTHING, orders=1),
    **{f"{name}-axis": kink(lambda x, name=name: getattr(tf, name)(x, axis=1), TIES, orders=1) for name in ("reduce_max", "reduce_min", "cumsum")},
    **{name: kink(lambda x, name=name: getattr(tf, name)(x, axis=1), FACTORS, orders=1) for name in ("reduce_prod",)},
    **{name: kink(getattr(tf, name), TIES, orders=1) for name in ("reduce_max", "reduce_min")},
    "logsumexp": kink(lambda x: tf.reduce_logsumexp(x, axis=1), [[-INF, -INF], [0.0, -INF], [1.0, 1.0]], orders=1),
    "softmax": kink(tf.nn.softmax, TIES, orders=1),
    "sort": kink(lambda x: tf.sort(x, axis=1), TIES, orders=1),
    "top_k": kink(lambda x: tf.math.top_k(x, 3)[0], TIES, orders=1),
    "norm": kink(lambda x: tf.norm(x, axis=1), NOTHING, orders=1),
    "norm-1": kink(lambda x: tf.norm(x, 1, axis=1), NOTHING, orders=1),
    "norm-inf": kink(lambda x: tf.norm(x, math.inf, axis=1), NOTHING, orders=1),
    "l2_normalize": kink(lambda x: tf.math.l2_normalize(x, axis=1), NOTHING, orders=1),
    "reduce_std": kink(lambda x: tf.math.reduce_std(x, axis=1), NOTHING, orders=1),
    "reduce_variance": kink(lambda x: tf.math.reduce_variance(x, axis=1), NOTHING, orders=1),
    "segment_max": kink(lambda x: tf.math.unsorted_segment_max(x, tf.constant(_SEGMENTS), 2), [1.0, 1.0, 2.0, 1.0], orders=1),
    "segment_min": kink(lambda x: tf.math.unsorted_segment_min(x, tf.constant(_SEGMENTS), 2), [1.0, 1.0, 2.0, 2.0], orders=1),
    "max_pool": kink(lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), IMAGE, orders=1),
    "max_pool_with_argmax-infinite": kink(lambda x: tf.nn.max_pool_with_argmax(x, 4, 2, "SAME")[0], np.full((1, 5, 5, 1), -np.inf), orders=1),
}  # fmt: skip
