"""Samples of ``tf.nn`` and ``tf.random``."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import EDGES, Call, by, call, d, drawn, each, f, i, p, u, unary, without

_IMAGE = "bhwc"
_PADDED = [[0, 0], [1, 2], [0, 1], [0, 0]]
_POOL = [
    call(f(_IMAGE), 2, 2, "VALID"),
    call(f(_IMAGE), [3, 2], [2, 1], "SAME"),
    call(f(_IMAGE), 3, 1, "SAME"),
    call(f(_IMAGE, dtype="float64"), [1, 2, 2, 1], 2, "VALID"),
    without(f(_IMAGE, dtype="float16"), 2, 2, "VALID"),
]
_CONV2 = [
    call(f("bhw2"), f("3223"), 1, "VALID"),
    call(f("bhw2"), f("3223"), [2, 1], "SAME"),
    call(f("bhw2"), f("2323"), 1, "SAME", dilations=2),
    call(f("bhw2"), f("3223"), 2, _PADDED),
    call(f("bhw4"), f("2226"), 1, "VALID"),
    call(f("bhw2", dtype="float64"), f("3223", dtype="float64"), 3, "SAME"),
    call(f("bhw2"), f("3223"), 1, "VALID", dilations=[2, 1]),
    call(f("bhw2"), f("1123"), 2, "SAME"),
]
_CONV3 = [
    call(f("b5672"), f("23223"), [1] * 5, "VALID"),
    call(f("b5672"), f("32223"), [1, 2, 1, 2, 1], "SAME"),
    call(f("b5672"), f("22223"), [1] * 5, "SAME", dilations=[1, 1, 2, 1, 1]),
]
_CONV1 = [
    call(f("bt2"), f("323"), 1, "VALID"),
    call(f("bt2"), f("423"), 2, "SAME"),
    call(f("bt2"), f("323"), 1, "SAME", dilations=2),
]
_LOGITS = [
    call(labels=u("bn"), logits=f("bn")),
    call(labels=i("bn", 0, 2, "int32"), logits=f("bn")),
    call(labels=u("n", "float64"), logits=f("n", dtype="float64")),
]
_LABELLED = [call(labels=u("bn"), logits=f("bn"))]


def _dropped(called: Any, x: Any, *rest: Any, **options: Any) -> Any:
    return called(x, *rest, **options)


def _decoded(called: Any, inputs: Any, lengths: Any, **options: Any) -> Any:
    (found,), scores = called(inputs, lengths, **options)
    return found.indices, found.values, found.dense_shape, scores


def _sampled(called: Any, true: Any, count: int, drawn: int, unique: bool, most: int, **options: Any) -> Any:
    """Return what does not depend on the random numbers: shapes, dtypes, and that classes are in range."""
    classes, of_true, of_drawn = called(true, count, drawn, unique, most, **options)
    return (
        classes * 0,
        of_true * (0.0 if unique else 1.0),
        of_drawn * 0.0,
        tf.reduce_all((classes >= 0) & (classes < most)),
    )


def _sampled_loss(
    called: Any, weights: Any, biases: Any, labels: Any, inputs: Any, count: int, classes: int, **options: Any
) -> Any:
    chosen = tf.range(count - 1, dtype=tf.int64), tf.ones(tf.shape(labels)) * 0.5, tf.ones([count - 1]) * 0.3
    return called(weights, biases, labels, inputs, count - 1, classes, sampled_values=chosen, **options)


NN: dict[str, list[Call]] = {
    **each("elu relu relu6 selu", unary()),
    "crelu": [call(f("bn")), call(f("bnm"), axis=1), without(EDGES)],
    "leaky_relu": unary("normal", call(f("bn"), alpha=0.4), call(i("bn"))),
    "gelu": unary("normal", call(f("bn"), approximate=True)),
    "silu": unary("normal", call(f("bn"), beta=0.5)),
    "atrous_conv2d": [
        call(f("bhw2"), f("3223"), 2, "VALID"),
        call(f("bhw2"), f("2223"), 2, "SAME"),
        call(f("bhw2"), f("2223"), 1, "SAME"),
    ],
    "atrous_conv2d_transpose": [
        call(f("2674"), f("2234"), [2, 6, 7, 3], 2, "SAME"),
        call(f("2674"), f("2234"), [2, 8, 9, 3], 2, "VALID"),
        call(f("2674"), f("1234"), [2, 6, 7, 3], 1, "SAME"),
    ],
    **each("avg_pool max_pool avg_pool2d max_pool2d", _POOL),
    **each(
        "avg_pool1d max_pool1d",
        [call(f("btc"), 2, 2, "VALID"), call(f("btc"), 3, 2, "SAME"), call(f("btc"), 3, 1, "SAME")],
    ),
    **each(
        "avg_pool3d max_pool3d",
        [
            call(f("b567c"), 2, 2, "VALID"),
            call(f("b567c"), 3, 2, "SAME"),
            call(f("b567c"), [1, 3, 2], 1, "SAME"),
        ],
    ),
    "batch_norm_with_global_normalization": [
        call(f(_IMAGE), f("c"), p("c"), f("c"), f("c"), 1e-3, True),
        call(f(_IMAGE), f("c"), p("c"), f("c"), f("c"), 1e-3, False),
        call(f("bh13"), f("3"), p("3"), f("3"), f("3"), 0.1, True),
    ],
    "batch_normalization": [
        call(f(_IMAGE), f("c"), p("c"), f("c"), f("c"), 1e-3),
        call(f("bn"), f("n"), p("n"), None, None, 1e-3),
        call(
            f("bn", dtype="float64"),
            f("b1", dtype="float64"),
            p("b1", "float64"),
            f("n", dtype="float64"),
            None,
            0.1,
        ),
    ],
    "bias_add": [
        call(f("bn"), f("n")),
        call(f(_IMAGE), f("c")),
        call(f("bchw"), f("c"), data_format="NCHW"),
        call(i("bn"), i("n")),
    ],
    "compute_average_loss": [
        call(p("b")),
        call(p("b"), sample_weight=p("b"), global_batch_size=8),
        call(p("b1"), sample_weight=2.0),
    ],
    "conv1d": _CONV1,
    "conv2d": _CONV2,
    "conv3d": _CONV3,
    "convolution": [
        *_CONV1,
        *_CONV2[:3],
        call(f("b5672"), f("23223")),
        call(f("bt2"), f("323"), padding="SAME", dilations=[3]),
    ],
    "conv1d_transpose": [
        by(lambda g, x, w: g(x, w, [tf.shape(x)[0], tf.shape(x)[1] * 2, 3], 2), f("bt2"), f("332")),
        by(lambda g, x, w: g(x, w, [tf.shape(x)[0], tf.shape(x)[1] + 2, 3], 1, "VALID"), f("bt2"), f("332")),
        by(lambda g, x, w: g(x, w, [tf.shape(x)[0], tf.shape(x)[1] * 3, 3], 3, "SAME"), f("bt2"), f("232")),
    ],
    "conv2d_transpose": [
        by(
            lambda g, x, w: g(x, w, [tf.shape(x)[0], tf.shape(x)[1] * 2, tf.shape(x)[2] * 2, 3], 2),
            f("bhw2"),
            f("3332"),
        ),
        by(
            lambda g, x, w: g(x, w, [tf.shape(x)[0], tf.shape(x)[1] + 2, tf.shape(x)[2] + 1, 3], 1, "VALID"),
            f("bhw2"),
            f("3232"),
        ),
        call(f("2342"), f("3332"), [2, 5, 7, 3], 2, "SAME"),
        call(f("2342"), f("3332"), [2, 6, 8, 3], 2, "SAME"),
        call(f("2342"), f("2232"), [2, 3, 4, 3], 1, "SAME"),
    ],
    "conv3d_transpose": [
        call(f("22342"), f("33332"), [2, 4, 6, 8, 3], 2),
        call(f("22342"), f("22232"), [2, 3, 4, 5, 3], 1, "VALID"),
        call(f("22342"), f("22232"), [2, 2, 3, 4, 3], 1),
    ],
    "conv_transpose": [
        call(f("252"), f("332"), [2, 10, 3], 2),
        call(f("2342"), f("3332"), [2, 6, 8, 3], 2),
        call(f("2342"), f("2232"), [2, 4, 5, 3], 1, "VALID"),
    ],
    "depth_to_space": [call(f("bhw4"), 2), call(f("bhw9"), 3), call(i("bhw8"), 2)],
    "space_to_depth": [call(f("b46c"), 2), call(f("b69c"), 3), call(i("b46c"), 2)],
    "space_to_batch": [
        call(f("b46c"), [2, 2], [[0, 0], [0, 0]]),
        call(f("b56c"), [2, 3], [[1, 0], [0, 0]]),
        call(i("b56c"), [1, 2], [[0, 0], [1, 1]]),
    ],
    "depthwise_conv2d": [
        call(f("bhw2"), f("3223"), [1, 1, 1, 1], "VALID"),
        call(f("bhw2"), f("3221"), [1, 2, 2, 1], "SAME"),
        Call((f("bhw2"), f("3222"), [1, 1, 1, 1], "SAME"), {"dilations": [2, 2]}, None, False),
        call(f("bhw2", dtype="float64"), f("2323", dtype="float64"), [1, 1, 1, 1], "SAME"),
    ],
    "depthwise_conv2d_backprop_filter": [
        call(f("2672"), [3, 2, 2, 3], f("2466"), [1, 1, 1, 1], "VALID"),
        call(f("2672"), [3, 2, 2, 1], f("2342"), [1, 2, 2, 1], "SAME"),
        call(f("2672"), [3, 3, 2, 1], f("2672"), [1, 1, 1, 1], "SAME"),
    ],
    "depthwise_conv2d_backprop_input": [
        call([2, 6, 7, 2], f("3223"), f("2466"), [1, 1, 1, 1], "VALID"),
        call([2, 6, 7, 2], f("3221"), f("2342"), [1, 2, 2, 1], "SAME"),
        call([2, 6, 7, 2], f("3321"), f("2672"), [1, 1, 1, 1], "SAME"),
    ],
    **each(
        "dilation2d erosion2d",
        [
            call(f("bhw2"), f("322"), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]),
            call(f("bhw2"), f("232"), [1, 2, 2, 1], "SAME", "NHWC", [1, 1, 1, 1]),
            call(f("bhw2"), f("222"), [1, 1, 1, 1], "SAME", "NHWC", [1, 2, 2, 1]),
        ],
    ),
    "dropout": [
        drawn(p("bn"), 0.5),
        drawn(p("bnm"), 0.3, noise_shape=[2, 1, 4]),
        drawn(p("bn"), 0.25, seed=1),
        call(f("bn"), 0.0),
    ],
    "embedding_lookup": [
        call(f("5n"), i("bm", 0, 5)),
        call(f("5nm"), i("n", 0, 5, "int64")),
        call(f("5n"), i("b", 0, 5), max_norm=1.0),
        call([f("3n"), f("2n")], i("b", 0, 5)),
    ],
    "fractional_avg_pool": [
        drawn(f(_IMAGE), [1, 1.4, 1.7, 1]),
        drawn(f(_IMAGE), [1, 1.4, 1.7, 1], True, True),
        drawn(f(_IMAGE), [1, 1.0, 1.0, 1], seed=3),
    ],
    "isotonic_regression": [
        call(f("bn")),
        without(f("n"), decreasing=False),
        call(f("bnm", dtype="float64"), axis=1),
    ],
    "l2_loss": [call(f("bn")), call(f("n", dtype="float64")), without(f("bn", dtype="float16"))],
    "local_response_normalization": [
        call(f(_IMAGE)),
        call(f("bhw7"), depth_radius=2, bias=0.5, alpha=0.3, beta=0.7),
        call(f("bhw3"), 1),
    ],
    "log_poisson_loss": [
        call(p("bn"), f("bn")),
        call(p("bn"), f("bn"), compute_full_loss=True),
        call(p("n", "float64"), f("n", dtype="float64")),
    ],
    "max_pool_with_argmax": [
        call(d(_IMAGE), 2, 2, "VALID"),
        call(d(_IMAGE), 3, 2, "SAME", include_batch_in_index=True),
        call(d(_IMAGE), [1, 2, 3, 1], [1, 1, 2, 1], "SAME", output_dtype="int32"),
        without(np.full((1, 4, 5, 2), -np.inf, "float32"), 5, 2, "SAME"),
    ],
    "moments": [
        call(f("bnm"), [0]),
        call(f("bnm"), [0, -1], keepdims=True),
        call(f("bnm", dtype="float64"), 1),
        without(f("bn", dtype="float16"), [0]),
    ],
    "normalize_moments": [
        call(f(""), f("n"), f("n"), f("n")),
        call(p(""), f("bn"), p("bn"), None),
        call(p("", "float64"), f("n", dtype="float64"), p("n", "float64"), f("", dtype="float64")),
    ],
    "pool": [
        call(f(_IMAGE), [2, 2], "MAX"),
        call(f(_IMAGE), [3, 2], "AVG", padding="SAME", strides=[2, 1]),
        call(f("btc"), [2], "MAX", dilations=[2]),
        call(f("b567c"), [2, 2, 3], "AVG"),
    ],
    "scale_regularization_loss": [call(f("")), call(f("n")), call(p("", "float64"))],
    "separable_conv2d": [
        call(f("bhw2"), f("3223"), f("1164"), [1, 1, 1, 1], "VALID"),
        call(f("bhw2"), f("3221"), f("1123"), [1, 2, 2, 1], "SAME"),
        Call((f("bhw2"), f("2221"), f("1123"), [1, 1, 1, 1], "SAME"), {"dilations": [2, 2]}, None, False),
    ],
    "sigmoid_cross_entropy_with_logits": [
        call(labels=u("bn"), logits=f("bn")),
        call(labels=u("n", "float64"), logits=f("n", dtype="float64")),
        without(
            labels=np.array([0, 1, 0.5, 1], np.float32), logits=np.array([1000, -1000, 0, np.inf], np.float32)
        ),
    ],
    "weighted_cross_entropy_with_logits": [
        call(u("bn"), f("bn"), 2.0),
        call(u("n"), f("n"), p("n")),
        call(u("n", "float64"), f("n", dtype="float64"), 0.5),
    ],
    "softmax_cross_entropy_with_logits": [
        call(u("bn"), f("bn")),
        call(u("bnm"), f("bnm"), axis=1),
        call(u("bn", "float64"), f("bn", dtype="float64")),
    ],
    "sparse_softmax_cross_entropy_with_logits": [
        call(i("b", 0, 4), f("b4")),
        call(i("bn", 0, 4), f("bn4")),
        call(i("b", 0, 4, "int64"), f("b4", dtype="float64")),
    ],
    "sufficient_statistics": [
        call(f("bnm"), [0]),
        call(f("bnm"), [0, 1], shift=0.5, keepdims=True),
        call(f("bn", dtype="float64"), [1]),
    ],
    "weighted_moments": [
        call(f("bnm"), [0], p("bnm")),
        call(f("bnm"), [0, 1], p("n1"), keepdims=True),
        call(f("bn", dtype="float64"), 1, p("n", "float64")),
    ],
    "with_space_to_batch": [
        by(lambda g, x: g(x, [2, 2], "VALID", lambda y, count, padding: y * 2.0, [1, 1]), f("b46c")),
        by(
            lambda g, x, w: g(
                x, [2, 2], "SAME", lambda y, count, padding: tf.nn.conv2d(y, w, 1, "VALID"), [2, 2]
            ),
            f("b462"),
            f("2223"),
        ),
        by(lambda g, x: g(x, [1, 1], "VALID", lambda y, count, padding: y + 1.0, [1, 1]), f("b46c")),
    ],
    "ctc_loss": [
        by(
            lambda g, x: g(
                np.array([[1, 2, 2], [3, 0, 0]]), x, [3, 1], [6, 5], logits_time_major=False, blank_index=0
            ),
            f("264"),
        ),
        by(lambda g, x: g(np.array([[1, 2, 2], [3, 0, 0]]), x, [3, 1], [6, 5], blank_index=-1), f("625")),
        by(lambda g, x: g(np.array([[1, 2]]), x, [2], [6], blank_index=0), f("614")),
    ],
    "ctc_greedy_decoder": [
        by(_decoded, f("624"), np.array([6, 4], np.int32)),
        by(_decoded, f("715"), np.array([5], np.int32), merge_repeated=False),
        by(_decoded, f("624"), np.array([6, 4], np.int32), blank_index=0),
    ],
    "compute_accidental_hits": [
        without(i("n2", 0, 5, "int64"), np.array([1, 3], np.int64), 2),
        without(i("41", 0, 3, "int64"), np.array([2, 0, 1], np.int64), 1),
        without(np.array([[1], [2]], np.int64), i("m", 0, 3, "int64"), 1),
    ],
    "all_candidate_sampler": [
        without(i("n2", 0, 4, "int64"), 2, 5, True),
        without(i("n1", 0, 3, "int64"), 1, 4, True),
        without(i("41", 0, 2, "int64"), 1, 6, True),
    ],
    "fixed_unigram_candidate_sampler": [
        by(_sampled, i("n2", 0, 4, "int64"), 2, 3, True, 4, unigrams=[3.0, 1.0, 2.0, 2.0]),
        by(_sampled, i("n1", 0, 4, "int64"), 1, 5, False, 4, unigrams=[3.0, 1.0, 2.0, 2.0], distortion=0.5),
        by(
            _sampled, i("41", 0, 3, "int64"), 1, 2, True, 5, unigrams=[1.0, 1.0, 2.0, 4.0], num_reserved_ids=1
        ),
    ],
    "sampled_softmax_loss": [
        by(_sampled_loss, f("65"), f("6"), i("n1", 0, 6, "int64"), f("n5"), 6, 6),
        by(_sampled_loss, f("43"), f("4"), i("b2", 0, 4, "int64"), f("b3"), 4, 4, num_true=2),
        by(
            _sampled_loss,
            f("65"),
            f("6"),
            i("n1", 0, 6, "int64"),
            f("n5"),
            6,
            6,
            remove_accidental_hits=False,
        ),
    ],
    "nce_loss": [
        by(_sampled_loss, f("65"), f("6"), i("n1", 0, 6, "int64"), f("n5"), 6, 6),
        by(_sampled_loss, f("43"), f("4"), i("b2", 0, 4, "int64"), f("b3"), 4, 4, num_true=2),
        by(
            _sampled_loss, f("65"), f("6"), i("n1", 0, 6, "int64"), f("n5"), 6, 6, remove_accidental_hits=True
        ),
    ],
    "ctc_unique_labels": [
        without(np.array([[1, 2, 2], [3, 0, 0]])),
        without(i("bn", 0, 3)),
        without(np.array([[0, 0], [1, 1]], np.int32)),
    ],
    "collapse_repeated": [
        without(np.array([[1, 1, 2, 2], [3, 3, 0, 1]]), np.array([4, 3])),
        without(np.array([[1, 2, 3]]), np.array([2])),
        without(i("24", 0, 2), np.array([4, 4])),
    ],
}
_SEED = (3, 4)
RANDOM: dict[str, list[Call]] = {
    **each(
        "uniform_candidate_sampler log_uniform_candidate_sampler",
        [
            by(_sampled, i("n2", 0, 5, "int64"), 2, 5, True, 9),
            by(_sampled, i("n1", 0, 5, "int64"), 1, 4, False, 6),
            by(_sampled, i("41", 0, 3, "int64"), 1, 3, True, 3),
        ],
    ),
    "categorical": [
        drawn(f("bn"), 5),
        drawn(f("bn"), 4, dtype="int32"),
        drawn(np.log(np.array([[0.5, 0.25, 0.25]], np.float32)), 7),
    ],
    "gamma": [drawn([4], 2.0), drawn([5], p("n")), drawn([3], p("b1"), beta=p("n"))],
    "normal": [
        drawn([3, 4]),
        drawn([5], 2.0, 3.0),
        by(lambda g, x: g(tf.shape(x)) * 0 + x, f("bn")),
        drawn([4], dtype="float64"),
    ],
    "poisson": [drawn([4], 3.0), drawn([5], p("n")), drawn([3], [20.0, 0.5])],
    "shuffle": [drawn(np.arange(5.0)), drawn(f("nb")), drawn(i("n"))],
    "truncated_normal": [drawn([20]), drawn([5, 4], 2.0, 3.0), drawn([30], dtype="float64")],
    "uniform": [drawn([3, 4]), drawn([5], -1.0, 3.0), drawn([6], 2, 9, "int32"), drawn([4], dtype="float64")],
    "fold_in": [
        without(np.array([1, 2], np.int32), 5),
        without(i("2"), 7),
        without(np.array([1, 2], np.int64), 3),
    ],
    "split": [
        without(np.array([1, 2], np.int32)),
        without(np.array([1, 2], np.int32), 3),
        without(i("2"), num=4),
    ],
    "stateless_binomial": [
        without([4], _SEED, [10.0], [0.4]),
        without([3, 2], _SEED, [5.0, 30.0], [0.2, 0.7], "float32"),
        without([5], _SEED, [100.0], [0.5]),
    ],
    "stateless_categorical": [
        without(f("bn"), 5, _SEED),
        without(f("bn"), 3, np.array([5, 6], np.int32), dtype="int32"),
        without(f("1n"), 20, (9, 9)),
    ],
    "stateless_gamma": [
        without([4], _SEED, 2.0),
        without([5, 3], np.array([5, 6], np.int32), p("3")),
        without([6], (9, 9), [0.5], beta=2.0),
    ],
    "stateless_normal": [
        without([3, 4], _SEED),
        without([5], np.array([5, 6], np.int32), 2.0, 3.0),
        by(lambda g, x: g(tf.shape(x), _SEED) + x, f("bn")),
        without([4], _SEED, dtype="float64"),
        without([5], _SEED, dtype="float16"),
    ],
    "stateless_parameterized_truncated_normal": [
        without([4], _SEED),
        without([5], _SEED, 1.0, 2.0, -1.0, 3.0),
        without([3, 2], (9, 9), [0.0, 1.0], [1.0, 2.0], [-1.0, 0.0], [1.0, 4.0]),
    ],
    "stateless_poisson": [
        without([4], _SEED, 3.0),
        without([5, 2], _SEED, [0.5, 20.0]),
        without([6], (9, 9), 1.0, dtype="float32"),
    ],
    "stateless_truncated_normal": [
        without([20], _SEED),
        without([5, 4], np.array([5, 6], np.int32), 2.0, 3.0),
        without([30], (9, 9), dtype="float32"),
    ],
    "stateless_uniform": [
        without([3, 4], _SEED),
        without([5], np.array([5, 6], np.int32), -1.0, 3.0),
        without([6], _SEED, 2, 9, "int32"),
        without([4], _SEED, dtype="float64"),
        without([6], _SEED, 2, 9, "int64"),
        without([6], _SEED, None, None, "int32"),
        without([6], _SEED, None, None, "uint32"),
        without([5], _SEED, dtype="float16"),
    ],
    "experimental.stateless_shuffle": [
        without(np.arange(5.0), _SEED),
        without(f("nb"), _SEED),
        without(i("t"), np.array([5, 6], np.int32)),
    ],
    "experimental.index_shuffle": [
        without(3, np.array([1, 2, 3], np.int32), 9),
        without(i("n", 0, 9), np.array([1, 2, 3], np.int32), 9),
        without(0, np.array([1, 2, 3], np.int32), 99),
    ],
}
SAMPLES: dict[str, list[Call]] = {
    **{f"tf.nn.{name}": calls for name, calls in NN.items()},
    **{f"tf.random.{name}": calls for name, calls in RANDOM.items()},
}
