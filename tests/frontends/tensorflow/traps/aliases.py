"""Traps with aliases: values read from a variable before a write, tensors, NumPy arrays, containers."""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Callable
from operator import is_ as are_one
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .table import Trap, Traps, drawn

TRAPS = Traps()
_SAME = (lambda: (drawn(),), lambda: (drawn(seed=1),), lambda: (drawn(6, seed=2),))


def _state() -> Any:
    return tf.Variable(np.arange(12, dtype="float32").reshape(4, 3) / 3.0)


# --------------------------------------------------------------------------------- taken before it is written
TAKES: dict[str, Callable[[Any], Any]] = {
    "read_value": lambda v: v.read_value(),
    "value": lambda v: v.value(),
    "identity": tf.identity,
    "convert_to_tensor": tf.convert_to_tensor,
    "cast_to_its_own_type": lambda v: tf.cast(v, tf.float32),
    "slice_of_all": lambda v: v[:],
    "row": lambda v: v[1],
    "reshaped": lambda v: tf.reshape(v, [-1]),
    "rows": tf.unstack,
    "iterated": list,
    "gathered": lambda v: tf.gather(v, [3, 0]),
    "sparse_read": lambda v: v.sparse_read([2, 2]),
    "gather_nd": lambda v: v.gather_nd([[1, 2], [0, 0]]),
    "looked_up": lambda v: tf.nn.embedding_lookup(v, tf.constant([[0], [3]])),
    "shifted": lambda v: v + 0.0,
    "negated": lambda v: -v,
    "stacked": lambda v: tf.stack([v, v]),
    "in_a_list": lambda v: [v.read_value(), {"v": tf.identity(v)}],
    "stopped": tf.stop_gradient,
    "sum": tf.reduce_sum,
    "compared": lambda v: v > 1.0,
    "where": lambda v: tf.where(v > 1.0, v, -1.0),
    "broadcast": lambda v: tf.broadcast_to(v, (2, 4, 3)),
    "transposed": tf.transpose,
    "called_function": tf.function(lambda v: v * 2.0),
    "mapped": lambda v: tf.map_fn(lambda row: row * 2.0, v),
    "shape": lambda v: (tf.shape(v), v.shape[0]),
}


def _taken_before(take: Any) -> Any:
    state = _state()

    def function(x: Any) -> Any:
        before = take(state)
        state.assign_add(x[:4])
        between = take(state)
        state[0].assign(x[1])
        return before, between, take(state)

    return function


TRAPS.update(
    {f"{name}_before_a_write": Trap(lambda t=take: _taken_before(t), _SAME) for name, take in TAKES.items()}
)

READ_BY_PYTHON: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda v: v.numpy(),
    "asarray": np.asarray,
    "array": np.array,
    "tolist": lambda v: v.numpy().tolist(),
    "float_of_an_element": lambda v: float(v[0, 0]),
    "int_of_an_element": lambda v: int(v[0, 0] * 3.0),
    "item": lambda v: v.numpy()[0].item(1),
    "truth": lambda v: bool(tf.reduce_sum(v) > 20.0),
    "keras_to_numpy": keras.ops.convert_to_numpy,
}


def _read_before(read: Any) -> Any:
    state = _state()

    def function(x: Any) -> Any:
        before = read(state)
        state.assign(state * 0.5 + tf.reduce_mean(x, 0))
        return x * tf.reduce_sum(tf.constant(before, tf.float32)), tf.reduce_sum(
            tf.constant(read(state), tf.float32)
        )

    return function


_TWICE = (lambda: (drawn(),), lambda: (drawn(seed=1),), lambda: (drawn(),))
TRAPS.update(
    {
        f"{name}_of_a_variable_before_a_write": Trap(lambda r=read: _read_before(r), _TWICE)
        for name, read in READ_BY_PYTHON.items()
    }
)


# ------------------------------------------------------------------------------------- names of one variable
@TRAPS.made()
def variable_in_two_modules() -> Any:
    class Part(tf.Module):
        def __init__(self, w: Any) -> None:
            super().__init__()
            self.w = w

        def __call__(self, x: Any) -> Any:
            return self.w.assign_add(tf.reduce_sum(x, 0)) * 2.0

    shared = tf.Variable([1.0, 2.0, 3.0])
    first, second = Part(shared), Part(shared)
    return lambda x: (first(x), second(x * 0.5), first.w - second.w)


@TRAPS.made()
def variable_as_attribute_and_in_a_closure() -> Any:
    class Holder(tf.Module):
        w: Any = None

    shared, holder = tf.Variable([1.0, 2.0, 3.0]), Holder()
    holder.w = shared

    def function(x: Any) -> Any:
        shared.assign(tf.reduce_mean(x, 0))
        y = holder.w * 2.0
        holder.w.assign_sub([1.0, 1.0, 1.0])
        return y, shared + 0.0

    return function


@TRAPS.made()
def handle_of_a_variable_and_the_variable() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])
    handle = state.handle

    def function(x: Any) -> Any:
        state.assign_add(x[0])
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        tf.raw_ops.AssignVariableOp(resource=handle, value=read * 0.5)
        return read, state * 1.0

    return function


@TRAPS.made()
def keras_variable_and_its_value() -> Any:
    state = keras.Variable([1.0, 2.0, 3.0])
    inner = state.value

    def function(x: Any) -> Any:
        state.assign(state + x[0])
        inner.assign_add(x[1])
        return state + 0.0, inner * 2.0

    return function


@TRAPS.made()
def two_variables_with_one_name() -> Any:
    first, second = tf.Variable([1.0, 2.0, 3.0], name="v"), tf.Variable([4.0, 5.0, 6.0], name="v")

    def function(x: Any) -> Any:
        first.assign_add(x[0])
        second.assign_sub(x[1])
        return first * second

    return function


@TRAPS.made()
def two_variables_of_equal_elements() -> Any:
    first, second = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        first.assign(second)
        first.assign_add(x[0])
        return first - second, second + 0.0

    return function


@TRAPS.made()
def variable_assigned_to_itself() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        state.assign(state)
        state.assign(tf.reverse(state, [0]))
        state.assign_add(state)
        return x * state

    return function


@TRAPS.made()
def one_tensor_in_two_variables() -> Any:
    first, second = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([4.0, 5.0, 6.0])

    def function(x: Any) -> Any:
        mean = tf.reduce_mean(x, 0)
        first.assign(mean)
        second.assign(mean)
        first.assign_add([1.0, 1.0, 1.0])
        return first - second, mean

    return function


@TRAPS.made()
def variables_that_change_places() -> Any:
    held = [tf.Variable([1.0, 2.0, 3.0]), tf.Variable([4.0, 5.0, 6.0]), tf.Variable([7.0, 8.0, 9.0])]

    def function(x: Any) -> Any:
        kept = held[0].read_value()
        for before, after in itertools.pairwise(held):
            before.assign(after)
        held[-1].assign(kept + x[0])
        return tf.stack(held)

    return function


@TRAPS.made()
def element_of_one_in_another() -> Any:
    first, second = _state(), _state()

    def function(x: Any) -> Any:
        first[1].assign(second[2] + x[0])
        second[2].assign(first[1] * 0.5)
        first[2, 0].assign(second[2, 1])
        return first + 0.0, second + 0.0

    return function


@TRAPS.made()
def tied_weights() -> Any:
    class Tied(keras.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = self.add_weight(shape=(3, 3), initializer="orthogonal", name="embedding")
            self.alias = self.embedding

        def call(self, x: Any) -> Any:
            return tf.tanh(x @ self.embedding) @ tf.transpose(self.alias)

    layer = Tied()

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x) ** 2)
        gradient = tape.gradient(loss, layer.alias.value)
        layer.embedding.assign_sub(0.5 * gradient)
        return loss, gradient, layer.alias + 0.0

    return function


@TRAPS.made()
def one_layer_under_two_names() -> Any:
    class Twice(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = keras.layers.Dense(3, kernel_initializer="orthogonal")
            self.second, self.rest = self.first, [self.first]
            self.norm = keras.layers.BatchNormalization(momentum=0.5)

        def call(self, x: Any, training: Any = None) -> Any:
            for layer in (self.first, self.norm, self.second, self.norm, *self.rest):
                x = layer(x, training=training) if layer is self.norm else layer(x)
            return x

    model = Twice()
    model(tf.zeros((2, 3)))
    return lambda x: (model(x, training=True), model(x))


@TRAPS.made()
def copy_of_a_variable() -> Any:
    first = tf.Variable([1.0, 2.0, 3.0])
    second = copy.deepcopy(first)

    def function(x: Any) -> Any:
        first.assign_add(x[0])
        return first * second

    return function


@TRAPS.made()
def copy_of_a_module() -> Any:
    class Holder(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([1.0, 2.0, 3.0])

    first = Holder()
    second = copy.deepcopy(first)

    def function(x: Any) -> Any:
        second.w.assign_sub(x[0])
        return first.w * 2.0 - second.w

    return function


@TRAPS.made(
    changes={
        1: lambda f: f.held["a"].assign([9.0, 9.0, 9.0]),
        2: lambda f: f.held.update(a=tf.Variable([5.0, 5.0, 5.0])),
    }
)
def alias_that_the_user_replaces() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])
    held = {"a": state}

    def function(x: Any) -> Any:
        held["a"].assign_add(x[0])
        return state * 1.0, held["a"] * 2.0

    function.held = held  # type: ignore[attr-defined]
    return function


# ------------------------------------------------------------------------------------- memory of numpy
def _of(held: Any, function: Callable[[Any], Any]) -> Any:
    function.held = held  # type: ignore[attr-defined]
    return function


def _fills(function: Any) -> None:
    function.held[...] = 7.0


ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    "multiplied": lambda x, a: x * a,
    "constant_in_each_call": lambda x, a: x * tf.constant(a),
    "converted_in_each_call": lambda x, a: x * tf.convert_to_tensor(a),
    "on_the_left": lambda x, a: a - x,
    "its_view": lambda x, a: x * a[::-1],
    "its_element": lambda x, a: x * a[1],
    "its_float": lambda x, a: x * float(a[0]),
    "its_sum": lambda x, a: x + a.sum(),
    "its_list": lambda x, a: x + a.tolist(),
    "in_a_branch": lambda x, a: x * 2.0 if a[0] > 3.0 else x * a,
    "stacked_with": lambda x, a: tf.stack([a, x[0]]),
    "added_by_add_n": lambda x, a: tf.math.add_n([x[0], a]),
}


def _with_array(use: Any) -> Any:
    array = np.array([2.0, 3.0, 4.0], "float32")
    return _of(array, lambda x: use(x, array))


TRAPS.update(
    {
        f"array_{name}_and_changed": Trap(lambda u=use: _with_array(u), _SAME, changes={1: _fills, 2: _fills})
        for name, use in ARRAYS.items()
    }
)


@TRAPS.made(changes={1: _fills})
def constant_of_an_array_that_changes() -> Any:
    array = np.array([2.0, 3.0, 4.0], "float32")
    constant = tf.constant(array)
    return _of(array, lambda x: x * constant)


@TRAPS.made(changes={1: _fills})
def variable_of_an_array_that_changes() -> Any:
    array = np.array([2.0, 3.0, 4.0], "float32")
    state = tf.Variable(array)

    def function(x: Any) -> Any:
        state.assign_add(x[0])
        return x * state

    return _of(array, function)


@TRAPS.made(changes={1: _fills})
def array_in_a_dict_in_an_object_that_changes() -> Any:
    class Settings:
        def __init__(self, array: Any) -> None:
            self.tables = {"a": [array, array * 2.0]}

        def __call__(self, x: Any) -> Any:
            return x * self.tables["a"][0] + self.tables["a"][1]

    array = np.array([2.0, 3.0, 4.0], "float32")
    settings = Settings(array)
    return _of(array, settings)


@TRAPS.made(changes={1: _fills})
def view_of_an_array_that_changes() -> Any:
    array = np.zeros((2, 3), "float32")
    view = array[1]
    return _of(array, lambda x: x * view)


@TRAPS.made(changes={1: lambda f: f.held.__setitem__(0, 5.0)})
def list_of_numbers_that_changes() -> Any:
    numbers = [2.0, 3.0, 4.0]
    return _of(numbers, lambda x: x * tf.constant(numbers))


@TRAPS.function(lambda: (np.ones((4, 3), "float32"),), lambda: (np.full((4, 3), 2.0, "float32"),))
def argument_of_numpy_is_returned(x: Any) -> Any:
    y = tf.convert_to_tensor(x)
    return y, y * 2.0


@TRAPS.function()
def numpy_of_an_argument_is_written(x: Any) -> Any:
    copied = np.array(x)
    copied[0] = 5.0
    return x + copied, x * 2.0


@TRAPS.function()
def numpy_of_a_result_is_written(x: Any) -> Any:
    y = tf.exp(x)
    copied = y.numpy()
    copied[:, 0] = 0.0
    return y, y + copied


@TRAPS.function()
def one_tensor_under_many_names(x: Any) -> Any:
    y = x
    z = [y, {"y": y}]
    y = y + 1.0
    return x, y, z, z[0] is x, z[0] is y


@TRAPS.function()
def identity_is_another_tensor(x: Any) -> Any:
    y = tf.identity(x)
    return y is x, tf.convert_to_tensor(x) is x, y, {id(x): 1.0, id(y): 2.0}.get(id(y))


@TRAPS.function()
def list_that_is_written_through_two_names(x: Any) -> Any:
    first = [x, x * 2.0]
    second = first
    third = list(first)
    second[0] = x - 1.0
    first.append(x + 1.0)
    return first, second, third, len(second)


@TRAPS.function()
def rows_of_one_list(x: Any) -> Any:
    rows = [[0.0] * 3] * 2
    rows[0][1] = x[0, 0]
    return tf.stack([tf.stack(list(map(tf.convert_to_tensor, row))) for row in rows])


@TRAPS.function(lambda: (drawn(),) * 2, lambda: (drawn(), drawn(seed=1)), lambda: ((y := drawn(6)), y))
def one_tensor_as_two_arguments(a: Any, b: Any) -> Any:
    return a * b, a is b, a + 1.0


@TRAPS.function(lambda: (drawn(),) * 2, lambda: (drawn(), drawn(seed=1)), lambda: ((y := drawn(6)), y))
def one_tensor_as_two_arguments_of_operator(a: Any, b: Any) -> Any:
    return a * b, operator.is_(a, b)


@TRAPS.function(lambda: (drawn(),) * 2, lambda: (drawn(), drawn(seed=1)), lambda: ((y := drawn(6)), y))
def one_tensor_as_two_arguments_of_is_by_another_name(a: Any, b: Any) -> Any:
    return a * b, are_one(a, b)


@TRAPS.function(lambda: (drawn(),) * 2, lambda: (drawn(), drawn(seed=1)), lambda: ((y := drawn(6)), y))
def one_tensor_has_one_reference(a: Any, b: Any) -> Any:
    return a * b, a.ref() == b.ref()


@TRAPS.function(lambda: (drawn(),) * 2, lambda: (drawn(), drawn(seed=1)), lambda: ((y := drawn(6)), y))
def one_tensor_or_none(a: Any, b: Any) -> Any:
    return a * b, a is (b if a.shape.rank else None)


@TRAPS.function(lambda: ([drawn()] * 2,), lambda: ([drawn(), drawn(seed=1)],), lambda: ([drawn(6)] * 2,))
def one_tensor_twice_in_a_list(xs: Any) -> Any:
    xs[0] = xs[0] * 2.0
    return xs[0] - xs[1]


_VARIABLE = tf.Variable([1.0, 2.0, 3.0])


@TRAPS.function(lambda: (_VARIABLE, _VARIABLE), lambda: (_VARIABLE, tf.Variable([4.0, 5.0, 6.0])))
def one_variable_as_two_arguments(a: Any, b: Any) -> Any:
    return a * b, tf.reduce_sum(a - b)


@TRAPS.function()
def augmented_assignment_makes_another_tensor(x: Any) -> Any:
    y = x
    y += 1.0
    z = y
    z *= x
    return x, y, z


@TRAPS.made()
def augmented_assignment_of_what_a_closure_holds() -> Any:
    table = tf.constant([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        local = table
        local += x[0]
        return local, table

    return function


@TRAPS.made()
def returned_variable_is_what_it_holds_then() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        first = state.assign_add(x[0])
        kept = first + 0.0
        state.assign_add(x[1])
        return kept, state.read_value()

    return function


@TRAPS.made()
def assign_gives_the_variable() -> Any:
    """In eager mode ``assign`` returns the variable, so that later writes change the result."""
    state = tf.Variable([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        first = state.assign(x[0])
        state.assign_add([1.0, 1.0, 1.0])
        return first * 1.0, state * 1.0

    return function


@TRAPS.made()
def assign_gives_the_variable_in_a_tf_function() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def function(x: Any) -> Any:
        first = state.assign(x[0])
        state.assign_add([1.0, 1.0, 1.0])
        return first * 1.0, state * 1.0

    return function


@TRAPS.made()
def assignments_in_a_chain() -> Any:
    state = tf.Variable([1.0, 2.0, 3.0])
    return lambda x: state.assign_add(x[0]).assign_sub(x[1]).assign(state * 0.5) * 1.0
