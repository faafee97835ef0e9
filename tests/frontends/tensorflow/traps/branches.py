"""Traps with gradients through branches and loops whose results Python reads, random generators, and sizes
that depend on elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .table import EVERYWHERE, Traps, drawn, whole

TRAPS = Traps()
SIGNS = (lambda: (drawn() + 2.0,), lambda: (drawn(6, seed=1) - 2.0,), lambda: (drawn(2, seed=2) + 1.0,))


def _gradient(function: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.square(function(x)))
    return tape.gradient(y, x)


def _chosen(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(x) * x, lambda: x * x * tf.exp(0.1 * x))


@TRAPS.function(*SIGNS, variants=1)
def through_cond(x: Any) -> Any:
    return _gradient(_chosen, x)


@TRAPS.function(*SIGNS, variants=1)
def through_cond_in_cond(x: Any) -> Any:
    return _gradient(lambda x: tf.cond(x[0, 0] > 0.0, lambda: _chosen(x) * 2.0, lambda: x * x), x)


@TRAPS.function(*SIGNS, variants=1)
def through_switch_case(x: Any) -> Any:
    index = tf.cast(tf.reduce_sum(x) > 0.0, tf.int32)
    return _gradient(lambda x: tf.switch_case(index, [lambda: tf.sin(x) * x, lambda: tf.exp(x) * x]), x)


@TRAPS.function(*SIGNS, variants=1)
def through_a_branch_of_autograph(x: Any) -> Any:
    @tf.function
    def inner(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            return tf.sin(x) * x
        return x * x * x

    return _gradient(inner, x)


@TRAPS.made(*SIGNS, variants=1)
def variable_assigned_behind_a_branch() -> Any:
    weight = tf.Variable(2.0)

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(
                tf.reduce_sum(x) > 0.0, lambda: tf.sin(x * weight) * weight, lambda: x * x * tf.exp(weight)
            )
            weight.assign(weight * 0.5)
            total = tf.reduce_sum(y * y)
        return tape.gradient(total, weight)

    return function


@TRAPS.function(*SIGNS, errors={EVERYWHERE: "draws random numbers"})
def draws_in_a_branch(x: Any) -> Any:
    return _gradient(
        lambda x: tf.cond(
            tf.reduce_sum(x) > 0.0, lambda: tf.exp(x) * tf.random.normal(tf.shape(x)) * x, lambda: x * x
        ),
        x,
    )


@TRAPS.function(*SIGNS)
def reads_a_branch_before_the_gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(_chosen(x))
        size = float(y)
        total = y * y
    return tape.gradient(total, x), size


@TRAPS.function(*SIGNS)
def reads_a_loop_before_the_gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, y = tf.while_loop(lambda i, state: i < 3, lambda i, state: (i + 1, tf.sin(state) * x), [0, x])
        total = tf.reduce_sum(y)
        size = float(total)
        total *= size
    return tape.gradient(total, x)


@TRAPS.function(*SIGNS)
def reads_a_scan_before_the_gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.scan(lambda state, row: tf.sin(state) + row * row, x))
        size = float(total)
    return tape.gradient(total, x) * size


@TRAPS.function(*SIGNS, errors={EVERYWHERE: "a list of lists"})
def two_gradients_of_a_scan(x: Any) -> Any:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.scan(lambda state, row: tf.sin(state) + row * row, x))
        found = tape.gradient(total, x)
        size = float(tf.reduce_sum(found))
        length = tf.reduce_sum(found * found)
    return outer.gradient(length, x), size


@TRAPS.function(*SIGNS, errors={EVERYWHERE: "Read the number after the gradient"})
def reads_a_loop_that_draws_before_the_gradient(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, y = tf.while_loop(
            lambda i, state: i < 3, lambda i, state: (i + 1, state * x * tf.random.normal(())), [0, x]
        )
        total = tf.reduce_sum(y)
        size = float(total)
    return tape.gradient(total, x) * size


class Layer(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = [tf.Variable(0.5 * number + 1.0) for number in range(3)]
        self.generator = tf.random.Generator.from_seed(7)


@TRAPS.made(*SIGNS, variants=1)
def gradients_of_a_list_of_a_module() -> Any:
    layer = Layer()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(tf.tanh(x * layer.weights[0]) * layer.weights[1] + layer.weights[2])
        return list(tape.gradient(total, layer.weights)), tape is not None

    return function


@TRAPS.made(*SIGNS, variants=1)
def draws_of_a_generator() -> Any:
    layer = Layer()

    def function(x: Any) -> Any:
        noise = layer.generator.normal(tf.shape(x))
        return (
            x + noise,
            layer.generator.uniform([2, x.shape[0]]),
            layer.generator.uniform(tf.shape(x), 0, 9, dtype=tf.int32),
        )

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(6, seed=1),))
def draws_of_a_generator_in_a_loop() -> Any:
    generator = tf.random.Generator.from_seed(7)

    @tf.function
    def function(x: Any) -> Any:
        state = tf.zeros([3])
        for row in x:
            state = state * 0.5 + row * generator.uniform([3])
        return state

    return function


@TRAPS.function(
    lambda: (drawn(), whole(4, seed=1)),
    lambda: (drawn(seed=2), whole(4, seed=1)),
    lambda: (drawn(6, seed=1), whole(6, seed=3)),
)
def sizes_that_elements_tell(x: Any, counts: Any) -> Any:
    most = tf.reduce_max(counts)
    return (
        tf.repeat(x, counts, axis=0),
        tf.sequence_mask(counts),
        tf.one_hot(counts, most + 1),
        tf.zeros([most, 2]),
        x[: most - 1],
    )
