"""Traps with TensorFlow's maps, scans, folds, while loops, conditions and TensorArrays, with other
structures, sizes and captures.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from .table import EVERYWHERE, Traps, drawn, whole

TRAPS = Traps()
_ROWS = (lambda: (drawn(),), lambda: (drawn(1),), lambda: (drawn(7, seed=2),))
_SIGNS = (
    lambda: (drawn() + 2.0,),
    lambda: (drawn(seed=1) - 2.0,),
    lambda: (drawn(6, seed=2) + 1.0,),
    lambda: (drawn(5, seed=3) * 0.0,),
)
_PAIRS = (
    lambda: (drawn(), whole(4)),
    lambda: (drawn(6, seed=1), whole(6, seed=1)),
    lambda: (drawn(1), whole(1)),
)
_COUNTS = tuple(lambda n=n: (drawn(3, seed=4), tf.constant(n)) for n in (2, 0, 5, 1))
_INDICES = tuple(lambda n=n: (drawn(4, seed=n + 1), tf.constant(n)) for n in (1, 0, 2, 7, -1))
_ENOUGH = (lambda: (drawn(),), lambda: (drawn(2, seed=1),), lambda: (drawn(7, seed=2),))
FLOAT = tf.float32


def _by_kept_boxes(find: Any, **limits: Any) -> Any:
    def step(row: Any) -> Any:
        boxes = tf.stack([tf.constant([0.0, 0.0, 1.0, 1.0]), tf.stack([0.0, row[0], 1.0, row[0] + 1.0])])
        kept = find(boxes=boxes, scores=tf.constant([0.9, 0.8]), max_output_size=2, **limits)
        return tf.cond(tf.shape(kept)[0] > 1, lambda: row * 2.0, lambda: row - 1.0)

    return lambda x: tf.map_fn(step, x)


def _of_overlaps(boxes: Any, **limits: Any) -> Any:
    overlaps = tf.ones((2, 2)) - tf.abs(boxes[:, None, 1] - boxes[:, 1])
    return tf.raw_ops.NonMaxSuppressionWithOverlaps(overlaps=overlaps, score_threshold=0.0, **limits)


# Sizes that are known when the program runs cannot exist in loops of JAX.
TRAPS.rows(*_ROWS, errors={"jax": "compiles loops and branches, so it has to know all sizes"})(
    branch_by_kept_boxes=_by_kept_boxes(tf.raw_ops.NonMaxSuppression, iou_threshold=0.5),
    branch_by_kept_boxes_of_version_2=_by_kept_boxes(tf.raw_ops.NonMaxSuppressionV2, iou_threshold=0.5),
    branch_by_kept_boxes_of_overlaps=_by_kept_boxes(_of_overlaps, overlap_threshold=0.5),
)
TRAPS.rows(*_ROWS)(
    map_to_a_scalar=lambda x: tf.map_fn(tf.reduce_sum, x),
    map_to_a_longer_row=lambda x: tf.map_fn(lambda row: tf.concat([row, row[:1]], 0), x),
    map_to_a_matrix=lambda x: tf.map_fn(lambda row: row[:, None] * row, x),
    map_to_another_type=lambda x: tf.map_fn(
        lambda row: tf.cast(row * 3, tf.int32), x, fn_output_signature=tf.int32
    ),
    map_to_a_tuple=lambda x: tf.map_fn(
        lambda row: (row[0], row * 2.0), x, fn_output_signature=(FLOAT, FLOAT)
    ),
    map_of_a_tuple=lambda x: tf.map_fn(
        lambda pair: pair[0] * pair[1][::-1], (x, -x), fn_output_signature=FLOAT
    ),
    map_of_a_dict=lambda x: tf.map_fn(
        lambda tree: tree["a"] - tree["b"], {"a": x, "b": x[::-1]}, fn_output_signature=FLOAT
    ),
    map_over_numbers=lambda x: tf.map_fn(
        lambda i: x[i] * tf.cast(i, FLOAT), tf.range(tf.shape(x)[0]), fn_output_signature=FLOAT
    ),
    map_over_columns=lambda x: tf.transpose(tf.map_fn(tf.math.cumsum, tf.transpose(x))),
    map_with_a_branch=lambda x: tf.map_fn(
        lambda row: tf.cond(row[0] > 0, lambda: row * 2.0, lambda: row - 1.0), x
    ),
    map_in_a_scan=lambda x: tf.scan(lambda s, row: s * 0.5 + tf.map_fn(lambda v: v * v, row), x),
    map_of_parallel_steps=lambda x: tf.map_fn(
        tf.tanh, x, parallel_iterations=1, swap_memory=True, infer_shape=False
    ),
    map_captures_what_it_maps=lambda x: tf.map_fn(lambda row: tf.reduce_sum(x * row, 1)[:1], x),
    map_by_a_size=lambda x: tf.map_fn(lambda row: row / x.shape[0], x),
    map_of_the_sizes_of_a_row=lambda x: tf.map_fn(
        lambda row: row * row.shape[0] + tf.cast(tf.size(row), FLOAT), x
    ),
    map_asks_for_the_size_of_a_row=lambda x: tf.map_fn(
        lambda row: row * (2.0 if row.shape[0] == 3 else 5.0), x
    ),
    map_of_a_matrix_in_a_batch=lambda x: tf.map_fn(
        lambda m: tf.linalg.trace(m), tf.stack([x @ tf.transpose(x)] * 2)
    ),
    map_with_a_default_of_python=lambda x: tf.map_fn(lambda row, k=2.0: row * k, x),
    vectorized_map_of_rows=lambda x: tf.vectorized_map(
        lambda row: tf.nn.softmax(row) * tf.reduce_max(row), x
    ),
    vectorized_map_of_a_tuple=lambda x: tf.vectorized_map(
        lambda pair: (pair[0] + pair[1], tf.reduce_sum(pair[0])), (x, x * 2.0)
    ),
    vectorized_map_of_a_product=lambda x: tf.vectorized_map(
        lambda row: tf.linalg.matvec(tf.transpose(x), tf.linalg.matvec(x, row)), x
    ),
    vectorized_map_in_a_vectorized_map=lambda x: tf.vectorized_map(
        lambda row: tf.vectorized_map(lambda v: v * tf.reduce_sum(row), row), x
    ),
    vectorized_map_with_where=lambda x: tf.vectorized_map(
        lambda row: tf.where(row > 0, row, tf.reduce_min(row)), x
    ),
    vectorized_map_of_a_gather=lambda x: tf.vectorized_map(
        lambda i: tf.gather(x, i) * 2.0, tf.range(tf.shape(x)[0])
    ),
    vectorized_map_of_a_constant=lambda x: tf.vectorized_map(lambda row: tf.constant(5.0), x),
    scan_of_a_scalar=lambda x: tf.scan(lambda s, v: s * 0.5 + v, x[:, 0], 0.0),
    scan_of_whole_numbers=lambda x: tf.scan(lambda s, i: s + i, tf.range(tf.shape(x)[0])),
    scan_of_a_tuple=lambda x: tf.scan(lambda s, row: (s[0] + row, s[1] * 2), x, (tf.zeros(3), 1)),
    scan_of_a_dict=lambda x: tf.scan(
        lambda s, row: {"a": s["a"] * 0.5 + row["r"], "n": s["n"] + 1}, {"r": x}, {"a": tf.zeros(3), "n": 0}
    ),
    scan_backwards_of_a_scalar=lambda x: tf.scan(lambda s, v: s * 0.5 + v, x[:, 1], 1.0, reverse=True),
    scan_of_matrices=lambda x: tf.scan(
        lambda s, row: s @ (row[:, None] * row) * 0.1 + tf.eye(3), x, tf.eye(3)
    ),
    scan_with_a_branch=lambda x: tf.scan(
        lambda s, v: tf.cond(v > 0, lambda: s + v, lambda: s * 0.5), x[:, 0], 0.0
    ),
    scan_takes_the_largest=lambda x: tf.scan(tf.maximum, x),
    scan_keeps_the_type=lambda x: tf.scan(lambda s, v: s | v, x[:, 0] > 1.0),
    scan_of_the_first_element=lambda x: tf.scan(lambda s, row: row - s, x),
    fold_of_a_scalar=lambda x: tf.foldl(lambda s, v: s * 0.5 + v, x[:, 0]),
    fold_from_the_right=lambda x: tf.foldr(lambda s, row: s * 0.5 + row, x),
    fold_of_a_tuple=lambda x: tf.foldl(lambda s, row: (s[0] + row, s[1] + 1), x, (tf.zeros(3), 0)),
    fold_to_another_shape=lambda x: tf.foldl(lambda s, row: s + row[:, None] * row, x, tf.zeros((3, 3))),
    fold_by_horner=lambda x: tf.foldr(lambda s, v: s * 0.3 + v, x[:, 0], 0.0),
)


def _positive(row: Any) -> Any:
    return tf.boolean_mask(row, row > 0)


def _by_count(row: Any) -> Any:
    count = tf.size(_positive(row))
    return tf.switch_case(count, [lambda: row * 0.0, lambda: row + 1.0, lambda: -row, lambda: row * row])


# The size that chooses the branch is another one in each iteration, and is 0 in some of the recorded call.
_FEW = (
    lambda: (drawn(seed=3) - 0.5,),
    lambda: (drawn(6, seed=1) - 1.0,),
    lambda: (drawn(5, seed=2) * 0.0,),
    lambda: (drawn(7, seed=3),),
)
TRAPS.rows(*_FEW)(map_with_a_case_of_what_a_mask_finds=lambda x: tf.map_fn(_by_count, x))
TRAPS.rows(*_FEW, errors={"jax": "depends on elements"})(
    map_with_a_branch_on_what_a_mask_finds=lambda x: tf.map_fn(
        lambda row: tf.cond(
            tf.size(_positive(row)) > 0, lambda: tf.reduce_min(_positive(row)), lambda: -row[0]
        ),
        x,
    ),
    scan_with_a_branch_on_the_unique_elements=lambda x: tf.scan(
        lambda s, row: tf.cond(tf.size(tf.unique(tf.round(row)).y) > 1, lambda: s + row, lambda: s * 0.5),
        x,
        tf.zeros(3),
    ),
)

TRAPS.rows(*_COUNTS)(
    while_to_a_tensor=lambda x, n: tf.while_loop(
        lambda i, y: i < n, lambda i, y: (i + 1, y * 0.5 + 1.0), (0, x)
    )[1],
    while_of_one=lambda x, n: tf.while_loop(lambda y: tf.reduce_sum(y) < 10.0, lambda y: (y + 1.0,), (x,)),
    while_of_a_dict=lambda x, n: tf.while_loop(
        lambda s: s["i"] < n, lambda s: ({"i": s["i"] + 1, "y": s["y"] * 0.5},), ({"i": 0, "y": x},)
    ),
    while_with_a_limit_of_a_tensor=lambda x, n: tf.while_loop(
        lambda i, y: True, lambda i, y: (i + 1, y * 0.5), (0, x), maximum_iterations=n
    ),
    while_with_invariants=lambda x, n: tf.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, y * 0.5),
        (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 3])),
    ),
    while_counts_down=lambda x, n: tf.while_loop(
        lambda i, y: i > 0, lambda i, y: (i - 1, y + tf.cast(i, FLOAT)), (n, x)
    ),
    while_counts_by_two=lambda x, n: tf.while_loop(
        lambda i, y: i < 2 * n, lambda i, y: (i + 2, y + tf.cast(i, FLOAT)), (0, x)
    ),
    while_in_a_while=lambda x, n: tf.while_loop(
        lambda i, y: i < n,
        lambda i, y: (
            i + 1,
            tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * 0.9), (0, y))[1] + 1.0,
        ),
        (0, x),
    ),
    while_with_a_branch=lambda x, n: tf.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, tf.cond(i % 2 == 0, lambda: y * 0.5, lambda: y + 1.0)),
        (0, x),
    ),
    while_of_floats=lambda x, n: tf.while_loop(
        lambda t, y: t < tf.cast(n, FLOAT), lambda t, y: (t + 0.5, y * 0.9), (0.0, x)
    ),
    while_of_long_integers=lambda x, n: tf.while_loop(
        lambda i, y: i < tf.cast(n, tf.int64), lambda i, y: (i + 1, y + 1.0), (tf.constant(0, tf.int64), x)
    ),
    while_doubles=lambda x, n: tf.while_loop(
        lambda i, y: i < 100, lambda i, y: (i * 2, y + tf.cast(n, FLOAT)), (1, x)
    ),
    while_with_two_counters=lambda x, n: tf.while_loop(
        lambda i, j, y: i < n, lambda i, j, y: (i + 1, j - 2, y + tf.cast(j, FLOAT)), (0, 9, x)
    ),
    while_passes_on=lambda x, n: tf.while_loop(
        lambda i, y, z: i < n, lambda i, y, z: (i + 1, z, y), (0, x, -x)
    ),
    while_that_is_false=lambda x, n: tf.while_loop(lambda i, y: False, lambda i, y: (i + 1, y * 0.0), (n, x)),
    while_reads_rows=lambda x, n: tf.while_loop(
        lambda i, s: i < tf.shape(x)[0], lambda i, s: (i + 1, s * 0.5 + x[i]), (0, tf.zeros(3))
    ),
    steps_of_python_around=lambda x, n: [
        tf.while_loop(lambda i, y: i < n, lambda i, y, k=k: (i + 1, y * k), (0, x))[1] for k in (0.5, 2.0)
    ],
)

TRAPS.rows(*_INDICES)(
    switch_by_a_tensor=lambda x, n: tf.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: x - 1.0]),
    switch_by_a_dict=lambda x, n: tf.switch_case(
        n, {1: lambda: x, 0: lambda: x * 2.0}, default=lambda: x * 5.0
    ),
    switch_of_a_structure=lambda x, n: tf.switch_case(
        n, [lambda: (x, x[0]), lambda: (x * 2.0, x[1]), lambda: (-x, x[2])]
    ),
    switch_of_functions_of_a_loop=lambda x, n: tf.switch_case(
        n, [functools.partial(lambda k: x * k, float(k)) for k in range(3)]
    ),
    case_by_comparisons=lambda x, n: tf.case(
        [(n < 0, lambda: x), (n < 2, lambda: x * 2.0)], default=lambda: x * 5.0
    ),
    case_without_a_default=lambda x, n: tf.case([(n < 1, lambda: x), (n >= 1, lambda: x * 2.0)]),
    case_that_is_exclusive=lambda x, n: tf.case(
        [(n < 1, lambda: x), (n > 1, lambda: x * 2.0)], default=lambda: -x, exclusive=True
    ),
    cond_by_an_index=lambda x, n: tf.cond(n > 1, lambda: x[1], lambda: x[0]),
    cond_in_a_cond=lambda x, n: tf.cond(
        n > 0, lambda: tf.cond(n > 1, lambda: x, lambda: x * 2.0), lambda: x * 3.0
    ),
    cond_with_true_fn=lambda x, n: tf.cond(pred=n > 0, true_fn=lambda: x * 2.0, false_fn=lambda: x, name="c"),
    cond_by_python=lambda x, n: tf.cond(x.shape[0] > 3, lambda: x * 2.0, lambda: x * tf.cast(n, FLOAT)),
    cond_that_captures_a_cond=lambda x, n: (lambda y: tf.cond(n > 1, lambda: y + x, lambda: y - x))(
        tf.cond(n > 0, lambda: x * 2.0, lambda: -x)
    ),
    cond_of_whole_numbers=lambda x, n: tf.cond(n > 0, lambda: n + 1, lambda: n * 2),
    cond_of_nothing=lambda x, n: (tf.cond(n > 0, lambda: x[:0], lambda: x[:0]), x),
    cond_of_a_slice=lambda x, n: tf.cond(n > 0, lambda: x[:2], lambda: x[2:4]),
    where_instead_of_cond=lambda x, n: tf.where(n > 0, x, -x) + tf.where(tf.equal(n, 2), 1.0, 2.0),
    gather_by_a_wrapped_index=lambda x, n: tf.gather(x, n % tf.shape(x)[0]),
    clipped_index=lambda x, n: x[tf.clip_by_value(n, 0, tf.shape(x)[0] - 1)],
    one_hot_selects=lambda x, n: tf.reduce_sum(tf.one_hot(n, 4)[:, None] * x, 0),
)

TRAPS.rows(*_PAIRS)(
    segments_by_a_tensor=lambda x, n: tf.math.unsorted_segment_sum(x, n, 5),
    rows_by_where=lambda x, n: tf.gather_nd(x, tf.where(n > 1)),
    scatter_by_a_tensor=lambda x, n: tf.scatter_nd(n[:, None], x, (5, 3)),
    updates_by_a_tensor=lambda x, n: tf.tensor_scatter_nd_max(tf.zeros((5, 3)), n[:, None], x),
    sorted_by_a_tensor=lambda x, n: tf.gather(x, tf.argsort(n, stable=True)),
    map_of_both=lambda x, n: tf.map_fn(
        lambda pair: pair[0] * tf.cast(pair[1], FLOAT), (x, n), fn_output_signature=FLOAT
    ),
    scan_of_both=lambda x, n: tf.scan(
        lambda s, pair: s + pair[0] * tf.cast(pair[1] % 2, FLOAT), (x, n), tf.zeros(3)
    ),
    partition_by_a_tensor=lambda x, n: tf.dynamic_partition(x, n % 2, 2),
    stitched_again=lambda x, n: tf.dynamic_stitch(
        [tf.range(tf.shape(x)[0])], [x * tf.cast(n, FLOAT)[:, None]]
    ),
    one_hot_product=lambda x, n: tf.matmul(tf.one_hot(n, 5), x, transpose_a=True),
    unique_with_counts=lambda x, n: tf.unique_with_counts(n),
    sparse_loss=lambda x, n: tf.nn.sparse_softmax_cross_entropy_with_logits(n % 3, x),
    lookup_with_a_default=lambda x, n: tf.where(
        n < 3, tf.gather(tf.constant([1.0, 2.0, 3.0]), tf.minimum(n, 2)), -1.0
    ),
)


@TRAPS.function(*_ROWS)
def array_is_unstacked_and_stacked(x: Any) -> Any:
    return tf.TensorArray(FLOAT, size=0, dynamic_size=True).unstack(x).stack() * 2.0


@TRAPS.function(*_ROWS)
def array_of_python_steps(x: Any) -> Any:
    made = tf.TensorArray(FLOAT, size=3)
    for place in range(3):
        made = made.write(place, x[:, place] * place)
    return made.stack(), made.size()


@TRAPS.function(*_ROWS)
def array_keeps_its_old_self(x: Any) -> Any:
    made = tf.TensorArray(FLOAT, size=2, clear_after_read=False).write(0, x[0]).write(1, -x[0])
    return made.read(0), made.stack(), made.gather([1])


@TRAPS.function(*_ROWS)
@tf.function
def array_in_a_tuple_of_a_loop(x: Any) -> Any:
    def body(i: Any, made: Any) -> Any:
        return i + 1, (made[0].write(i, x[i]), made[1].write(i, i))

    rows = tf.shape(x)[0]
    start = (tf.TensorArray(FLOAT, rows), tf.TensorArray(tf.int32, rows))
    _, (first, second) = tf.while_loop(lambda i, made: i < rows, body, (0, start))
    return first.stack(), second.stack()


@TRAPS.function(*_ROWS)
@tf.function
def array_of_scalars(x: Any) -> Any:
    made = tf.TensorArray(FLOAT, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(place, tf.reduce_max(x[place]))
    return made.stack()


@TRAPS.function(*_ROWS)
@tf.function
def array_that_is_read_backwards(x: Any) -> Any:
    rows = tf.TensorArray(FLOAT, size=tf.shape(x)[0], clear_after_read=False).unstack(x)
    made = tf.TensorArray(FLOAT, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(place, rows.read(tf.shape(x)[0] - 1 - place))
    return made.stack()


@TRAPS.function(*_ROWS, errors={EVERYWHERE: "grows in a loop whose number of steps is not known"})
@tf.function
def array_of_running_sums(x: Any) -> Any:
    made, total = tf.TensorArray(FLOAT, size=0, dynamic_size=True), tf.zeros((3,))
    for row in x:
        total += row
        made = made.write(made.size(), total)
    return made.stack()


@TRAPS.function(*_ROWS)
@tf.function
def array_of_matrices(x: Any) -> Any:
    made = tf.TensorArray(FLOAT, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(place, x[place][:, None] * x[place])
    return tf.reduce_sum(made.stack(), 0), made.concat()


@TRAPS.function(*_ROWS)
@tf.function
def arrays_of_two_loops(x: Any) -> Any:
    first = tf.TensorArray(FLOAT, size=tf.shape(x)[0], clear_after_read=False)
    for place in tf.range(tf.shape(x)[0]):
        first = first.write(place, x[place] * 2.0)
    second = tf.TensorArray(FLOAT, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x)[0]):
        second = second.write(place, first.read(place) + 1.0)
    return second.stack()


@TRAPS.function(*_ROWS)
@tf.function
def array_that_is_never_written(x: Any) -> Any:
    made = tf.TensorArray(FLOAT, size=2, element_shape=(3,))
    return made.stack() + x[0]


@TRAPS.function(*_ROWS)
@tf.function
def array_of_booleans(x: Any) -> Any:
    made = tf.TensorArray(tf.bool, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(place, x[place, 0] > 0)
    return made.stack(), tf.reduce_any(made.stack())


@TRAPS.function(*_COUNTS)
@tf.function
def array_of_a_tensor_of_steps(x: Any, n: Any) -> Any:
    made = tf.TensorArray(FLOAT, size=n, element_shape=(3, 3))
    for k in tf.range(n):
        made = made.write(k, x * tf.cast(k, FLOAT))
    return made.stack()


@TRAPS.function(*_SIGNS, errors={EVERYWHERE: "the branches give arrays of other shapes"})
@tf.function
def array_that_grows_by_a_condition(x: Any) -> Any:
    made = tf.TensorArray(FLOAT, size=0, dynamic_size=True)
    for row in x:
        if row[0] > 0:
            made = made.write(made.size(), row)
    return made.stack()


@TRAPS.function(*_ROWS)
@tf.function
def decodes_greedily(x: Any) -> Any:
    tokens = tf.TensorArray(tf.int32, size=5)
    token, state = tf.constant(0), tf.reduce_mean(x, 0)
    for step in tf.range(5):
        state = tf.tanh(state + tf.one_hot(token, 3))
        token = tf.argmax(state, output_type=tf.int32)
        tokens = tokens.write(step, token)
    return tokens.stack(), state


@TRAPS.function(*_ROWS)
@tf.function
def viterbi(x: Any) -> Any:
    scores, back = x[0], tf.TensorArray(tf.int32, size=tf.shape(x)[0] - 1, element_shape=(3,))
    moves = tf.constant([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]])
    for t in tf.range(1, tf.shape(x)[0]):
        candidates = scores[:, None] + moves
        back = back.write(t - 1, tf.argmax(candidates, 0, tf.int32))
        scores = tf.reduce_max(candidates, 0) + x[t]
    return scores, back.stack()


@TRAPS.function(*_COUNTS)
@tf.function
def power_iteration(x: Any, n: Any) -> Any:
    v, steps = tf.ones((3,)) / 3.0, tf.constant(0)
    while steps < n + 1:
        v = tf.linalg.matvec(x @ tf.transpose(x), v)
        v = v / tf.norm(v)
        steps += 1
    return v, tf.tensordot(v, tf.linalg.matvec(x @ tf.transpose(x), v), 1)


@TRAPS.function(*_PAIRS)
@tf.function
def edit_distance(x: Any, n: Any) -> Any:
    row = tf.range(tf.shape(n)[0] + 1)
    for i in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(row, tf.TensorShape([None]))])
        made = tf.TensorArray(tf.int32, size=tf.shape(n)[0] + 1, clear_after_read=False)
        made = made.write(0, i + 1)
        for j in tf.range(tf.shape(n)[0]):
            cost = tf.cast(n[j] != i, tf.int32)
            made = made.write(j + 1, tf.minimum(tf.minimum(made.read(j) + 1, row[j + 1] + 1), row[j] + cost))
        row = made.stack()
    return row


@TRAPS.function(*_ROWS)
def map_with_a_counter_outside(x: Any) -> Any:
    traces = []

    def one(row: Any) -> Any:
        traces.append(row)
        return row * 2.0

    return tf.map_fn(one, x)[:1] if x.shape[0] else x


@TRAPS.function(*_ROWS)
def python_numbers_in_a_map(x: Any) -> Any:
    table = np.arange(3, dtype="float32")
    return tf.map_fn(lambda row: tf.tensordot(row, table, 1) + len(table), x)


@TRAPS.function(*_ROWS)
def control_dependencies_of_nothing(x: Any) -> Any:
    with tf.control_dependencies([x * 2.0, tf.no_op()]), tf.name_scope("a") as scope, tf.device(None):
        return tf.identity(x) + len(scope)


@TRAPS.function(*_ROWS)
def grouped_operations(x: Any) -> Any:
    with tf.control_dependencies([tf.group(x + 1.0, x * 2.0)]):
        y = tf.identity(x)
    return tf.tuple([y, y * 2.0]), tf.stop_gradient(y), tf.ensure_shape(y, [None, 3])


@TRAPS.function(*_SIGNS)
def cond_of_python_structures(x: Any) -> Any:
    chosen = tf.cond(x[0, 0] > 0, lambda: {"k": (x, [x[0]])}, lambda: {"k": (x * 2.0, [x[1]])})
    return chosen["k"][0] + chosen["k"][1][0]


@TRAPS.function(*_SIGNS, errors={EVERYWHERE: "structured_loops.py"})
def cond_with_a_python_function(x: Any) -> Any:
    return tf.cond(x[0, 0] > 0, lambda: tf.py_function(lambda y: y * 2.0, [x], FLOAT), lambda: x)


def _rows_of(x: Any, length: Any) -> Any:
    """Return a list of ``length`` rows, of which the first two are written."""
    rows = tf.raw_ops.TensorListReserve(element_shape=[3], num_elements=length, element_dtype=FLOAT)
    for place in range(2):
        rows = tf.raw_ops.TensorListSetItem(input_handle=rows, index=place, item=x[place])
    return rows


def _stacked(rows: Any) -> Any:
    return tf.raw_ops.TensorListStack(input_handle=rows, element_shape=[3], element_dtype=FLOAT)


@TRAPS.function(*_ENOUGH)
def list_pops_rows_that_nothing_has_written(x: Any) -> Any:
    rows, popped = _rows_of(x, 3), []
    for _ in range(2):
        rows, row = tf.raw_ops.TensorListPopBack(input_handle=rows, element_shape=[3], element_dtype=FLOAT)
        popped.append(row)
    return popped, _stacked(rows)


@TRAPS.function(*_ENOUGH)
def list_of_a_size_pops_a_row(x: Any) -> Any:
    rows = _rows_of(x, tf.shape(x)[0])
    rows, row = tf.raw_ops.TensorListPopBack(input_handle=rows, element_shape=[3], element_dtype=FLOAT)
    return row, _stacked(rows)


@TRAPS.function(*_ENOUGH)
def list_is_cut_and_made_longer(x: Any) -> Any:
    rows = tf.raw_ops.TensorListResize(input_handle=_rows_of(x, 2), size=1)
    return _stacked(tf.raw_ops.TensorListResize(input_handle=rows, size=tf.shape(x)[0]))


def _pushed(rows: Any, x: Any) -> Any:
    """Return the list ``rows`` with a row more for each row of ``x``."""
    count = tf.shape(x)[0]
    return tf.while_loop(
        lambda place, rows: place < count,
        lambda place, rows: (
            place + 1,
            tf.raw_ops.TensorListPushBack(input_handle=rows, tensor=x[place] * 2.0),
        ),
        (0, rows),
    )[1]


@TRAPS.function(*_ENOUGH)
def loop_pushes_to_a_list_with_rows(x: Any) -> Any:
    empty = tf.raw_ops.EmptyTensorList(element_shape=[3], max_num_elements=-1, element_dtype=FLOAT)
    one = tf.raw_ops.TensorListPushBack(input_handle=empty, tensor=x[1])
    return _stacked(_pushed(empty, x)), _stacked(_pushed(one, x)), _stacked(_pushed(_rows_of(x, 2), x))


@TRAPS.function(*_ENOUGH)
def loop_pushes_to_a_list_with_unwritten_rows(x: Any) -> Any:
    return _stacked(_pushed(_rows_of(x, 3), x)), _stacked(_pushed(_rows_of(x, tf.shape(x)[0]), x))


_STEPS = tuple(lambda count=count: (drawn(), drawn(count)) for count in (3, 0, 5, 0))


@TRAPS.function(*_STEPS, variants=2)
@tf.function
def loop_overwrites_a_row(x: Any, steps: Any) -> Any:
    last = tf.TensorArray(tf.float32, size=1, clear_after_read=False, element_shape=(3,)).write(0, x[1])
    for place in tf.range(tf.shape(steps)[0]):
        last = last.write(0, x[0] * tf.cast(place, tf.float32))
    return last.stack()


@TRAPS.function(*_STEPS, variants=2)
@tf.function
def loop_overwrites_a_row_with_what_it_carries(x: Any, steps: Any) -> Any:
    last = tf.TensorArray(tf.float32, size=1, clear_after_read=False, element_shape=(3,)).write(0, x[1])
    total = tf.zeros([3])
    for _ in tf.range(tf.shape(steps)[0]):
        total = total + x[0]
        last = last.write(0, total)
    return last.stack(), total


@TRAPS.function(*_STEPS[1:])
@tf.function
def loop_without_steps_overwrites_a_row(x: Any, steps: Any) -> Any:
    return loop_overwrites_a_row(x, steps)
