"""Traps with loops, branches and TensorArrays, in TensorFlow's functions and in Python under AutoGraph."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .table import EVERYWHERE, Traps

TRAPS = Traps()


@TRAPS.function()
@tf.function
def writes_in_order(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(place, x[place] * 2.0)
    return made.stack()


@TRAPS.function()
@tf.function
def writes_backwards(x: Any) -> Any:
    rows = tf.shape(x)[0]
    made, state = tf.TensorArray(tf.float32, size=rows), tf.zeros_like(x[0])
    for place in tf.range(rows):
        state = state * 0.5 + x[place]
        made = made.write(rows - 1 - place, state)
    return made.stack()


@TRAPS.function()
@tf.function
def writes_at_computed_places(x: Any) -> Any:
    order = tf.argsort(x[:, 0])
    made = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(order[place], x[place])
    return made.stack()


@TRAPS.function()
@tf.function
def reads_what_it_wrote(x: Any) -> Any:
    rows = tf.shape(x)[0]
    made = tf.TensorArray(tf.float32, size=rows + 1, clear_after_read=False, element_shape=(3,))
    made = made.write(0, tf.ones_like(x[0]))
    for place in tf.range(rows):
        made = made.write(place + 1, made.read(place) * 0.5 + x[place])
    return made.stack(), made.read(rows), made.gather([0, 1]), made.size()


@TRAPS.function()
@tf.function
def writes_every_second_row(x: Any) -> Any:
    rows = tf.shape(x)[0]
    made = tf.TensorArray(tf.float32, size=2 * rows, element_shape=(3,))
    for place in tf.range(rows):
        made = made.write(2 * place, x[place])
        made = made.write(2 * place + 1, -x[place])
    return made.stack()


@TRAPS.function()
@tf.function
def writes_some_rows_only(x: Any) -> Any:
    rows = tf.shape(x)[0]
    made = tf.TensorArray(tf.float32, size=rows, element_shape=(3,))
    for place in tf.range(0, rows, 2):
        made = made.write(place, x[place])
    return made.stack()


@TRAPS.function()
@tf.function
def writes_in_a_branch(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=tf.shape(x)[0], element_shape=(3,))
    for place in tf.range(tf.shape(x)[0]):
        if x[place, 0] > 0:
            made = made.write(place, x[place])
        else:
            made = made.write(place, tf.zeros((3,)))
    return made.stack()


@TRAPS.function()
@tf.function
def writes_while_a_condition_holds(x: Any) -> Any:
    made, place = tf.TensorArray(tf.float32, size=4, element_shape=(3,)), 0
    while place < 4 and tf.reduce_sum(x) < 1000.0:
        made = made.write(place, tf.reduce_sum(x, 0))
        place += 1
        x = x * 1.1
    return made.stack()


@TRAPS.function()
@tf.function
def array_that_grows(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(place, x[place] + 1.0)
    return made.stack()


@TRAPS.function(errors={EVERYWHERE: "grows in a loop whose number of steps is not known"})
@tf.function
def array_that_grows_until(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=())
    place = 0
    while tf.reduce_sum(tf.abs(x)) < 100.0:
        made = made.write(place, tf.reduce_sum(x))
        x = x * 1.5
        place += 1
    return made.stack()


@TRAPS.function()
def filled_outside_of_loops(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    made = made.write(1, x[0]).write(0, x[1]).write(2, x[0] + x[1])
    return made.stack(), made.read(1), made.concat() if False else made.gather([2, 0])


@TRAPS.function()
def unstacks_and_gathers(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=x.shape[0], clear_after_read=False).unstack(x)
    return rows.gather([1, 0]), rows.read(2), rows.size(), rows.stack() * 2.0


@TRAPS.function()
def scatters(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=3).scatter([2, 0, 1], x[:3])
    return made.stack()


@TRAPS.function()
def scatters_beyond_the_end(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=2, dynamic_size=True).scatter([0, 3], x[:2])
    return made.stack(), made.scatter([5, 1], x[1:3]).stack()


@TRAPS.function()
@tf.function
def scatters_beyond_the_end_of_an_array(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=0, dynamic_size=True).unstack(x)
    size = tf.shape(x)[0]
    return made.scatter([0, 2], x[:2] * 2.0).stack(), made.scatter([0, size], x[1:3]).stack()


@TRAPS.function(errors={EVERYWHERE: "the length of a TensorArray depends on elements of arrays"})
def scatters_beyond_the_end_at_computed_places(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=2, dynamic_size=True, element_shape=(3,))
    return made.scatter(tf.argsort(x[:2, 0]) + 2, x[:2]).stack()


@TRAPS.function()
def concatenates_a_list(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=2, infer_shape=False)
    made = made.write(0, x).write(1, x * 2.0)
    return made.concat()


@TRAPS.function()
@tf.function
def concatenates_after_a_loop(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=3, element_shape=(None, 3))
    for place in tf.range(3):
        made = made.write(place, x * tf.cast(place, tf.float32))
    return made.concat()


@TRAPS.function()
def splits_into_a_list(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [1, x.shape[0] - 1])
    return made.read(0) + 1.0, made.read(1)


@TRAPS.function()
def maps(x: Any) -> Any:
    return tf.map_fn(lambda row: row * tf.reduce_sum(row), x)


@TRAPS.function()
def maps_several(x: Any) -> Any:
    return tf.map_fn(
        lambda rows: {"sum": rows[0] + rows[1], "count": tf.cast(tf.reduce_sum(rows[0]), tf.int32)}, (x, x * 2.0),
        fn_output_signature={"sum": tf.float32, "count": tf.int32},
    )  # fmt: skip


@TRAPS.function()
def maps_to_another_shape(x: Any) -> Any:
    return tf.map_fn(
        lambda place: x[place, 0] * tf.ones((2, 2)),
        tf.range(tf.shape(x)[0]),
        fn_output_signature=tf.TensorSpec((2, 2), tf.float32),
    )


@TRAPS.function()
def maps_in_a_map(x: Any) -> Any:
    return tf.map_fn(lambda row: tf.map_fn(lambda one: one * tf.reduce_max(row), row), x)


@TRAPS.function()
def maps_by_vectors(x: Any) -> Any:
    return tf.vectorized_map(lambda row: tf.tensordot(row, row, 1) + row, x)


@TRAPS.function()
def maps_by_vectors_with_a_closure(x: Any) -> Any:
    return tf.vectorized_map(
        lambda pair: tf.linalg.matvec(tf.transpose(x), x[:, 0]) * pair[0] + pair[1], (x, x * 2.0)
    )


@TRAPS.function()
def scans(x: Any) -> Any:
    return tf.scan(lambda state, row: state * 0.5 + row, x)


@TRAPS.function()
def scans_with_a_start(x: Any) -> Any:
    return tf.scan(
        lambda state, row: (state[0] + row, state[1] * tf.reduce_mean(row)), x, (tf.zeros((3,)), 1.0)
    )


@TRAPS.function()
def scans_backwards(x: Any) -> Any:
    return tf.scan(lambda state, row: state * 0.5 + row, x, tf.ones((3,)), reverse=True)


@TRAPS.function()
def folds(x: Any) -> Any:
    return tf.foldl(lambda state, row: state * 0.5 + row, x), tf.foldr(
        lambda state, row: state * 0.5 + row, x, tf.ones((3,))
    )


@TRAPS.function()
def while_loop_of_tensorflow(x: Any) -> Any:
    return tf.while_loop(lambda count, y: count < 4, lambda count, y: (count + 1, tf.tanh(y) + 0.1), (0, x))


@TRAPS.function()
def while_loop_of_a_structure(x: Any) -> Any:
    start = {"x": x, "pair": (tf.constant(0), [tf.reduce_sum(x)])}

    def body(state: Any) -> Any:
        return ({"x": state["x"] * 1.1, "pair": (state["pair"][0] + 1, [state["pair"][1][0] * 0.9])},)

    return tf.while_loop(lambda state: state["pair"][0] < 3, body, (start,))


@TRAPS.function()
def while_loop_with_arrays(x: Any) -> Any:
    def body(place: Any, source: Any, made: Any) -> Any:
        return place - 1, source, made.write(place, source.read(place) * 2.0)

    rows = tf.shape(x)[0]
    source = tf.TensorArray(tf.float32, size=rows).unstack(x)
    start = (rows - 1, source, tf.TensorArray(tf.float32, size=rows, element_shape=(3,)))
    return tf.while_loop(lambda place, *_: place >= 0, body, start)[2].stack()


@TRAPS.function()
def loop_that_counts_down(x: Any) -> Any:
    return tf.while_loop(
        lambda count, y: count > 0,
        lambda count, y: (count - 1, y + tf.cast(count, tf.float32)),
        (tf.shape(x)[0], x),
    )


@TRAPS.function()
def loop_of_no_steps(x: Any) -> Any:
    return tf.while_loop(
        lambda count, y: count < tf.shape(x)[0] - 4, lambda count, y: (count + 1, y * 2.0), (0, x)
    )


@TRAPS.function()
def loop_with_a_limit(x: Any) -> Any:
    return tf.while_loop(
        lambda y: tf.reduce_sum(tf.abs(y)) < 1000.0, lambda y: (y * 1.5,), (x,), maximum_iterations=3
    )


@TRAPS.function(errors={EVERYWHERE: "what a loop carries keeps its shape"})
def shape_changes_in_a_loop(x: Any) -> Any:
    return tf.while_loop(
        lambda count, y: count < 2, lambda count, y: (count + 1, tf.concat([y, y[:1]], 0)), (0, x),
        shape_invariants=(tf.TensorShape(()), tf.TensorShape((None, 3))),
    )  # fmt: skip


@TRAPS.function()
@tf.function
def breaks_and_continues(x: Any) -> Any:
    total = tf.zeros((3,))
    for place in tf.range(tf.shape(x)[0]):
        if x[place, 0] < 0:
            continue
        total += x[place]
        if tf.reduce_sum(total) > 3.0:
            break
    return total


@TRAPS.function()
@tf.function
def finds_the_first_row(x: Any) -> Any:
    found = tf.zeros((3,))
    for row in x:
        if row[0] > 0.5:
            found = row
            break
    return found


@TRAPS.function()
@tf.function
def loop_in_a_loop(x: Any) -> Any:
    total = 0.0
    for row in x:
        for one in row:
            total = total * 0.9 + one
    return total


@TRAPS.function()
@tf.function
def branch_in_a_loop_in_a_branch(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        for place in tf.range(tf.shape(x)[0]):
            if x[place, 0] > 0:
                x = x * 1.1
            else:
                x = x - 0.1
    return x


@TRAPS.function()
@tf.function
def variable_of_a_loop_is_kept(x: Any) -> Any:
    last = tf.constant(-1)
    for place in tf.range(tf.shape(x)[0]):
        last = place
    return last, x * 2.0


@TRAPS.function()
def cases(x: Any) -> Any:
    total = tf.reduce_sum(x)
    return tf.case([(total > 5.0, lambda: x), (total > 0.0, lambda: x * 2.0)], default=lambda: x * 3.0)


@TRAPS.function()
def switch_with_a_default(x: Any) -> Any:
    index = tf.cast(tf.reduce_sum(x), tf.int32)
    return tf.switch_case(index, {0: lambda: x, 1: lambda: x * 2.0}, default=lambda: x * 3.0)


@TRAPS.function()
def cond_of_a_structure(x: Any) -> Any:
    return tf.cond(
        tf.reduce_sum(x) > 0, lambda: {"a": x, "b": (x[0], x[1])}, lambda: {"a": -x, "b": (x[1], x[2])}
    )


@TRAPS.function()
def cond_of_other_shapes(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x[:1], lambda: x[:2]) * 2.0


@TRAPS.function()
def cond_with_a_number_of_python(x: Any) -> Any:
    return tf.cond(tf.constant(True), lambda: x, lambda: -x), x * tf.cond(
        x[0, 0] > 0, lambda: 1.0, lambda: 2.0
    )


@TRAPS.function()
@tf.function
def untaken_branch_would_fail(x: Any) -> Any:
    if tf.reduce_min(x) > 0:
        y = tf.math.log(x)
    else:
        y = tf.math.log(tf.abs(x) + 1.0)
    return y


@TRAPS.function()
@tf.function(autograph=False)
def without_autograph(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: -x)


@TRAPS.function()
@tf.function
def ranges_of_python_and_tensorflow(x: Any) -> Any:
    total = tf.zeros(())
    for outer in range(3):
        for inner in tf.range(outer, tf.shape(x)[0]):
            total += x[inner, outer]
    return total


@TRAPS.function()
@tf.function
def list_of_python_in_a_loop(x: Any) -> Any:
    kept = []
    for place in range(3):
        kept.append(x[:, place] * place)
    return tf.stack(kept, 1)


@TRAPS.function()
@tf.function
def fibonacci(x: Any) -> Any:
    a, b = 0, 1
    for _ in tf.range(tf.shape(x)[0]):
        a, b = b, a + b
    return a, x * tf.cast(b, tf.float32)


@TRAPS.function()
@tf.function
def two_arrays_in_one_loop(x: Any) -> Any:
    rows = tf.shape(x)[0]
    first, second = tf.TensorArray(tf.float32, size=rows), tf.TensorArray(tf.int32, size=rows)
    for place in tf.range(rows):
        first = first.write(place, x[place])
        second = second.write(rows - place - 1, place)
    return first.stack(), second.stack()


@TRAPS.function()
@tf.function
def array_of_rows_is_read_by_a_condition(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0], clear_after_read=False).unstack(x[:, 0])
    place = 0
    while place < tf.shape(x)[0] and rows.read(place) > -1.0:
        place += 1
    return place


@TRAPS.function()
@tf.function
def gradient_in_a_loop(x: Any) -> Any:
    for _ in tf.range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.tanh(x) ** 2)
        x = x - 0.1 * tape.gradient(y, x)
    return x


@TRAPS.function()
@tf.function
def gradient_of_a_loop(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        state = tf.zeros((3,))
        for row in x:
            state = tf.tanh(state + row)
        total = tf.reduce_sum(state)
    return tape.gradient(total, x)


@TRAPS.function()
def gradient_of_a_map(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.map_fn(lambda row: tf.tanh(row) * tf.reduce_sum(row), x)
    return tape.gradient(y, x)


@TRAPS.function()
@tf.function
def writes_the_number_of_the_step(x: Any) -> Any:
    rows = tf.shape(x)[0]
    first, second = tf.TensorArray(tf.int32, size=rows), tf.TensorArray(tf.int32, size=rows + 1)
    for place in tf.range(rows):
        first = first.write(place, place)
        second = second.write(place + 1, place + 1)
    return first.stack(), second.stack()


@TRAPS.function()
@tf.function
def writes_fewer_rows_than_there_are(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=tf.shape(x)[0] + 2, element_shape=(3,))
    made = made.write(0, x[0] * 5.0).write(tf.shape(x)[0] + 1, x[1])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(place, x[place])
    return made.stack()


@TRAPS.function()
@tf.function
def writes_the_same_row_in_each_step(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=2)
    made = made.write(0, x[0])
    for place in tf.range(tf.shape(x)[0]):
        made = made.write(1, x[place] * 2.0)
    return made.stack()


@TRAPS.function()
def writes_in_a_branch_outside_of_loops(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=2, element_shape=(3,)).write(0, x[0])
    made = tf.cond(tf.reduce_sum(x) > 0, lambda: made.write(1, x[1]), lambda: made.write(1, -x[1]))
    return made.stack()


@TRAPS.function()
@tf.function
def reads_ahead(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0], clear_after_read=False).unstack(x)
    total = tf.zeros((3,))
    for place in tf.range(tf.shape(x)[0] - 1):
        total = total * 0.5 + rows.read(place + 1) - rows.read(place)
    return total


@TRAPS.function()
@tf.function
def length_in_a_loop(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0], clear_after_read=False).unstack(x)
    total = tf.zeros((3,))
    for place in tf.range(rows.size()):
        total += rows.read(rows.size() - 1 - place) * tf.cast(place, tf.float32)
    return total


@TRAPS.function()
@tf.function
def two_states_are_swapped(x: Any) -> Any:
    first, second = x[0], x[1]
    for _ in tf.range(tf.shape(x)[0] - 1):
        first, second = second, first + 0.1
    return first, second


@TRAPS.function()
@tf.function
def counter_is_used_after_it_is_added_to(x: Any) -> Any:
    place, total = tf.constant(0), tf.zeros((3,))
    while place < tf.shape(x)[0] - 1:
        place += 1
        total = total * 0.5 + x[place] * tf.cast(place, tf.float32)
    return total, place


@TRAPS.function()
@tf.function
def bound_is_narrowed(x: Any) -> Any:
    # 300 is 44 in 8 bits.
    bound = tf.constant(300)
    return tf.while_loop(
        lambda count, y: count < tf.cast(tf.cast(bound, tf.int8), tf.int32),
        lambda count, y: (count + 1, y + x[0]),
        (0, x),
    )


@TRAPS.function()
@tf.function
def counter_is_narrowed_in_the_condition(x: Any) -> Any:
    # Numbers from 250 to 255 are negative in 8 bits.
    return tf.while_loop(
        lambda count, y: tf.cast(count, tf.int8) < 0, lambda count, y: (count + 1, y + x[0]), (250, x)
    )


@TRAPS.function()
@tf.function
def rows_at_a_narrowed_counter(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=300, clear_after_read=False, element_shape=()).unstack(
        tf.range(300.0)
    )
    total = x[0, 0]
    for place in tf.range(300):
        total += rows.read(tf.cast(tf.cast(place, tf.uint8), tf.int32))
    return total


@TRAPS.function()
@tf.function
def state_is_rounded_by_casts(x: Any) -> Any:
    rounded, total = x * 4.0, x
    for _ in tf.range(3):
        total, rounded = total + rounded, tf.cast(tf.cast(rounded, tf.int32), tf.float32)
    return rounded, total


@TRAPS.function()
@tf.function
def counter_of_64_bits_writes_rows(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
    for place in tf.range(tf.shape(x, out_type=tf.int64)[0]):
        made = made.write(tf.cast(place, tf.int32), x[place] * 2.0)
    return made.stack()
