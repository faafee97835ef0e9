"""Traps with every way to write to a variable, by Python, in branches, loops and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .table import EVERYWHERE, Trap, Traps, drawn

TRAPS = Traps()
_CALLS = (
    lambda: (drawn(),),
    lambda: (drawn(seed=1),),
    lambda: (drawn(6, seed=2),),
    lambda: (drawn(seed=3) - 1.0,),
)


def _slices(x: Any, *rows: int) -> Any:
    return tf.IndexedSlices(x[: len(rows)], list(rows))


# variable, array of at least four rows -> what is written
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "assign": lambda v, x: v.assign(x[:4] * 2.0),
    "assign_add": lambda v, x: v.assign_add(x[:4]),
    "assign_sub": lambda v, x: v.assign_sub(x[-4:]),
    "rows": lambda v, x: v[1:3].assign(x[:2]),
    "row": lambda v, x: v[-1].assign(v[-1] * 0.5 + x[1]),
    "column": lambda v, x: v[:, 1].assign(x[:4, 0] - v[:, 1]),
    "element": lambda v, x: v[2, 1].assign(tf.reduce_sum(x) + v[2, 1]),
    "every_second": lambda v, x: v[::2, ::2].assign(x[:2, :2]),
    "backwards": lambda v, x: v[::-1].assign(x[:4] + v),
    "last_axis": lambda v, x: v[..., 0].assign(v[..., 0] + x[:4, 2]),
    "more_axes": lambda v, x: v[tf.newaxis, 1:2].assign(x[tf.newaxis, :1]),
    "by_a_raw_operation": lambda v, x: tf.raw_ops.AssignAddVariableOp(resource=v.handle, value=x[:4] * 3.0),
    "nd_update": lambda v, x: v.scatter_nd_update([[0, 1], [3, 2]], x[0, :2]),
    "nd_rows": lambda v, x: v.scatter_nd_update([[3], [1]], x[:2]),
    "nd_add": lambda v, x: v.scatter_nd_add([[1, 1], [1, 1], [0, 0]], x[0]),
    "nd_sub": lambda v, x: v.scatter_nd_sub([[2], [2]], x[:2]),
    "nd_max": lambda v, x: v.scatter_nd_max([[0], [2]], x[:2] * 4.0),
    "nd_min": lambda v, x: v.scatter_nd_min([[0], [2]], x[:2] * 4.0),
    "slices_update": lambda v, x: v.scatter_update(_slices(x, 3, 0)),
    "slices_add": lambda v, x: v.scatter_add(_slices(x, 2, 2, 1)),
    "slices_sub": lambda v, x: v.scatter_sub(_slices(x, 0, 0)),
    "slices_mul": lambda v, x: v.scatter_mul(_slices(x, 0, 2, 0)),
    "slices_div": lambda v, x: v.scatter_div(_slices(tf.exp(x), 1, 1)),
    "slices_max": lambda v, x: v.scatter_max(_slices(x * 5.0, 3, 1)),
    "slices_min": lambda v, x: v.scatter_min(_slices(x * 5.0, 3, 1)),
    "batch_update": lambda v, x: v.batch_scatter_update(
        tf.IndexedSlices(x[:4, :2], tf.constant([[0, 2], [1, 0], [2, 1], [0, 1]]))
    ),
}


def _rows() -> Any:
    return tf.Variable(np.arange(12, dtype="float32").reshape(4, 3) / 4.0)


def plainly(write: Any) -> Any:
    state = _rows()

    def function(x: Any) -> Any:
        before = tf.identity(state)
        write(state, x)
        return before, state * 2.0, tf.reduce_sum(state, 0)

    return function


def in_a_branch(write: Any) -> Any:
    state = _rows()

    @tf.function
    def function(x: Any) -> Any:
        state.assign_add(tf.ones((4, 3)))
        if tf.reduce_sum(x) > 0.0:
            write(state, x)
        return state + x[0]

    return function


def in_a_loop(write: Any) -> Any:
    state = _rows()

    @tf.function
    def function(x: Any) -> Any:
        total = tf.zeros((3,))
        for row in x:
            write(state, row * 0.25 + tf.sin(state))
            total += tf.reduce_max(state, 0)
        return total, state + 0.0

    return function


def in_a_while_loop(write: Any) -> Any:
    state, left = _rows(), tf.Variable(3)

    @tf.function
    def function(x: Any) -> Any:
        while left > 0:
            write(state, tf.cos(state) + x[0])
            left.assign_sub(1)
        left.assign(2)
        return state * 1.0

    return function


def in_a_function_that_is_called_twice(write: Any) -> Any:
    state = _rows()

    @tf.function
    def inner(x: Any) -> Any:
        write(state, x)
        return tf.reduce_sum(state)

    return lambda x: (inner(x), inner(-x), state[0])


_PLACES = (plainly, in_a_branch, in_a_loop, in_a_while_loop, in_a_function_that_is_called_twice)
TRAPS.update(
    {
        f"{name}_{place.__name__}": Trap(lambda w=write, p=place: p(w), _CALLS)
        for name, write in WRITES.items()
        for place in _PLACES
    }
)


# ---------------------------------------------------------------- by kernels that have no other form: refused
KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "gradient_descent": lambda v, x: tf.raw_ops.ResourceApplyGradientDescent(
        var=v.handle, alpha=0.1, delta=x[:4]
    ),
    "one_number_for_many_rows": lambda v, x: tf.raw_ops.ResourceScatterAdd(
        resource=v.handle, indices=[0, 2], updates=x[0, 0]
    ),
}
_WORDS = {"one_number_for_many_rows": "of one number for many rows"}
TRAPS.update(
    {
        f"{name}_by_a_kernel": Trap(
            lambda w=write: plainly(w), _CALLS, {EVERYWHERE: _WORDS.get(name, "assign the result")}
        )
        for name, write in KERNELS.items()
    }
)
