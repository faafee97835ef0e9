"""Traps with arithmetic on sizes from ``x.shape`` and ``tf.shape``, used as bounds, shapes, factors, keys and
results.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf

from .table import EVERYWHERE, Traps, drawn, whole

TRAPS = Traps()
_PAIRS = (
    lambda: (drawn(), drawn(5, seed=1)), lambda: (drawn(5), drawn(4, seed=3)), lambda: (drawn(2), drawn(7)), lambda: (drawn(3), drawn(3)),
)  # fmt: skip
_SQUARES = (
    lambda: (drawn(3),),
    lambda: (drawn(3, seed=4),),
    lambda: (drawn(5, 5),),
    lambda: (drawn(4, 4),),
    lambda: (drawn(1, 1),),
)
_MANY = (
    lambda: (drawn(4),),
    lambda: (drawn(5),),
    lambda: (drawn(8),),
    lambda: (drawn(1),),
    lambda: (drawn(16, 2),),
    lambda: (drawn(3, 1),),
)

TRAPS.rows(*_MANY)(
    log_of_a_size=lambda x: x * math.log(x.shape[0] + 1),
    bit_length_of_a_size=lambda x: x + x.shape[0].bit_length(),
    size_as_a_power=lambda x: 2 ** x.shape[0] + x,
    power_of_a_size=lambda x: x.shape[0] ** 2 * x - x.shape[1] ** 3,
    root_of_a_size=lambda x: x / math.sqrt(x.shape[-1]),
    isqrt_of_a_size=lambda x: x[: math.isqrt(x.shape[0])],
    ceil_of_a_quotient=lambda x: x[: math.ceil(x.shape[0] / 3)],
    rounded_quotient=lambda x: x[: round(x.shape[0] / 2)],
    size_by_a_float=lambda x: x[: int(x.shape[0] * 0.7)],
    size_in_bits=lambda x: x + (x.shape[0] & 3) + (x.shape[0] << 1) + (x.shape[0] >> 1) + (x.shape[0] ^ 5),
    divmod_of_a_size=lambda x: (x + divmod(x.shape[0], 3)[1], divmod(x.shape[0], 3)),
    absolute_difference=lambda x: x * abs(x.shape[0] - 4),
    largest_of_sizes=lambda x: tf.zeros((max(x.shape),)) + max(x.shape[0], 4),
    sum_of_a_shape=lambda x: x * sum(x.shape),
    product_of_a_shape=lambda x: tf.reshape(x, [math.prod(x.shape)]),
    gcd_of_sizes=lambda x: x * math.gcd(x.shape[0], 6),
    size_is_in_a_range=lambda x: x * 2.0 if x.shape[0] in range(4, 6) else x - 1.0,
    sizes_in_a_chain=lambda x: x * 2.0 if 2 < x.shape[0] <= 5 else x - 1.0,
    size_as_a_key=lambda x: x * {4: 2.0, 5: 3.0}.get(x.shape[0], 4.0),
    size_of_a_string=lambda x: x * len(str(x.shape[0])),
    size_is_returned=lambda x: (x.shape[0], x.shape[0] * 2 + 1, x.shape[0] / 2, x.shape[0] // 2),
    size_is_returned_as_a_float=lambda x: (float(x.shape[0]), int(x.shape[0]), bool(x.shape[0] - 1)),
    shape_is_returned=lambda x: (x.shape.as_list(), tuple(x.shape), len(x.shape)),
    shape_as_a_set=lambda x: x * len(set(x.shape)),
    shape_is_sorted=lambda x: tf.reshape(x, sorted(x.shape)),
    shape_is_reversed=lambda x: tf.reshape(x, x.shape[::-1]),
    shape_is_joined=lambda x: tf.reshape(x, [1] + x.shape + [1]),
    shape_is_unpacked=lambda x: tf.ones((*x.shape, 2)) * x[..., None],
    shape_of_numpy=lambda x: x * np.prod(x.shape) + np.float32(np.sum(x.shape)),
    size_as_an_array_of_numpy=lambda x: (
        x + np.full(x.shape, 2.0, "float32") * np.arange(x.shape[1], dtype="float32")
    ),
    linspace_of_numpy=lambda x: x * np.linspace(0, 1, x.shape[0], dtype="float32")[:, None],
    sum_over_a_range=lambda x: x * sum(range(x.shape[0])),
    factorial_of_a_size=lambda x: x / math.factorial(x.shape[0]),
    tuple_times_a_size=lambda x: tf.concat([x] * x.shape[0], 1),
    zip_with_a_range=lambda x: sum(row * i for row, i in zip(tf.unstack(x), range(100))),
    split_by_a_size=lambda x: tf.split(x, x.shape[1], axis=1)[-1],
    split_into_a_half_and_a_rest=lambda x: tf.split(x, [x.shape[0] // 2, x.shape[0] - x.shape[0] // 2]),
    size_of_a_strided_part=lambda x: (
        tf.ones((x[::2].shape[0],)),
        tf.ones(x[::-3].shape),
        tf.ones(x[-3:].shape),
    ),
    size_of_a_padded_array=lambda x: (
        tf.pad(x, [[1, 2], [0, 0]]).shape[0],
        tf.pad(x, [[1, x.shape[0]], [0, 0]]),
    ),
    size_of_a_joined_array=lambda x: (
        tf.reduce_sum(tf.concat([x, x, x[:1]], 0), 0) / tf.concat([x, x, x[:1]], 0).shape[0]
    ),
    index_by_a_size=lambda x: x[x.shape[0] // 2, x.shape[1] - 1] + x[-x.shape[0]],
    size_compared_to_a_tensor=lambda x: tf.where(x > x.shape[0] / 8, x, float(x.shape[0])),
    range_in_floats=lambda x: tf.range(0.0, x.shape[0], 1.5),
    shift_by_a_size=lambda x: (tf.roll(x, x.shape[0] // 2 + 7, 0), tf.roll(x, [1, -x.shape[1]], [0, 1])),
)

TRAPS.rows(*_MANY)(
    tensor_of_a_size_in_floats=lambda x: x / tf.cast(tf.shape(x)[0], x.dtype) ** 0.5,
    size_of_a_tensor_divides=lambda x: tf.shape(x)[0] / 2,
    size_of_a_tensor_by_floor=lambda x: (
        tf.shape(x)[0] // 3,
        -tf.shape(x)[0] // 3,
        tf.shape(x)[0] % 3,
        -tf.shape(x)[0] % 3,
    ),
    tensor_of_a_size_as_a_condition=lambda x: tf.cond(tf.shape(x)[0] > 4, lambda: x * 2.0, lambda: x - 1.0),
    tensor_of_a_size_in_where=lambda x: tf.where(tf.shape(x)[0] > 4, x, -x),
    larger_of_two_shapes=lambda x: tf.zeros(
        tf.reduce_max(tf.stack([tf.shape(x), tf.shape(x)[::-1]]), axis=0, keepdims=True)[0]
    ),
    smallest_of_each_shape=lambda x: x * tf.cast(tf.reduce_min([tf.shape(x), [4, 9]], axis=1)[0], x.dtype),
    largest_of_no_sizes=lambda x: x + tf.cast(tf.reduce_max(tf.shape(tf.reduce_sum(x))), x.dtype),
    reads_a_size_of_a_tensor=lambda x: x * float(tf.shape(x)[0]) + int(tf.size(x)),
    tensor_of_a_size_by_numpy=lambda x: x * tf.shape(x).numpy()[0] + np.prod(tf.shape(x)),
    list_of_a_shape=lambda x: tf.reshape(x, tf.shape(x).numpy().tolist()[::-1]),
    sizes_in_64_bits=lambda x: (tf.shape(x, tf.int64) * 2, tf.size(x, tf.int64), tf.rank(x)),
    sizes_of_several=lambda x: tf.shape_n([x, x[:1]]),
    slices_by_tensors_of_sizes=lambda x: (
        x[: tf.shape(x)[0] // 2],
        x[tf.shape(x)[0] - 1 :],
        x[:, tf.shape(x)[1] - 1],
    ),
    slice_by_begin_and_size=lambda x: tf.slice(x, [tf.shape(x)[0] // 2, 0], [-1, tf.shape(x)[1]]),
    strided_slice_by_sizes=lambda x: tf.strided_slice(
        x, [tf.shape(x)[0] - 1, 0], [-100, tf.shape(x)[1]], [-2, 1]
    ),
    static_shape_of_tensors=lambda x: tf.ones(tf.shape(x)).shape[0] * x,
    constant_value_of_a_size=lambda x: x if tf.get_static_value(tf.shape(x)) is None else x * 2.0,
    maximum_of_sizes=lambda x: tf.zeros([tf.maximum(tf.shape(x)[0], tf.shape(x)[1])]),
    equal_sizes_of_tensors=lambda x: x * tf.cast(tf.equal(tf.shape(x)[0], tf.shape(x)[1]), tf.float32),
    shapes_are_equal=lambda x: tf.reduce_all(tf.equal(tf.shape(x), tf.shape(tf.transpose(x)))),
    unstacked_shape=lambda x: [size * 2 for size in tf.unstack(tf.shape(x))],
    dynamic_partition_by_a_size=lambda x: tf.unravel_index(tf.size(x) - 1, tf.shape(x)),
    pad_to_eight=lambda x: tf.pad(x, [[0, tf.maximum(0, 8 - tf.shape(x)[0])], [0, 0]])[:8],
    pad_on_both_sides=lambda x: tf.pad(x, [[(10 - tf.shape(x)[0]) // 2 + 3, 0], [1, 2]], constant_values=5.0),
    pads_by_reflection=lambda x: tf.pad(x, [[x.shape[0] - 1, x.shape[0] - 1], [0, 0]], "REFLECT"),
    pads_by_symmetry=lambda x: tf.pad(x, [[tf.shape(x)[0], 0], [0, 0]], "SYMMETRIC"),
    broadcast_by_a_static_shape=lambda x: tf.broadcast_to(
        x[:1], tf.broadcast_static_shape(x.shape, x[:1].shape)
    ),
    sums_by_segments=lambda x: tf.math.unsorted_segment_sum(x, tf.range(x.shape[0]) % 2, 2),
    segments_of_a_size=lambda x: tf.math.segment_mean(x, tf.range(tf.shape(x)[0]) // 2),
    scatter_of_a_size=lambda x: tf.scatter_nd([[0], [x.shape[0]]], [1.0, 2.0], [x.shape[0] + 1]),
    top_of_a_size=lambda x: tf.math.top_k(x, k=x.shape[1]).values,
    kernel_of_a_size=lambda x: tf.nn.conv1d(x[None], tf.ones((min(2, x.shape[0]), x.shape[1], 2)), 1, "SAME"),
    window_of_a_size=lambda x: tf.nn.avg_pool1d(x[None], min(3, x.shape[0]), 1, "VALID"),
    resizes_by_a_size=lambda x: tf.image.resize(x[None, ..., None], (x.shape[0] * 2, x.shape[1] + 1)),
)

TRAPS.rows(*_PAIRS)(
    size_of_a_pair_is_smaller=lambda a, b: (
        a[: min(a.shape[0], b.shape[0])] + b[: min(a.shape[0], b.shape[0])]
    ),
    size_of_a_pair_decides=lambda a, b: a if a.shape[0] < b.shape[0] else b,
    equal_sizes_decide=lambda a, b: a + b if a.shape == b.shape else tf.concat([a, b], 0),
    pads_the_shorter=lambda a, b: tf.pad(a, [[0, tf.maximum(0, tf.shape(b)[0] - tf.shape(a)[0])], [0, 0]]),
    pads_the_shorter_in_python=lambda a, b: tf.pad(a, [[0, max(0, b.shape[0] - a.shape[0])], [0, 0]]),
    ratio_of_sizes=lambda a, b: (
        a * (b.shape[0] / a.shape[0]) + b.shape[0] // a.shape[0] + b.shape[0] % a.shape[0]
    ),
    sizes_of_a_product=lambda a, b: tf.matmul(a, b, transpose_b=True) / (a.shape[0] - b.shape[0] + 0.5),
    joined_and_split_again=lambda a, b: tf.split(tf.concat([a, b], 0), [a.shape[0], b.shape[0]]),
    joined_and_split_by_tensors=lambda a, b: tf.split(
        tf.concat([a, b], 0), tf.stack([tf.shape(a)[0], tf.shape(b)[0]]), num=2
    ),
    largest_by_its_size=lambda a, b: max(a, b, key=len) * 2.0,
    arrays_are_sorted_by_size=lambda a, b: sorted([a, b], key=lambda t: t.shape[0]),
    pairs_of_sizes_as_keys=lambda a, b: a * {(4, 5): 2.0, (5, 4): 3.0}.get((a.shape[0], b.shape[0]), 1.0),
    compatible_shapes=lambda a, b: a * (2.0 if a.shape.is_compatible_with(b.shape) else 3.0),
)

TRAPS.rows(*_SQUARES)(
    square_by_chance=lambda x: x @ x if x.shape[0] == x.shape[1] else x @ tf.transpose(x),
    transposed_square=lambda x: tf.matmul(x, x, transpose_a=True) + x.shape[1],
    adds_its_transpose=lambda x: x + tf.transpose(x),
    adds_a_row_and_a_column=lambda x: x + x[0] + x[:, :1],
    adds_a_row_along_rows=lambda x: x + x[:, 0],
    column_means_or_row_means=lambda x: x - tf.reduce_mean(x, -1, keepdims=True) + tf.reduce_mean(x, 0),
    squares_in_a_batch=lambda x: tf.linalg.matmul(x[None], tf.stack([x, -x])),
)


@TRAPS.function(*_MANY)
def loop_over_a_size(x: Any) -> Any:
    for place in range(x.shape[0]):
        x = x + place * x[place]
    return x


@TRAPS.function(*_MANY)
def loop_over_half_a_size(x: Any) -> Any:
    total = tf.zeros_like(x[0])
    for place in range(0, x.shape[0] - 1, 2):
        total = total * 0.5 + x[place] - x[place + 1]
    return total, place if x.shape[0] > 1 else None


@TRAPS.function(*_MANY)
def while_over_a_size(x: Any) -> Any:
    width = 1
    while width < x.shape[0]:
        x = x + tf.pad(x, [[width, 0], [0, 0]])[: x.shape[0]]
        width *= 2
    return x


@TRAPS.function(*_MANY)
def halves_until_one_is_left(x: Any) -> Any:
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        x = tf.concat([x[:half] + x[half : 2 * half], x[2 * half :]], 0)
    return x


@TRAPS.function(*_MANY)
def chunks_of_three(x: Any) -> Any:
    return [tf.reduce_sum(x[start : start + 3], 0) for start in range(0, x.shape[0], 3)]


@TRAPS.function(*_MANY)
def loop_with_an_else(x: Any) -> Any:
    for place in range(x.shape[0]):
        if place * place > x.shape[0]:
            break
    else:
        place = -1
    return x * place


@TRAPS.function(*_MANY)
def assertion_on_a_size(x: Any) -> Any:
    assert x.shape[0] > 0, f"{x.shape}"
    assert len(x.shape) == 2
    return x * 2.0


@TRAPS.function(*_MANY, raises={3: "at least two"})
def raises_for_a_size(x: Any) -> Any:
    if x.shape[0] < 2:
        raise ValueError(f"at least two rows, not {x.shape[0]}")
    return x[1] - x[0]


@TRAPS.function(*_MANY, errors={EVERYWHERE: "does not catch errors of operations"})
def size_of_an_exception(x: Any) -> Any:
    try:
        return x[1] + [0.0, 1.0, 2.0][x.shape[0] - 2]
    except (IndexError, tf.errors.InvalidArgumentError):
        return x[0]


@TRAPS.function(
    lambda: (drawn(), 2),
    lambda: (drawn(), 1),
    lambda: (drawn(6), 3),
    lambda: (drawn(6), 4),
    lambda: (drawn(6), 6),
)
def groups_of_a_number(x: Any, groups: int) -> Any:
    size = x.shape[0] // groups
    return tf.reduce_mean(tf.reshape(x[: size * groups], (groups, size, x.shape[1])), 1), size


@TRAPS.function(
    lambda: (drawn(), whole(3, most=4)), lambda: (drawn(6), whole(5, most=6)), lambda: (drawn(6), whole(0))
)
def takes_as_many_as_there_are_places(x: Any, places: Any) -> Any:
    return tf.gather(x, places) * places.shape[0], tf.tensor_scatter_nd_add(
        x, places[:, None], tf.ones((places.shape[0], 3))
    )


@TRAPS.function(
    lambda: (tf.reshape(drawn(4, 6), (2, 3, 4)),), lambda: (tf.reshape(drawn(4, 6), (3, 2, 4)),), lambda: (tf.reshape(drawn(4, 6), (4, 6, 1)),),
    lambda: (tf.reshape(drawn(4, 4), (2, 2, 4)),),
)  # fmt: skip
def heads(x: Any) -> Any:
    batch, time, width = x.shape
    split = tf.transpose(tf.reshape(x, (batch, time, -1, 1 if width == 1 else 2)), (0, 2, 1, 3))
    scores = tf.matmul(split, split, transpose_b=True) / split.shape[-1] ** 0.5
    return tf.reshape(tf.transpose(tf.nn.softmax(scores) @ split, (0, 2, 1, 3)), (batch, time, width))


@TRAPS.function(
    lambda: (tf.reshape(drawn(8, 8), (1, 8, 8, 1)),), lambda: (tf.reshape(drawn(8, 8), (2, 8, 4, 1)),),
    lambda: (tf.reshape(drawn(9, 7), (1, 9, 7, 1)),), lambda: (tf.reshape(drawn(5, 5), (1, 5, 5, 1)),),
)  # fmt: skip
def images_to_patches(x: Any) -> Any:
    rows, columns = x.shape[1] // 2, x.shape[2] // 2
    patches = tf.reshape(x[:, : rows * 2, : columns * 2], (-1, rows, 2, columns, 2, x.shape[-1]))
    pooled = tf.nn.max_pool2d(x, 2, 2, "SAME")
    return tf.transpose(patches, (0, 1, 3, 2, 4, 5)), pooled, pooled.shape[1] - rows
