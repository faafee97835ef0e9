"""TensorFlow programs: eager functions, and ``tf.function`` with loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def sizes_as_numbers(x: Any) -> Any:
    rows, columns = x.shape
    return tf.reshape(x, (rows * columns,)) / rows + columns


def sizes_as_tensors(x: Any) -> Any:
    rows = tf.shape(x)[0]
    return tf.tile(x, [2, 1])[:rows] * tf.cast(rows, x.dtype) + tf.ones(tf.stack([rows, 1]))


def made_of_sizes(x: Any) -> Any:
    return (
        x
        + tf.zeros(x.shape)
        + tf.ones((x.shape[0], 1)) * x.shape[1]
        + tf.reshape(tf.range(x.shape[0], dtype=tf.float32), (-1, 1))
    )


def lists_of_sizes_and_numbers(x: Any) -> Any:
    """No array in the list determines the dtype of the Python numbers next to a size."""
    rows, columns = tf.cast(tf.shape(x)[0] - 1, tf.float32), float(x.shape[1])
    counts = tf.stack([tf.shape(x, out_type=tf.int64)[0], 3])
    total = tf.raw_ops.AddN(inputs=[rows, 1.5])
    return (
        tf.stack([rows, 0.0]) * x[0, 0] + tf.stack([columns, 2.0]),
        total * tf.reduce_sum(x),
        tf.cast(counts, tf.float32) * x[0, 1],
    )


def decides_on_elements(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        return x * 2
    return x - 1


def reads_a_number(x: Any) -> Any:
    return x * int(tf.reduce_sum(tf.cast(x > 0, tf.int32)))


def rows_in_python(x: Any) -> Any:
    return sum(row * place for place, row in enumerate(x))


def columns_by_number(x: Any) -> Any:
    total = 0.0
    for place in range(x.shape[1]):
        total = total + x[:, place] * place
    return total


def inner_gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        energy = tf.reduce_sum(tf.tanh(x) ** 2)
    return tape.gradient(energy, x)


@tf.function
def loops_until(x: Any) -> Any:
    count = 0
    while tf.reduce_sum(x) < 100.0:
        x = tf.abs(x) + 1.0
        count += 1
    return x, count


@tf.function
def loops_over_a_range(x: Any) -> Any:
    total = tf.zeros_like(x)
    for place in tf.range(tf.shape(x)[0]):
        total = total * 0.5 + x * tf.cast(place, tf.float32)
    return total


@tf.function
def loops_over_rows(x: Any) -> Any:
    state = tf.zeros_like(x[0])
    for row in x:
        state = state * 0.5 + row
    return state


@tf.function
def fills_an_array(x: Any) -> Any:
    rows = tf.shape(x)[0]
    made, state = tf.TensorArray(tf.float32, size=rows), tf.zeros_like(x[0])
    for place in tf.range(rows):
        state = state + x[place]
        made = made.write(place, state)
    return made.stack()


@tf.function
def steps_of_two(x: Any) -> Any:
    total = tf.zeros_like(x[0])
    for place in tf.range(1, tf.shape(x)[0], 2):
        total += x[place]
    return total


@tf.function
def branches(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        result = x * 2
    elif tf.reduce_max(x) > 1:
        result = x + 3
    else:
        result = x - 1
    return result


def switches(x: Any) -> Any:
    return tf.switch_case(tf.cast(tf.reduce_sum(x) > 0, tf.int32), [lambda: x - 1, lambda: tf.exp(-x)])


@tf.custom_gradient
def _with_rule(x: Any, y: Any) -> Any:
    power = tf.exp(x)
    return power * y, lambda upstream: (
        upstream * 7.0 * power,
        upstream * tf.cast(tf.shape(x)[0], tf.float32),
    )


@tf.custom_gradient
def _two_results(x: Any) -> Any:
    return (x * 2, x * 3), lambda first, second: first + 10 * second


@tf.custom_gradient
def _exp_of_itself(x: Any) -> Any:
    return tf.exp(x), lambda upstream: upstream * _exp_of_itself(x)


@tf.custom_gradient
def _squared(x: Any) -> Any:
    return x * x, lambda upstream: 2 * upstream * tf.math.log(_exp_of_itself(x))


def rules_that_call_functions_with_rules(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = tf.reduce_sum(_exp_of_itself(x) + _squared(x))
    return tape.gradient(result, x) + _squared(x)


def rules_of_its_own(x: Any) -> Any:
    return _with_rule(x, x * 2) * x + _two_results(x)[1] + tf.nn.silu(x * x)


def empty_numbers(x: Any) -> Any:
    rows = tf.tile(tf.zeros([1, 0, 3], tf.int32), [tf.shape(x)[0], 1, 1])
    return (
        tf.exp(x)
        + tf.cast(tf.reduce_sum(tf.shape(rows)), x.dtype)
        + tf.cast(tf.reduce_sum(rows + 1), x.dtype)
    )


Program = Callable[[Any], Any]
# Program -> how many variants three calls need: with other sizes, and with other signs.
PROGRAMS: dict[Program, int] = {
    rules_that_call_functions_with_rules: 1,
    sizes_as_numbers: 1,
    sizes_as_tensors: 1,
    made_of_sizes: 1,
    lists_of_sizes_and_numbers: 1,
    decides_on_elements: 2,
    reads_a_number: 1,
    rows_in_python: 2,
    columns_by_number: 1,
    inner_gradient: 1,
    loops_until: 1,
    loops_over_a_range: 1,
    loops_over_rows: 1,
    fills_an_array: 1,
    steps_of_two: 1,
    branches: 1,
    switches: 1,
    rules_of_its_own: 1,
    empty_numbers: 1,
}
# Programs without a gradient in a target: JAX's while loops have none, and while it traces it has no
# elements, nor other sizes where these are assumed.
WITHOUT_GRADIENT: dict[str, frozenset[Program]] = {
    "tensorflow": frozenset(),
    "torch": frozenset(),
    "jax": frozenset({loops_until, decides_on_elements, rows_in_python}),
}
