"""Traps with variables: their values, further references to them, and when they are created."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from .table import Traps, drawn

TRAPS = Traps()


def _rows() -> Any:
    return tf.Variable(np.arange(12, dtype="float32").reshape(4, 3))


@TRAPS.made()
def reads_before_and_after_an_assignment() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        before = state.read_value()
        state.assign(tf.reduce_mean(x, 0))
        return before, state.read_value(), x * state

    return function


@TRAPS.made()
def tensor_of_a_variable_before_it_is_assigned() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        before = tf.convert_to_tensor(state)
        state.assign_add([1.0, 1.0, 1.0])
        return before + x, tf.identity(state)

    return function


@TRAPS.made()
def two_names_of_one_variable() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])
    held = {"a": state, "b": [state]}

    def function(x: Any) -> Any:
        held["a"].assign_add(tf.reduce_sum(x, 0))
        return held["b"][0] * 2.0

    return function


@TRAPS.made()
def argument_is_stored_in_a_variable() -> Any:
    state = tf.Variable(tf.zeros((4, 3)), shape=tf.TensorShape((None, 3)))

    def function(x: Any) -> Any:
        state.assign(x)
        return state + 1.0

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(seed=1),))
def slice_is_assigned() -> Any:
    state = _rows()

    def function(x: Any) -> Any:
        state[1:3].assign(x[:2])
        state[0, 1].assign(7.0)
        return state * 2.0

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(seed=1),))
def slice_is_added_to() -> Any:
    state = _rows()

    def function(x: Any) -> Any:
        state[:, 1].assign(state[:, 1] + x[:, 0])
        state[::2].assign(-state[::2])
        return tf.reduce_sum(state, 1)

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(seed=1),))
def rows_are_scattered() -> Any:
    state = _rows()

    def function(x: Any) -> Any:
        state.scatter_nd_update([[0], [2]], x[:2])
        state.scatter_nd_add([[1, 1], [1, 1], [3, 0]], tf.reduce_sum(x, 1)[:3])
        state.scatter_nd_sub([[3]], x[3:])
        return state + 0.0

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(seed=1),))
def slices_are_scattered() -> Any:
    state = _rows()

    def function(x: Any) -> Any:
        state.scatter_update(tf.IndexedSlices(x[:2], [3, 1]))
        state.scatter_add(tf.IndexedSlices(x[:3], [0, 0, 2]))
        state.scatter_sub(tf.IndexedSlices(x[:1], [2]))
        state.scatter_max(tf.IndexedSlices(x[1:2], [3]))
        state.scatter_min(tf.IndexedSlices(x[1:2], [0]))
        return state + 0.0

    return function


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(seed=1),))
def gathers_from_a_variable() -> Any:
    state = _rows()

    def function(x: Any) -> Any:
        picked = tf.gather(state, [2, 0]), tf.gather_nd(state, [[1, 2], [3, 0]])
        state.assign(x)
        return (
            picked,
            state.sparse_read([0, 1]),
            state.gather_nd([[0, 0]]),
            tf.nn.embedding_lookup(state, [1]),
        )

    return function


@TRAPS.made()
def assignments_give_values() -> Any:
    state = tf.Variable(1.0)

    def function(x: Any) -> Any:
        first = state.assign_add(2.0)
        second = state.assign_sub(0.5)
        return x * first * second, state.assign(state * 0.5) + 1.0

    return function


@TRAPS.made()
def assigned_in_one_branch() -> Any:
    state = tf.Variable(1.0)

    @tf.function
    def function(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:
            state.assign_add(1.0)
        return x * state

    return function


@TRAPS.made()
def assigned_in_both_branches() -> Any:
    first, second = tf.Variable(1.0), tf.Variable(5.0)

    @tf.function
    def function(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:
            first.assign(second)
        else:
            second.assign(first * 2.0)
        return x * first + second

    return function


@TRAPS.made()
def assigned_in_a_loop() -> Any:
    state = tf.Variable(1.0)

    @tf.function
    def function(x: Any) -> Any:
        for row in x:
            state.assign(state * 0.5 + tf.reduce_sum(row))
        return state * x

    return function


@TRAPS.made()
def assigned_in_a_while_loop() -> Any:
    state = tf.Variable(0)

    @tf.function
    def function(x: Any) -> Any:
        while tf.reduce_sum(tf.abs(x)) < 50.0:
            x = x * 1.5
            state.assign_add(1)
        return x, state + 0

    return function


@TRAPS.made()
def made_at_the_first_call_of_a_module() -> Any:
    class Lazy(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w: Any = None

        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(tf.ones((x.shape[1], 2)), name="w")
            return x @ self.w

    return Lazy()


@TRAPS.made()
def made_at_the_first_call_of_a_function() -> Any:
    class Lazy(tf.Module):
        w: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(tf.ones((3, 2)), name="w")
            self.w.assign_add(tf.ones((3, 2)))
            return x @ self.w

    return Lazy()


@TRAPS.function(errors={"everywhere": "variable"})
def made_in_each_call(x: Any) -> Any:
    state = tf.Variable(x)
    state.assign_add(x)
    return state * 2.0


@TRAPS.made()
def is_not_trainable() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0], trainable=False)
    weight = tf.Variable([3.0, 2.0, 1.0])

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(tf.tanh(0.1 * x * weight * state))
        return tape.gradient(total, [weight, state], unconnected_gradients="zero"), tape.watched_variables()[
            0
        ].shape[0]

    return function


@TRAPS.made()
def trains_by_hand() -> Any:
    weight, bias = tf.Variable(tf.ones((3, 2))), tf.Variable(tf.zeros(2))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight + bias) ** 2)
        for variable, gradient in zip((weight, bias), tape.gradient(loss, (weight, bias))):
            variable.assign_sub(0.1 * gradient)
        return loss

    return step


@TRAPS.made(changes={1: lambda f: f.__closure__[0].cell_contents.assign([9.0, 8.0, 7.0])})
def is_assigned_by_the_user_between_calls() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        return x * state

    return function


@TRAPS.made()
def list_of_variables() -> Any:
    class Layers(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = [tf.Variable(tf.eye(3) * (n + 1.0)) for n in range(3)]
            self.named = {"a": tf.Variable(2.0), "b": tf.Variable(3.0)}

        def __call__(self, x: Any) -> Any:
            for weight in self.weights:
                x = tf.tanh(x @ weight)
                weight.assign(weight * 0.9)
            return x * self.named["a"] + self.named["b"]

    return Layers()


@TRAPS.made()
def counts_and_branches_on_the_count() -> Any:
    calls = tf.Variable(0)

    @tf.function
    def function(x: Any) -> Any:
        calls.assign_add(1)
        return tf.cond(calls % 2 == 0, lambda: x * 2.0, lambda: -x)

    return function


@TRAPS.made()
def count_is_read_by_python() -> Any:
    calls = tf.Variable(0)

    def function(x: Any) -> Any:
        calls.assign_add(1)
        return x * float(calls.numpy()) if int(calls) % 2 else -x

    return function


@TRAPS.made()
def ring_buffer() -> Any:
    memory, place = tf.Variable(tf.zeros((5, 3))), tf.Variable(0)

    @tf.function
    def function(x: Any) -> Any:
        memory.scatter_nd_update([[place % 5]], [tf.reduce_sum(x, 0)])
        place.assign_add(1)
        return tf.reduce_mean(memory, 0), place + 0

    return function


@TRAPS.made()
def control_dependencies_order_reads() -> Any:
    state = tf.Variable(1.0)

    @tf.function
    def function(x: Any) -> Any:
        before = tf.identity(state)
        with tf.control_dependencies([state.assign_add(1.0)]):
            after = tf.identity(state)
        return x * before, x * after

    return function


@TRAPS.made()
def variable_of_whole_numbers() -> Any:
    state = tf.Variable([1, 2, 3], dtype=tf.int64)

    def function(x: Any) -> Any:
        state.assign_add(tf.cast(tf.reduce_sum(tf.abs(x), 0), tf.int64))
        return state // 2, state % 3

    return function


@TRAPS.made()
def shape_of_a_variable() -> Any:
    state = tf.Variable(tf.zeros((2, 3)), shape=tf.TensorShape((None, 3)))

    @tf.function
    def function(x: Any) -> Any:
        before = tf.shape(state)[0]
        state.assign(tf.concat([state, x], 0))
        return before, tf.shape(state)[0], tf.reduce_sum(state)

    return function


@TRAPS.made()
def variable_inside_of_a_tuple_argument() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    def inner(pair: Any) -> Any:
        pair[0].assign_add(pair[1])
        return pair[0] * 1.0

    return lambda x: inner((state, tf.reduce_sum(x, 0)))


_ARGUMENT = tf.Variable([1.0, 2.0, 3.0])


@TRAPS.function(
    lambda: (drawn(), tf.Variable([1.0, 2.0, 3.0])), lambda: (drawn(6), tf.Variable([3.0, 2.0, 1.0]))
)
def variable_is_an_argument(x: Any, state: Any) -> Any:
    return x * state


@TRAPS.function(
    lambda: (drawn(), _ARGUMENT), lambda: (drawn(6), _ARGUMENT), errors={"everywhere": "argument"}
)
def argument_is_assigned(x: Any, state: Any) -> Any:
    state.assign_add(tf.reduce_sum(x, 0))
    return x * state


@TRAPS.made()
def moving_average() -> Any:
    class Averaged(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.average = tf.train.ExponentialMovingAverage(0.9)
            self.state = tf.Variable([0.0, 0.0, 0.0])
            self.average.apply([self.state])

        @tf.function
        def __call__(self, x: Any) -> Any:
            self.state.assign(tf.reduce_mean(x, 0))
            self.average.apply([self.state])
            return self.average.average(self.state) + 0.0

    return Averaged()


@TRAPS.made()
def tf_function_of_another_module_assigns() -> Any:
    class Inner(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.total = tf.Variable(0.0)

        @tf.function
        def add(self, x: Any) -> Any:
            return self.total.assign_add(tf.reduce_sum(x))

    class Outer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def __call__(self, x: Any) -> Any:
            first = self.inner.add(x)
            second = self.inner.add(-2.0 * x)
            return first, second, x * self.inner.total

    return Outer()


@TRAPS.made()
def not_read_where_it_is_swapped() -> Any:
    first, second = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([4.0, 5.0, 6.0])

    def function(x: Any) -> Any:
        kept = tf.identity(first)
        first.assign(second)
        second.assign(kept)
        return x * first - second

    return function
