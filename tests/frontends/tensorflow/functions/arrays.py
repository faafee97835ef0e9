"""Samples of functions of ``tf`` itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import EDGES, Call, by, call, d, each, f, i, p, t, without, z

# TensorFlow sorts NaN to no fixed position.
_ENDS = np.array([3, np.inf, -1, np.inf, 2, -np.inf, 3], np.float32)
_PLACES, _ROWS = np.array([[0], [2], [-1], [2]], np.int32)[[0, 1, 3]], f("3m")
_TIES = np.array([3, 1, 3, 2, 1, 3], np.int32)


def _same(called: Any, x: Any, shift: Any = None, **options: Any) -> Any:
    return called(x, **options)


_SCATTERED = [
    call(f("5m"), np.array([[0], [2], [4]], np.int32), f("3m")),
    call(f("56"), np.array([[0, 1], [2, 2], [0, 1]], np.int32), f("3")),
    call(i("5"), np.array([[1], [1]], np.int32), i("2")),
    call(f("5m", dtype="float64"), np.array([[[0], [3]]], np.int64), f("12m", dtype="float64")),
]
_UNIQUE = [
    without(_TIES),
    without(i("n", 0, 3)),
    without(np.array([1.5, -0.0, 0.0, 1.5], np.float32)),
    without(i("n", 0, 3, "int64"), out_idx="int64"),
]

TF: dict[str, list[Call]] = {
    "argsort": [
        call(d("bn")),
        call(i("bnm", 0, 3), axis=1),
        call(d("bn"), direction="DESCENDING"),
        call(_TIES, stable=True),
        call(_TIES, direction="DESCENDING"),
        call(i("n", dtype="uint8"), direction="DESCENDING"),
    ],
    "sort": [
        call(f("bn")),
        call(f("bnm"), axis=1),
        call(f("bn"), direction="DESCENDING"),
        call(_TIES),
        without(_ENDS),
        without(_ENDS, direction="DESCENDING"),
        call(i("n", dtype="uint8"), direction="DESCENDING"),
        call(np.array([-128, 127, 0], np.int8), direction="DESCENDING"),
        without(f("n", dtype="float16")),
    ],
    "approx_top_k": [without(d("bt"), 4), without(d("t"), 3), without(d("bt"), 2, is_max_k=False)],
    "batch_to_space": [
        call(f("835c"), [2, 2], [[0, 0], [0, 0]]),
        call(f("635c"), [2, 3], [[1, 0], [0, 2]]),
        call(i("43n"), [2], [[0, 1]]),
    ],
    "bitcast": [
        call(f("bn"), "int32"),
        call(f("bn"), "uint8"),
        call(i("bn"), "float32"),
        call(i("b4", dtype="uint8"), "int32"),
        call(i("n", dtype="int16"), "uint16"),
        call(f("n", dtype="float16"), "int16"),
    ],
    "boolean_mask": [
        call(f("3m"), np.array([True, False, True])),
        call(f("bn"), t("bn")),
        call(f("bnm"), t("n"), axis=1),
        by(lambda g, x: g(x, x > 0), f("bn")),
    ],
    "broadcast_dynamic_shape": [
        by(lambda g, x, y: g(tf.shape(x), tf.shape(y)), f("bn"), f("n")),
        by(lambda g, x, y: tf.zeros(g(tf.shape(x), tf.shape(y))), f("b1"), f("n")),
        without(np.array([1, 3]), np.array([2, 1])),
    ],
    "broadcast_to": [
        call(f("3"), [2, 3]),
        by(lambda g, x, y: g(x, tf.shape(y)), f("n"), f("bn")),
        call(i(""), [2, 2]),
        by(lambda g, x: g(x, tf.concat([[4], tf.shape(x)], 0)), f("b1n")),
        call(np.zeros((1, 0), np.float32), [3, 0]),
    ],
    "case": [
        by(lambda g, x: g([(tf.reduce_sum(x) > 0, lambda: x * 2)], default=lambda: x - 1), f("bn")),
        by(
            lambda g, x: g(
                [(tf.shape(x)[0] > 2, lambda: x + 1), (x[0] < 0, lambda: x * 3)], default=lambda: x
            ),
            f("n"),
        ),
        by(lambda g, x: g([(x[0] < 0, lambda: x), (x[0] > 1, lambda: -x)], default=lambda: x * x), f("n")),
    ],
    "cast": [
        call(f("bn"), "int32"),
        call(i("bn"), "float16"),
        call(f("bn"), "bool"),
        call(t("bn"), "float32"),
        call(z("n"), "complex128"),
        call(f("n", dtype="float64"), "float32"),
        without(np.array([1e30, -1e30, 3e9], np.float32), "float16"),
        call(i("n", -99, 99), "uint8"),
        call(np.array([300, -300, 65537], np.int32), "int8"),
    ],
    "saturate_cast": [
        call(f("bn"), "int8"),
        call(np.array([300.0, -300, 3.7, np.inf], np.float32), "uint8"),
        call(i("bn", -999, 999), "uint8"),
        call(i("n", 0, 9, "uint8"), "int8"),
        without(np.array([1e30, -1e30], np.float32), "float16"),
        without(np.array([3e9, -3e9], np.float32), "int32"),
    ],
    "clip_by_global_norm": [
        call([f("bn"), f("m")], 1.0),
        call([f("n")], 100.0),
        call([f("bn"), None, f("m")], 0.5),
    ],
    "clip_by_norm": [
        call(f("bn"), 1.0),
        call(f("bnm"), 2.0, axes=[1]),
        call(f("bn"), p(""), axes=-1),
        call(np.zeros(3, np.float32), 1.0),
    ],
    "clip_by_value": [
        call(f("bn"), -0.5, 0.5),
        call(f("bn"), f("n"), 1.5),
        without(EDGES, -1.0, 2.0),
        call(i("n"), -2, 3),
        call(f("bn"), 1.0, -1.0),
    ],
    "complex": [
        call(f("bn"), f("bn")),
        call(f("bn"), f("n")),
        call(f("n", dtype="float64"), f("n", dtype="float64")),
    ],
    "concat": [
        call([f("bn"), f("bn")], 0),
        call([f("bn"), f("bm"), f("b2")], axis=-1),
        call([i("n")], 0),
        call([f("bnm"), f("bkm")], axis=1),
    ],
    "cond": [
        by(lambda g, x: g(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: -x), f("bn")),
        by(lambda g, x: g(tf.shape(x)[0] > 4, lambda: x + 1, lambda: x), f("n")),
        by(lambda g, x: g(x[0] > x[1], lambda: (x, x[0]), lambda: (x * 2, x[1])), f("n")),
    ],
    "constant": [
        by(lambda g, x: g([1.0, 2.0, 3.0]) * x, f("3")),
        by(lambda g, x: x + g(2, "float64", shape=[3]), f("b3", dtype="float64")),
        without([[1, 2], [3, 4]], "int64"),
    ],
    "conv": [
        call(f("bhw2"), f("3223"), [1, 1, 1, 1], "VALID"),
        call(f("bhw2"), f("3223"), [1, 2, 1, 1], "SAME"),
        call(f("b5672"), f("23223"), [1] * 5, "SAME"),
    ],
    "custom_gradient": [
        by(lambda g, x: g(lambda y: (y * y, lambda up: up * 5.0))(x), f("bn")),
        by(lambda g, x: g(lambda y: (tf.exp(y), lambda up: -up))(x) + x, f("n")),
        by(lambda g, x: g(lambda y: ((y, y * 2), lambda a, b: a + 3 * b))(x), f("n")),
    ],
    "dynamic_partition": [
        call(f("5n"), np.array([0, 2, 1, 0, 2], np.int32), 3),
        call(f("5"), i("5", 0, 3), 3),
        by(lambda g, x: g(x, tf.cast(x > 0, "int32"), 2), f("bn")),
    ],
    "dynamic_stitch": [
        call([np.array([0, 2], np.int32), np.array([1, 3], np.int32)], [f("2n"), f("2n")]),
        without([np.array([[0, 1], [2, 0]], np.int32)], [f("22m")]),
        call([np.array([1], np.int32), np.array([0, 1], np.int32)], [i("1n"), i("2n")]),
    ],
    "ensure_shape": [call(f("b3"), [None, 3]), call(f("n"), (None,)), call(i("23"), [2, 3])],
    "expand_dims": [call(f("bn"), 0), call(f("bn"), -1), call(f("bnm"), axis=2), call(f("bnm"), -4)],
    "extract_volume_patches": [
        call(f("b567c"), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID"),
        call(f("b567c"), [1, 3, 2, 2, 1], [1, 1, 2, 2, 1], "SAME"),
        call(f("2345c"), [1, 1, 1, 2, 1], [1, 1, 1, 1, 1], "VALID"),
    ],
    "fill": [
        by(lambda g, x: g(tf.shape(x), 3.0) + x, f("bn")),
        without([2, 3], 7),
        by(lambda g, x: g([2, 2], x), f("")),
        without([0, 2], 1.5),
    ],
    "foldl": [
        call(lambda a, x: a + x, f("nb")),
        call(lambda a, x: a * 0.5 + x, f("nb"), initializer=f("b")),
        call(tf.maximum, f("n")),
    ],
    "foldr": [
        call(lambda a, x: a * 0.5 + x, f("nb")),
        call(lambda a, x: a * 0.5 - x, f("nb"), initializer=f("b")),
        call(lambda a, x: a + x * x, f("n")),
    ],
    "scan": [
        call(lambda a, x: a + x, f("nb")),
        call(lambda a, x: a * 0.5 + x, f("nb"), initializer=f("b")),
        call(lambda a, x: a * 0.5 + x, f("nb"), reverse=True),
    ],
    "map_fn": [
        call(lambda x: x * 2.0, f("nb")),
        call(tf.reduce_sum, f("nbm")),
        call(lambda x: tf.cast(x, "int32"), f("n"), fn_output_signature=tf.int32),
    ],
    "vectorized_map": [
        call(lambda x: x * 2.0, f("nb")),
        call(lambda x: tf.reduce_sum(x) * x, f("nbm")),
        by(lambda g, x, y: g(lambda row: tf.linalg.matvec(y, row), x), f("nb"), f("mb")),
    ],
    "gather": [
        call(f("5n"), i("bm", 0, 5)),
        call(f("n5"), i("b", 0, 5), axis=1),
        call(f("25m"), i("23", 0, 5), axis=1, batch_dims=1),
        call(i("5"), 3),
        call(f("b5n"), i("m", 0, 5, "int64"), axis=-2),
        call(f("25"), i("2m", 0, 5), batch_dims=-1),
    ],
    "gather_nd": [
        call(f("5n"), np.array([[0], [3]], np.int32)),
        call(f("56"), np.array([[[0, 1], [4, 5]]], np.int32)),
        call(f("25n"), np.array([[[0]], [[3]]], np.int32), batch_dims=1),
        call(i("56n"), np.array([2, 3], np.int64)),
    ],
    "grad_pass_through": [
        by(lambda g, x: g(tf.round)(x), f("bn")),
        by(lambda g, x: g(lambda y: tf.sign(y) * 2)(x), f("n")),
        by(lambda g, x: g(tf.floor)(x) * x, f("n")),
    ],
    "gradients": [],
    "guarantee_const": [without(f("bn")), without(i("n")), without(f("n", dtype="float64"))],
    "hessians": [],
    "histogram_fixed_width": [
        without(f("t"), [-1.0, 1.0]),
        without(f("bt"), [-2.0, 2.0], nbins=5),
        without(i("t"), [-3, 4], 7, dtype="int64"),
    ],
    "histogram_fixed_width_bins": [
        without(f("t"), [-1.0, 1.0]),
        without(f("bt"), [-2.0, 2.0], nbins=5),
        without(np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15], np.float32), [0.0, 5.0], 5),
    ],
    "identity": [call(f("bn")), call(i("n")), call(z("n"))],
    "identity_n": [call([f("bn"), i("n")]), call([f("n")]), call([z("n"), t("n")])],
    "linspace": [
        without(0.0, 1.0, 5),
        call(f(""), f(""), 4),
        call(f("n"), f("n"), 3),
        call(f("bn"), f("bn"), 3, axis=-1),
        by(lambda g, x: g(0.0, 1.0, tf.shape(x)[0]) * x, f("n")),
        without(2, 5, 3),
        without(1.0, 3.0, 1),
    ],
    "meshgrid": [
        call(f("n"), f("m")),
        call(f("n"), f("m"), indexing="ij"),
        call(i("n"), i("m"), i("b")),
        call(f("n")),
    ],
    "no_gradient": [],
    "one_hot": [
        call(i("bn", -1, 6), 5),
        call(i("n", 0, 5), depth=4, on_value=2.0, off_value=-1.0, axis=0),
        call(i("bn", 0, 5), 5, dtype="int32"),
        call(i("bn", 0, 4, "int64"), 4, axis=1, dtype="bool", on_value=True, off_value=False),
        call(i("n", 0, 4, "uint8"), 4),
    ],
    "ones": [
        without([2, 3]),
        by(lambda g, x: g(tf.shape(x), x.dtype) * x, f("bn", dtype="float64")),
        without([], "int32"),
    ],
    "zeros": [
        without([2, 3]),
        by(lambda g, x: g(tf.shape(x), x.dtype) + x, f("bn", dtype="float64")),
        without([0, 2], "bool"),
    ],
    **each(
        "ones_like zeros_like", [call(f("bn")), call(i("n"), dtype="float64"), call(t("n")), call(z("bn"))]
    ),
    "pad": [
        call(f("bn"), [[1, 2], [0, 3]]),
        call(f("bn"), [[1, 1], [2, 1]], "REFLECT"),
        call(f("bn"), [[1, 0], [2, 3]], "SYMMETRIC"),
        call(i("bn"), [[0, 1], [2, 0]], constant_values=7),
        by(lambda g, x: g(x, [[0, tf.shape(x)[0]], [0, 0]]), f("bn")),
    ],
    "range": [
        without(5),
        without(2, 9, 3),
        without(9.0, 1.0, -2.5),
        by(lambda g, x: tf.cast(g(tf.shape(x)[0]), "float32") * x, f("n")),
        without(3, 3),
        without(1, 4, dtype="float64"),
        by(lambda g, x: g(tf.shape(x)[0] - 1, -1, -1), f("n")),
    ],
    "rank": [without(f("bnm")), without(i("")), without(z("n"))],
    "size": [without(f("bnm")), without(i("")), without(z("n"), out_type="int64")],
    "shape": [without(f("bnm")), without(i("")), without(z("n"), out_type="int64")],
    "shape_n": [without([f("bnm"), f("n")]), without([i("")]), without([z("n"), f("b")], out_type="int64")],
    **each(
        "realdiv",
        [call(f("bn"), f("n")), call(f("n", dtype="float64"), 2.0), without(EDGES, EDGES[::-1].copy())],
    ),
    **each(
        "truncatediv truncatemod",
        [
            call(i("bn"), i("n", 1, 5)),
            call(i("bn", -100, 100, "int8"), i("n", -4, -1, "int8")),
            call(i("bn", dtype="int64"), 3),
        ],
    ),
    "recompute_grad": [
        by(lambda g, x: g(lambda y: tf.sin(y) * y)(x), f("bn")),
        by(lambda g, x: g(tf.exp)(x) * 2, f("n")),
        by(lambda g, x, w: g(lambda y, v: tf.tanh(y @ v))(x, w), f("bn"), f("nm")),
    ],
    "repeat": [
        call(f("bn"), 2),
        call(f("bn"), 3, axis=1),
        call(f("3n"), [1, 0, 2], axis=0),
        call(f("n"), i("n", 0, 4)),
        call(i("3"), [2, 2, 1]),
    ],
    "required_space_to_batch_paddings": [
        without([5, 6], [2, 4]),
        without([5], [3], base_paddings=[[1, 1]]),
        by(lambda g, x: g(tf.shape(x), [2, 2]), f("bn")),
    ],
    "reshape": [
        call(f("bn"), [-1]),
        by(lambda g, x: g(x, [tf.shape(x)[1], tf.shape(x)[0]]), f("bn")),
        call(f("b6n"), [-1, 2, 3]),
        call(np.zeros((2, 0, 3), np.float32), [0, 6]),
        by(lambda g, x: g(x, (x.shape[0], -1)), f("bnm")),
        call(f(""), [1, 1]),
    ],
    "reverse": [call(f("bnm"), [0]), call(f("bnm"), [-1, 1]), call(i("n"), [0]), call(t("bn"), [1])],
    "reverse_sequence": [
        call(f("35"), [2, 5, 0], seq_axis=1),
        call(f("53n"), i("3", 0, 6), seq_axis=0, batch_axis=1),
        call(i("25"), [1, 3], seq_axis=-1),
    ],
    "roll": [
        call(f("bnm"), 1, 0),
        call(f("bnm"), [2, -1], [1, 2]),
        call(i("n"), -7, 0),
        call(f("bn"), i(""), 1),
        call(f("bn"), [1, 2], [1, 1]),
    ],
    "scatter_nd": [
        by(
            lambda g, x: g(np.array([[0], [2], [0]], np.int32), x, tf.concat([[4], tf.shape(x)[1:]], 0)),
            f("3m"),
        ),
        call(np.array([[0, 1], [2, 2]], np.int32), f("2"), [3, 4]),
        call(i("n1", 0, 5), f("n"), [5]),
        call(np.array([[1], [1]], np.int32), i("2"), [4]),
    ],
    "searchsorted": [
        by(lambda g, x, y: g(tf.sort(x), y), f("bn"), f("bm")),
        by(lambda g, x, y: g(tf.sort(x), y, side="right"), i("n"), i("m")),
        call(np.array([1.0, 2, 2, 3], np.float32), np.array([2, 0, 4, 3], np.float32), "right", "int64"),
    ],
    "sequence_mask": [
        call(i("n", 0, 5)),
        call(i("bn", 0, 5), maxlen=6),
        call([1, 3, 2], 4, dtype="float32"),
        call(i("n", 0, 5), i("", 3, 7), "int32"),
    ],
    "slice": [
        call(f("bnm"), [0, 1, 0], [-1, 2, 2]),
        call(f("56"), [1, 2], [3, -1]),
        by(lambda g, x: g(x, [0, 0], [tf.shape(x)[0] - 1, 2]), f("bn")),
        call(i("5"), [2], [0]),
        by(lambda g, x, s: g(x, [s, 0], [2, 3]), f("5n"), i("", 0, 3)),
    ],
    "space_to_batch_nd": [
        call(f("b46c"), [2, 2], [[0, 0], [0, 0]]),
        call(f("b56c"), [2, 3], [[1, 0], [0, 0]]),
        call(i("b5"), [2], [[0, 1]]),
    ],
    "split": [
        call(f("4n"), 2),
        call(f("bn6"), [1, 2, 3], axis=2),
        call(f("b6"), [2, -1], axis=1),
        call(i("n6"), 3, -1),
    ],
    "squeeze": [call(f("1n1")), call(f("1n1"), [0]), call(f("b1n1"), axis=[-1, 1]), call(i("11"))],
    "stack": [
        call([f("bn"), f("bn")]),
        call([f("bn"), f("bn"), f("bn")], axis=-1),
        call([i(""), i("")]),
        by(lambda g, x: g([tf.shape(x)[0], 3]), f("n")),
    ],
    "unstack": [call(f("3n")), call(f("b4n"), axis=1), call(i("23"), axis=-1)],
    "stop_gradient": [call(f("bn")), by(lambda g, x: g(x) * x, f("bn")), call(i("n"))],
    "strided_slice": [
        call(f("56n"), [1, 0], [4, 5], [2, 2]),
        call(f("56"), [4, 0], [0, 6], [-1, 3]),
        call(f("56"), [2, 1], [3, 3], shrink_axis_mask=1),
        call(f("bn"), [0, 0], [0, 0], begin_mask=3, end_mask=3),
        call(f("56"), [0, 1, 0], [0, 0, 3], new_axis_mask=2, end_mask=1),
    ],
    "switch_case": [
        by(lambda g, x, n: g(n, [lambda: x, lambda: x * 2, lambda: -x]), f("bn"), i("", 0, 3)),
        by(
            lambda g, x, n: g(n, {0: lambda: x + 1, 3: lambda: x}, default=lambda: x * 5), f("n"), i("", 0, 5)
        ),
        by(lambda g, x, n: g(n, [lambda: x, lambda: x * 2], default=lambda: -x), f("n"), i("", -2, 4)),
    ],
    **each(
        "tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub", _SCATTERED
    ),
    "tensor_scatter_nd_update": [
        _SCATTERED[0],
        call(f("56"), np.array([[0, 1], [2, 2]], np.int32), f("2")),
        call(i("5"), np.array([[1], [1]], np.int32), np.array([3, 4], np.int32)),
    ],
    "tile": [
        call(f("bn"), [2, 3]),
        call(f("n"), [0]),
        call(i("bnm"), [1, 2, 1]),
        by(lambda g, x: g(x, [tf.shape(x)[1], 1]), f("bn")),
        call(f("b1"), [1, 4]),
    ],
    "transpose": [
        call(f("bnm")),
        call(f("bnm"), [1, 0, 2]),
        call(z("bn"), conjugate=True),
        call(i("bnmk"), perm=[3, 1, 0, 2]),
        call(f("bnm"), [-1, 0, 1]),
    ],
    "unique": _UNIQUE,
    "unique_with_counts": _UNIQUE,
    "unravel_index": [without([2, 5, 3], [3, 4]), without(i("n", 0, 12), [3, 4]), without(7, [2, 2, 3])],
    "where": [
        call(t("bn"), f("bn"), f("bn")),
        call(t("b1"), f("n"), 0.0),
        without(t("bn")),
        without(i("n", 0, 2)),
        without(np.array([0.0, -0.0, np.nan, 1], np.float32)),
        call(t("n"), i("bn"), i("")),
    ],
    "while_loop": [
        by(lambda g, x: g(lambda i, y: i < 4, lambda i, y: (i + 1, y * 1.5), (0, x))[1], f("bn")),
        by(lambda g, x: g(lambda y: tf.reduce_sum(y * y) < 100.0, lambda y: [y * 2.0], [x])[0], p("n")),
        by(
            lambda g, x: g(
                lambda i, y: i < tf.shape(x)[0], lambda i, y: (i + 1, y + x[i]), (0, tf.zeros_like(x[0]))
            )[1],
            f("nb"),
        ),
    ],
    "random_index_shuffle": [
        without(3, np.array([1, 2, 3], np.int32), 9),
        without(i("n", 0, 9), np.array([1, 2, 3], np.int32), 9),
        without(0, np.array([1, 2, 3], np.int32), 99),
    ],
    "conv2d_backprop_filter_v2": [],
    "conv2d_backprop_input_v2": [],
}
SAMPLES: dict[str, list[Call]] = {f"tf.{name}": calls for name, calls in TF.items() if calls}
