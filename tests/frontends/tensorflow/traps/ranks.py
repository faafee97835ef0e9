"""Traps with ranks, empty arrays, axes of size 1, broadcasting and reshaping, which one recording must serve
at other shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import Traps, drawn, whole

TRAPS = Traps()
_EMPTY = (
    lambda: (drawn(),),
    lambda: (drawn(0),),
    lambda: (drawn(1),),
    lambda: (drawn(2, 0),),
    lambda: (drawn(3, 1),),
)
_ROWS = (lambda: (drawn(),), lambda: (drawn(0),), lambda: (drawn(1),), lambda: (drawn(7),))
_EMPTY_LAST = (lambda: (drawn(0),), lambda: (drawn(2),), lambda: (drawn(0),), lambda: (drawn(5),))
_ONES = (lambda: (drawn(1),), lambda: (drawn(4),), lambda: (drawn(1, 1),), lambda: (drawn(2, 1),))
_RANKS = (
    lambda: (drawn(4, 6),), lambda: (tf.reshape(drawn(4, 6), (2, 2, 6)),), lambda: (drawn(4, 6)[0],), lambda: (tf.reshape(drawn(4, 6), (2, 3, 2, 2)),),
)  # fmt: skip
_SCALARS = (lambda: (drawn()[0, 0],), lambda: (drawn()[1, 1],), lambda: (drawn()[0],), lambda: (drawn(),))
_TWO = (
    lambda: (drawn(), drawn()), lambda: (drawn(), drawn(1)), lambda: (drawn(1), drawn(5)), lambda: (drawn(4, 1), drawn(1)),
    lambda: (drawn(4, 1), drawn(4)),
)  # fmt: skip
_ROW = (
    lambda: (drawn(), drawn()[0]),
    lambda: (drawn(3), drawn(3)[0]),
    lambda: (drawn(), drawn(1)),
    lambda: (drawn(), drawn()[0, 0]),
)
_COLUMN = (
    lambda: (drawn(), drawn(4, 1)),
    lambda: (drawn(5), drawn(1, 1)),
    lambda: (drawn(1), drawn(4, 1)),
    lambda: (drawn(3, 1), drawn(3, 5)),
)

TRAPS.rows(*_EMPTY)(
    sums_of_nothing=lambda x: (
        tf.reduce_sum(x),
        tf.reduce_prod(x, 0),
        tf.reduce_all(x > 0),
        tf.reduce_any(x > 0, 1),
    ),
    means_of_nothing=lambda x: (tf.reduce_mean(x, 0), tf.reduce_mean(x)),
    extremes_of_nothing=lambda x: (tf.reduce_max(x, 0), tf.reduce_min(x), tf.reduce_logsumexp(x, 1)),
    variances_of_nothing=lambda x: (tf.math.reduce_std(x, 0), tf.math.reduce_variance(x)),
    products_of_nothing=lambda x: (tf.matmul(x, x, transpose_b=True), tf.matmul(x, x, transpose_a=True)),
    softmax_of_nothing=lambda x: tf.nn.softmax(x),
    sorts_of_nothing=lambda x: (tf.sort(x, 0), tf.argsort(x, 1)),
    sums_so_far_of_nothing=lambda x: (tf.cumsum(x, 0), tf.cumsum(x, 1, reverse=True, exclusive=True)),
    joins_of_nothing=lambda x: (tf.concat([x, x], 0), tf.stack([x, x], 1), tf.concat([x[:0], x], 0)),
    pads_of_nothing=lambda x: tf.pad(x, [[1, 1], [0, 2]], constant_values=3.0),
    masks_of_nothing=lambda x: (tf.boolean_mask(x, x[:, 0] > 0) if x.shape[1] else x, tf.where(x > 0)),
    transposes_of_nothing=lambda x: (tf.transpose(x), tf.reshape(tf.transpose(x), (-1,)), tf.reverse(x, [0])),
    shape_decides_of_nothing=lambda x: x + 1.0 if 0 in x.shape else x * 2.0,
    length_decides=lambda x: x if len(x) else tf.ones_like(x) - 1.0,
    reshapes_nothing=lambda x: (tf.reshape(x, (tf.shape(x)[1], tf.shape(x)[0])), tf.reshape(x, (-1,))),
    segments_of_nothing=lambda x: tf.math.unsorted_segment_max(x, tf.range(tf.shape(x)[0]), 8),
    one_hot_of_nothing=lambda x: tf.one_hot(tf.cast(x, tf.int32), 3),
    broadcast_of_nothing=lambda x: x + tf.ones((1, 1)) + tf.zeros_like(x[:, :1]),
    einsum_of_nothing=lambda x: tf.einsum("ij,kj->ik", x, x),
    norms_of_nothing=lambda x: (tf.norm(x), tf.norm(x, axis=0), tf.norm(x, ord=1)),
    slices_behind_the_end=lambda x: (x[5:], x[:5], x[3:2], x[:, 1:100], x[-100:2]),
    top_of_nothing=lambda x: tf.math.top_k(x, k=0),
    unique_of_nothing=lambda x: tf.unique(tf.reshape(x, [-1])).y,
    random_of_nothing=lambda x: x + tf.random.stateless_uniform(tf.shape(x), [1, 2]),
    histogram_of_nothing=lambda x: tf.histogram_fixed_width(x, [-1.0, 1.0], 4),
)

TRAPS.rows(*_EMPTY_LAST)(
    recorded_with_nothing=lambda x: (x * 2.0, tf.reduce_sum(x, 0), tf.matmul(x, x, transpose_a=True)),
    mask_though_recorded_with_nothing=lambda x: tf.boolean_mask(x, x[:, 0] > 0),
    loop_though_recorded_with_nothing=lambda x: sum([row * i for i, row in enumerate(x)], tf.zeros((3,))),
    scan_though_recorded_with_nothing=lambda x: tf.scan(lambda s, row: s * 0.5 + row, x, tf.ones((3,))),
    fold_though_recorded_with_nothing=lambda x: tf.foldl(lambda s, row: s * 0.5 + row, x, tf.ones((3,))),
    sort_though_recorded_with_nothing=lambda x: (tf.sort(x, 0), tf.argsort(x, 0), tf.reverse(x, [0])),
    mean_though_recorded_with_nothing=lambda x: tf.math.divide_no_nan(
        tf.reduce_sum(x, 0), tf.cast(tf.shape(x)[0], tf.float32)
    ),
    branch_though_recorded_with_nothing=lambda x: tf.cond(
        tf.shape(x)[0] > 0, lambda: tf.reduce_max(x), lambda: tf.constant(-1.0)
    ),
)

TRAPS.rows(*_ONES)(
    recorded_with_one=lambda x: x + tf.ones((4, 3))[:, : x.shape[1]] if x.shape[0] in (1, 4) else x,
    squeezed_where_one=lambda x: tf.squeeze(x),
    squeezed_along_an_axis=lambda x: tf.squeeze(x[:1], 0) * 2.0,
    mean_over_one=lambda x: x - tf.reduce_mean(x, 0, keepdims=True),
    normalised_over_one=lambda x: (
        (x - tf.reduce_mean(x, 1, keepdims=True)) / (tf.math.reduce_std(x, 1, keepdims=True) + 1e-3)
    ),
    broadcast_from_one=lambda x: tf.broadcast_to(x[:1], (4, x.shape[1])),
    multiplied_by_its_column=lambda x: x * x[:, :1] + x[:1],
    product_with_one=lambda x: tf.matmul(x, tf.transpose(x)) + tf.linalg.matvec(x, x[0]),
    tile_of_one=lambda x: tf.tile(x, [3, 1]) if x.shape[0] == 1 else x,
    softmax_over_one=lambda x: (tf.nn.softmax(x, 0), tf.nn.log_softmax(x)),
    conv_over_one=lambda x: tf.nn.conv1d(x[None], tf.ones((3, x.shape[1], 1)), 1, "SAME"),
    outer_of_one=lambda x: x[:, None, :] * x[None, :, :1],
    cumsum_of_one=lambda x: tf.cumsum(x, axis=0, exclusive=True),
)

TRAPS.rows(*_RANKS)(
    rank_as_a_factor=lambda x: x * len(x.shape) + x.ndim + tf.cast(tf.rank(x), tf.float32),
    last_axis_of_any_rank=lambda x: tf.reduce_sum(x, -1) / x.shape[-1],
    all_but_the_last_axis=lambda x: tf.reduce_mean(x, list(range(len(x.shape) - 1))),
    all_but_the_first_axis=lambda x: tf.reduce_mean(x, tuple(range(1, x.shape.rank))),
    ellipsis_of_any_rank=lambda x: x[..., :2] + x[..., 0, None],
    flattens_any_rank=lambda x: tf.reshape(x, (-1,))[:6] * x.shape.num_elements(),
    transposes_any_rank=lambda x: tf.transpose(x) * 2.0,
    swaps_axes_of_any_rank=lambda x: tf.transpose(x, [*range(1, x.ndim), 0]),
    permutes_by_a_tensor=lambda x: tf.transpose(x, tf.range(tf.rank(x))[::-1]),
    new_axes_at_the_front=lambda x: tf.expand_dims(x, -2) - x[None, ..., None, :],
    branches_on_the_rank=lambda x: x[0] if x.shape.rank > 1 else x * 2.0,
    loop_over_the_rank=lambda x: [tf.reduce_max(x, axis) for axis in range(x.shape.rank)],
    tensordot_of_any_rank=lambda x: tf.tensordot(x, tf.ones((x.shape[-1], 2)), 1),
    matmul_of_any_rank=lambda x: x @ tf.ones((x.shape[-1], 2)) if x.ndim > 1 else x,
    dense_of_any_rank=lambda x: tf.reshape(
        tf.reshape(x, (-1, x.shape[-1])) @ tf.ones((x.shape[-1], 2)), x.shape[:-1] + [2]
    ),
    reverse_of_any_rank=lambda x: tf.reverse(x, [-1]) + tf.reverse(x, [0]),
    softmax_of_any_rank=lambda x: tf.nn.softmax(x, axis=0) + tf.nn.softmax(x),
    unstack_of_any_rank=lambda x: tf.unstack(x, axis=-1)[0],
    sort_of_any_rank=lambda x: tf.sort(x, axis=-1, direction="DESCENDING"),
    slices_made_of_the_rank=lambda x: x[tuple(slice(0, 1) for _ in x.shape)],
    shape_without_an_axis=lambda x: tf.zeros(x.shape[:-1]) + tf.reduce_max(x, -1),
    einsum_of_any_rank=lambda x: tf.einsum("...i,...i->...", x, x),
    one_hot_of_any_rank=lambda x: tf.one_hot(tf.cast(tf.abs(x), tf.int32), 2, axis=0),
    stack_of_any_rank=lambda x: (tf.stack([x, -x], -1), tf.concat([x, -x], -1)),
)

TRAPS.rows(*_SCALARS)(
    scalar_or_array=lambda x: x * 2.0 + tf.reduce_sum(x),
    scalar_is_told_by_its_rank=lambda x: x if x.shape == () else x[0],
    scalar_in_a_new_axis=lambda x: x[..., None] * tf.constant([1.0, 2.0]),
    scalar_becomes_a_row=lambda x: tf.reshape(x, (-1, 1)) + tf.reshape(x, (1, -1)),
    scalar_is_stacked=lambda x: tf.stack([x, x * 2.0, x * 0.0]),
    scalar_is_broadcast=lambda x: tf.broadcast_to(x, (4, 3)),
    scalar_size=lambda x: (tf.size(x), tf.rank(x), tf.shape(x), x.shape.num_elements()),
    scalar_ones=lambda x: tf.ones_like(x) + tf.zeros(x.shape) + tf.fill(tf.shape(x), 2.0),
)

TRAPS.rows(*_TWO)(
    broadcasts_two=lambda a, b: (a + b, a * b - a, tf.maximum(a, b) / 2.0),
    broadcasts_in_where=lambda a, b: tf.where(a > b, a, b),
    broadcasts_a_comparison=lambda a, b: (tf.equal(a, b), a <= b, tf.math.logical_xor(a > 0, b > 0)),
    broadcasts_and_sums=lambda a, b: tf.reduce_sum(a - b, 0) + (a - b).shape[0],
    broadcasts_by_the_shape_of_the_other=lambda a, b: tf.broadcast_to(a, (a + b).shape) * 2.0,
    broadcasts_dynamically=lambda a, b: tf.zeros(tf.broadcast_dynamic_shape(tf.shape(a), tf.shape(b))) + a,
    broadcasts_to_a_new_axis=lambda a, b: a[:, None] - b[None],
    squared_difference_of_two=lambda a, b: tf.math.squared_difference(a, b),
    joins_two_that_may_broadcast=lambda a, b: tf.concat([a + b, a * tf.ones_like(b)], 0),
    broadcast_gradient_of_two=lambda a, b: tf.pow(tf.abs(a), b) + tf.math.atan2(a, b),
    clips_by_another=lambda a, b: (
        tf.clip_by_value(a, -tf.abs(b), tf.abs(b))
        if a.shape[0] >= b.shape[0] and a.shape[1] >= b.shape[1]
        else a
    ),
    batches_that_broadcast=lambda a, b: tf.matmul(
        a[:, None, :] + 0.0 * b[:, None, :], b[:, None, :] + 0.0 * a[:, None, :], transpose_b=True
    ),
)

TRAPS.rows(*_ROW)(
    adds_a_row=lambda x, b: x + b,
    weighs_by_a_row=lambda x, b: tf.reduce_sum(x * b, 1),
    row_in_where=lambda x, b: tf.where(x > b, b, x),
    row_in_addcmul=lambda x, b: tf.math.multiply_no_nan(x, b) + tf.math.divide_no_nan(x, b),
    row_in_a_lerp=lambda x, b: x + 0.25 * (b - x),
)

TRAPS.rows(*_COLUMN)(
    adds_a_column=lambda x, c: x + c,
    weighs_by_a_column=lambda x, c: tf.reduce_sum(x * c, 0),
    masks_by_a_column=lambda x, c: tf.where(c > 0, x, 0.0),
    divides_by_a_column=lambda x, c: x / (tf.abs(c) + 1.0),
    column_and_its_transpose=lambda x, c: (x + c) * tf.reduce_mean(c) + tf.transpose(c)[:1, :1],
)


@TRAPS.function(*_ROWS)
def batches_of_two_rows(x: Any) -> Any:
    found = []
    while len(x) >= 2:
        found.append(tf.reduce_sum(x[:2], 0))
        x = x[2:]
    return found, x


@TRAPS.function(*_ROWS)
def starts_from_the_first_row(x: Any) -> Any:
    total = None
    for row in x:
        total = row if total is None else total * 0.5 + row
    return tf.zeros((3,)) if total is None else total


@TRAPS.function(*_ROWS)
def enumerates_rows(x: Any) -> Any:
    return {f"row{number}": row * number for number, row in enumerate(x)}


@TRAPS.function(*_ROWS)
def reversed_rows(x: Any) -> Any:
    return [row + 1.0 for row in reversed(tf.unstack(x))]


@TRAPS.function(*_RANKS)
def recursion_over_the_rank(x: Any) -> Any:
    def total(y: Any) -> Any:
        return y * 1.5 if y.shape.rank == 0 else total(tf.reduce_sum(y, 0) + y[0])

    return total(x)


@TRAPS.function(*_RANKS)
def ends_where_the_rank_is_one(x: Any) -> Any:
    while x.ndim > 1:
        x = tf.reduce_max(x, axis=0) - 1.0
    return x


@TRAPS.function(
    lambda: (drawn(), whole(4, most=3)), lambda: (drawn(6), whole(6, most=3)), lambda: (drawn(6), whole(2, 3, most=6)), lambda: (drawn(), whole(1, most=2)[0]),
)  # fmt: skip
def indices_of_any_rank(x: Any, places: Any) -> Any:
    return tf.gather(x, places), tf.gather(x, places % 3, axis=1), tf.one_hot(places, 4)


@TRAPS.function(
    lambda: (drawn(6), 2, 3), lambda: (drawn(6), 3, 2), lambda: (drawn(6), 6, -1), lambda: (drawn(6), -1, 1), lambda: (drawn(8), 4, -1),
)  # fmt: skip
def shape_of_arguments(x: Any, rows: int, columns: int) -> Any:
    return tf.reshape(x, (rows, columns, 3)), tf.reshape(x, [-1, 3])[: abs(rows)]


@TRAPS.function(
    lambda: (drawn(), 0),
    lambda: (drawn(), 1),
    lambda: (drawn(), -1),
    lambda: (drawn(6), -2),
    lambda: (drawn(3), 0),
)
def axis_of_an_argument(x: Any, axis: int) -> Any:
    return (
        tf.reduce_sum(x, axis),
        tf.concat([x, x], axis),
        tf.argmax(x, axis),
        tf.expand_dims(x, axis).shape.rank,
    )


@TRAPS.function(
    lambda: (drawn(), (0,)),
    lambda: (drawn(), (0, 1)),
    lambda: (drawn(), ()),
    lambda: (drawn(6), None),
    lambda: (drawn(6), [1]),
)
def axes_of_an_argument(x: Any, axes: Any) -> Any:
    return tf.reduce_mean(x, axes), tf.reduce_max(x, axes, keepdims=True)


@TRAPS.function(
    lambda: (drawn(), np.int64(2)),
    lambda: (drawn(), np.int64(3)),
    lambda: (drawn(6), np.int32(5)),
    lambda: (drawn(6), 0),
)
def size_of_numpy_is_an_argument(x: Any, count: Any) -> Any:
    return x[:count], tf.zeros((count, 2)), tf.range(count)


@TRAPS.function(
    lambda: (drawn(), tf.constant(2)), lambda: (drawn(), tf.constant(3)), lambda: (drawn(6), tf.constant(0))
)
def size_of_a_tensor_is_an_argument(x: Any, count: Any) -> Any:
    return x[:count], tf.reduce_sum(x[count:], 0), x[count]


@TRAPS.function(
    lambda: (drawn(), tf.constant([2, 6])),
    lambda: (drawn(), tf.constant([3, 4])),
    lambda: (drawn(6), tf.constant([9, 2])),
)
def shape_of_a_tensor_is_an_argument(x: Any, shape: Any) -> Any:
    return tf.reshape(x, shape)


@TRAPS.function(
    lambda: (drawn(), (2, 6)),
    lambda: (drawn(), (12,)),
    lambda: (drawn(6), (9, 2)),
    lambda: (drawn(6), (-1, 9)),
)
def shape_of_a_tuple_is_an_argument(x: Any, shape: Any) -> Any:
    return tf.reshape(x, shape) * len(shape)
