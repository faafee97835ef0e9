"""Tests of Python state in functions, modules and layers of TensorFlow: attributes, containers and closures
that calls change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.selection import pairs

pytest.importorskip("tensorflow")

import keras
import numpy as np
import tensorflow as tf

import graph_compiler
from graph_compiler.errors import TracingError
from tests.support.compare import assert_same, to_numpy

TARGETS = ("torch", "jax", "numpy", "tensorflow")


class Module(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls, self.last, self.by_name, self.rows, self.pair = 0, None, {}, [], (tf.zeros(2), 0.5)
        self.weight = tf.Variable([1.0, 2.0])

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        before, self.last = self.last, x * 2.0 + self.calls
        self.by_name["given"] = x
        self.rows.append(x)
        if len(self.rows) > 2:
            self.rows.pop(0)
        self.pair = (self.pair[0] + x[0], self.pair[1] * 2.0)
        past = 0.0 if before is None else tf.reduce_sum(before)
        return (
            self.weight * x
            + past * self.calls
            + sum(map(tf.reduce_sum, self.rows))
            + self.pair[0] * self.pair[1]
        )


class Layer(keras.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.steps, self.mean, self.rows = 0, None, []
        self.dense = keras.layers.Dense(2, kernel_initializer="identity")

    def build(self, shape: Any) -> None:
        self.dense.build(shape)

    def call(self, x: Any) -> Any:
        self.steps += 1
        y = self.dense(x)
        self.mean = y if self.mean is None else (self.mean + y) / 2.0
        self.rows = [*self.rows, x][-2:]
        return y * self.steps + tf.reduce_mean(self.mean) + sum(map(tf.reduce_sum, self.rows))


def closure() -> Callable[[Any], Any]:
    calls, total = 0, tf.zeros(2)

    def function(x: Any) -> Any:
        nonlocal calls, total
        calls += 1
        total = total + tf.reduce_mean(x, 0)
        return x * total + calls

    return function


PROGRAMS: dict[str, Callable[[], Any]] = {"module": Module, "layer": Layer, "closure": closure}


def given(number: int) -> Any:
    return tf.constant(np.random.default_rng(number).normal(size=(3, 2)).astype("float32"))


@pytest.mark.parametrize(("name", "to"), pairs(PROGRAMS, TARGETS))
def test_state_in_python_is_state_of_the_graph(name: str, to: str) -> None:
    original, function = PROGRAMS[name](), PROGRAMS[name]()
    graph = graph_compiler.compile(function, to=to, args=(given(0),), source="tensorflow")
    for number in range(6):
        assert_same(graph(given(number)), original(given(number)))
    assert len(graph.variants) <= 3
    if name == "module":
        assert function.calls == original.calls
        assert_same(function.last, original.last)
        assert_same([*function.rows], [*original.rows])


@pytest.mark.parametrize("name", PROGRAMS)
def test_verify_leaves_state_as_it_was(name: str) -> None:
    original, function = PROGRAMS[name](), PROGRAMS[name]()
    graph = graph_compiler.compile(function, to="numpy", args=(given(0),), source="tensorflow")
    graph.verify()
    for number in range(2):
        assert_same(graph(given(number)), original(given(number)))


# ----------------------------------------------------------------------------------- cells of Keras that drop
CELLS: dict[str, tuple[Callable[[], Any], tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]] = {
    "SimpleRNNCell": (lambda: keras.layers.SimpleRNNCell(3, dropout=0.4, recurrent_dropout=0.3, seed=1), ((4, 6), (4, 3)), ((5, 6), (5, 3))),
    "GRUCell": (lambda: keras.layers.GRUCell(3, dropout=0.4, recurrent_dropout=0.3, seed=1), ((4, 6), (4, 3)), ((5, 6), (5, 3))),
    "LSTMCell": (lambda: keras.layers.LSTMCell(3, dropout=0.4, recurrent_dropout=0.3, seed=1), ((4, 6), (4, 3), (4, 3)), ((5, 6), (5, 3), (5, 3))),
    "ConvLSTMCell": (
        lambda: keras.layers.ConvLSTM1D(3, 2, padding="same", dropout=0.4, recurrent_dropout=0.3, seed=1).cell,
        ((4, 6, 2), (4, 6, 3), (4, 6, 3)),
        ((5, 6, 2), (5, 6, 3), (5, 6, 3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "to"), pairs(CELLS, TARGETS))
def test_masks_of_a_cell_are_kept_until_they_are_reset(name: str, to: str) -> None:
    make, *shapes = CELLS[name]
    original, cell = make(), make()
    for one in (original, cell):
        called(one, shapes[0], 0)
        reset(one)
    for one, other in zip(cell.weights, original.weights):
        one.assign(other)
    graph = graph_compiler.compile(
        lambda x, *states: cell(x, list(states), training=True)[0], to=to, args=arrays(shapes[0], 0)
    )
    for group in (shapes[0], shapes[1]):
        for number in range(3):
            found, wanted = graph(*arrays(group, number)), called(original, group, number)
            assert_same(found, wanted)
        assert to_numpy(wanted).std() > 0
        reset(original)
        reset(cell)
    # One variant is with masks, the other without.
    assert len(graph.variants) == 2


def arrays(shapes: Any, number: int) -> tuple[Any, ...]:
    random = np.random.default_rng(number)
    return tuple(tf.constant(random.normal(size=shape).astype("float32")) for shape in shapes)


def called(cell: Any, shapes: Any, number: int) -> Any:
    x, *states = arrays(shapes, number)
    return cell(x, states, training=True)[0]


def reset(cell: Any) -> None:
    cell.reset_dropout_mask()
    cell.reset_recurrent_dropout_mask()


# --------------------------------------------------------------------------------------- recordings that fail
def test_a_recording_that_fails_leaves_attributes_and_containers_as_they_were() -> None:
    module = Module()
    module(given(0))
    last, rows = module.last, [*module.rows]

    def function(x: Any) -> Any:
        raise RuntimeError(f"after {module(x).shape}")

    with pytest.raises(RuntimeError, match="after"):
        graph_compiler.compile(function, to="numpy", args=(given(1),))
    assert module.calls == 1 and module.last is last
    assert all(one is other for one, other in zip(module.rows, rows, strict=True))


def test_state_of_code_that_tensorflow_traces_once_is_refused() -> None:
    seen: list[int] = []

    @tf.function
    def inner(x: Any) -> Any:
        seen.append(1)
        return x * 2.0

    with pytest.raises(TracingError, match="runs only while TensorFlow traces it"):
        graph_compiler.compile(lambda x: inner(x), to="numpy", args=(given(0),), source="tensorflow")  # noqa: PLW0108
    assert seen == []


def test_containers_of_arguments_are_changed() -> None:
    def function(parts: Any) -> Any:
        parts["twice"] = parts["x"] * 2.0
        return parts.pop("x")

    graph = graph_compiler.compile(function, to="numpy", args=({"x": given(0)},))
    parts = {"x": given(1)}
    assert_same(graph(parts), given(1))
    assert_same(parts, {"twice": given(1) * 2.0})


def test_a_variable_that_each_call_creates_is_the_error_of_tensorflow() -> None:
    @tf.function
    def creates(x: Any) -> Any:
        return tf.Variable(x) * 2

    with pytest.raises(ValueError, match=r"singleton tf\.Variables"):
        graph_compiler.transpile(creates, to="torch", args=(tf.ones(2),))


def test_a_try_around_an_operation_that_fails_is_refused() -> None:
    def reshaped(x: Any) -> Any:
        try:
            return tf.reshape(x, [2, 2])
        except tf.errors.InvalidArgumentError:
            return x

    with pytest.raises(TracingError, match=r"test_state.py:\d+: an operation fails .* has a try"):
        graph_compiler.compile(reshaped, args=(tf.ones(3),))
    with pytest.raises(tf.errors.InvalidArgumentError):
        graph_compiler.compile(lambda x: tf.reshape(x, [2, 2]), args=(tf.ones(3),))
