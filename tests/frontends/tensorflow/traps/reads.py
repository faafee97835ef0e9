"""Traps with every way to read a variable after a write, also in branches, loops and functions, and if Python
branches on the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .table import Trap, Traps, drawn

TRAPS = Traps()
_CALLS = (
    lambda: (drawn(),),
    lambda: (drawn(seed=1),),
    lambda: (drawn(6, seed=2),),
    lambda: (drawn(seed=3) * 3.0 - 1.0,),
)

# variable of four rows -> one number
READS: dict[str, Callable[[Any], Any]] = {
    "whole": tf.reduce_sum,
    "row": lambda v: tf.reduce_sum(v[1]),
    "element": lambda v: v[2, 1],
    "gathered": lambda v: tf.reduce_sum(tf.gather(v, [3, 0])),
    "gathered_in_batches": lambda v: tf.reduce_sum(tf.gather(v, [[0], [1], [2], [0]], batch_dims=1)),
    "sparse_read": lambda v: tf.reduce_max(v.sparse_read(tf.constant([2, 1]))),
    "gather_nd": lambda v: tf.reduce_sum(v.gather_nd([[1, 2], [0, 0]])),
    "read_value": lambda v: tf.reduce_mean(v.read_value()),
    "counted": lambda v: tf.cast(tf.shape(v)[0], tf.float32) * v[0, 0],
}


def _rows() -> Any:
    return tf.Variable(np.arange(12, dtype="float32").reshape(4, 3) / 4.0 - 1.0)


def decides_in_python(read: Any) -> Any:
    state = _rows()

    def function(x: Any) -> Any:
        state.assign(tf.tanh(state + x[:4]))
        if read(state) > 0.0:
            state.assign(state * 0.5)
            return x * read(state)
        state[0].assign(x[1])
        return x - read(state)

    return function


def decides_in_a_loop(read: Any) -> Any:
    state = _rows()

    @tf.function
    def function(x: Any) -> Any:
        steps = 0
        while tf.abs(read(state)) < 9.0 and steps < 7:
            state.assign(state * 1.5 + x[0])
            steps += 1
        state.assign(state * 0.1)
        return read(state), steps

    return function


def is_read_by_python_behind_a_loop(read: Any) -> Any:
    state = _rows()

    @tf.function
    def inner(x: Any) -> Any:
        total = tf.constant(0.0)
        for row in x:
            state.scatter_nd_update([[1]], [row])
            total += read(state)
        return total

    def function(x: Any) -> Any:
        total = inner(x)
        return x * float(total) + (1.0 if total > 0.0 else 2.0), float(read(state))

    return function


def in_both_branches(read: Any) -> Any:
    state = _rows()

    def one(x: Any) -> Any:
        state.scatter_nd_add([[2]], [x[0]])
        return read(state)

    def other(x: Any) -> Any:
        before = read(state)
        state.assign(-state)
        return before - read(state)

    @tf.function
    def function(x: Any) -> Any:
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: one(x), lambda: other(x))
        return y, read(state)

    return function


_PLACES = (decides_in_python, decides_in_a_loop, is_read_by_python_behind_a_loop, in_both_branches)
TRAPS.update(
    {
        f"{name}_{place.__name__}": Trap(lambda r=read, p=place: p(r), _CALLS)
        for name, read in READS.items()
        for place in _PLACES
    }
)


# ------------------------------------------------------------------------------------- of another shape
def _growing() -> Any:
    return tf.Variable(tf.ones((2, 3)), shape=tf.TensorShape((None, 3)))


@TRAPS.made()
def shape_behind_an_assignment() -> Any:
    state = _growing()

    def function(x: Any) -> Any:
        before = tf.shape(state)
        state.assign(tf.concat([x, x[:1]], 0))
        return before, tf.shape(state), tf.raw_ops.VariableShape(input=state.handle), tf.reduce_sum(state, 0)

    return function


@TRAPS.made()
def rows_behind_an_assignment() -> Any:
    state = _growing()

    @tf.function
    def function(x: Any) -> Any:
        state.assign(x * 2.0)
        return (
            tf.gather(state, [0, -1 + tf.shape(state)[0]]),
            state.sparse_read([1]),
            tf.zeros(tf.shape(state)),
        )

    return function


@TRAPS.made()
def gradient_of_rows_of_a_variable_that_grows() -> Any:
    state = _growing()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(state, [1, 0, 1]) * x[:3])
        gradient = tf.convert_to_tensor(tape.gradient(y, state))
        state.assign(tf.concat([state, x], 0))
        return y, gradient

    return function


@TRAPS.made()
def python_decides_on_the_number_of_rows() -> Any:
    state = _growing()

    def function(x: Any) -> Any:
        rows = state.read_value().shape[0]
        state.assign(tf.concat([state, x], 0)[-7:])
        return x * float(rows) if rows < 6 else x - 1.0

    return function


# ------------------------------------------------------------------------------------- of whole numbers
@TRAPS.made()
def place_that_a_variable_counts() -> Any:
    place = tf.Variable(0)

    def function(x: Any) -> Any:
        place.assign((place + 1) % 4)
        return x[int(place)], x[place], tf.gather(x, place)

    return function


@TRAPS.made()
def bounds_that_a_variable_counts() -> Any:
    place = tf.Variable(0)

    def function(x: Any) -> Any:
        place.assign((place + 1) % 3)
        return x[place : place + 2], x[: place + 1], tf.slice(x, [place, 0], [1, 2])

    return function


@TRAPS.made()
def steps_that_a_variable_counts() -> Any:
    count = tf.Variable(0)

    @tf.function
    def function(x: Any) -> Any:
        count.assign_add(1)
        for i in tf.range(count):
            x = x * 0.5 + tf.cast(i, tf.float32)
        return x, count + 0

    return function


@TRAPS.made()
def steps_of_python_that_a_variable_counts() -> Any:
    count = tf.Variable(0)

    def function(x: Any) -> Any:
        count.assign_add(1)
        for i in range(int(count)):
            x = x * 0.5 + float(i)
        return x

    return function


@TRAPS.made()
def table_of_python_that_a_variable_chooses() -> Any:
    phase = tf.Variable(0)
    names = ["tanh", "sin", "exp"]

    def function(x: Any) -> Any:
        name = names[int(phase) % 3]
        phase.assign_add(1)
        return getattr(tf, name)(x), len(name)

    return function


@TRAPS.made()
def truth_of_a_variable() -> Any:
    on = tf.Variable(True)

    def function(x: Any) -> Any:
        y = x * 2.0 if on else x - 1.0
        on.assign(tf.logical_not(on))
        return y, on.read_value()

    return function


@TRAPS.made()
def text_of_a_number_of_a_variable() -> Any:
    count = tf.Variable(8)

    def function(x: Any) -> Any:
        count.assign_add(1)
        return {f"step_{int(count)}": x * 2.0, "digits": len(str(int(count)))}

    return function


@TRAPS.made()
def key_that_a_variable_holds() -> Any:
    turn = tf.Variable(0)
    tables = {0: tf.constant([1.0, 2.0, 3.0]), 1: tf.constant([3.0, 2.0, 1.0])}

    def function(x: Any) -> Any:
        turn.assign(1 - turn)
        return x * tables[int(turn)]

    return function


@TRAPS.made()
def several_numbers_of_variables_in_one_condition() -> Any:
    low, high = tf.Variable(0.0), tf.Variable(10.0)

    def function(x: Any) -> Any:
        middle = float(low + high) / 2.0
        if middle**2 > float(tf.reduce_sum(x**2)):
            high.assign(middle)
        else:
            low.assign(middle)
        return low + 0.0, high + 0.0, x * middle

    return function
