"""Tests of Keras layers and models on TensorFlow, with gradients, in every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

import graph_compiler  # noqa: E402

from .gradients import gradient_by_target, gradient_by_tensorflow  # noqa: E402
from .layers import CASES  # noqa: E402

TARGETS = ("tensorflow", "torch", "jax", "numpy")


def assert_same(found: Any, right: Any) -> None:
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(right), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-4, atol=2e-5)
        assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_layer(name: str, to: str) -> None:
    case = CASES[name]
    layer, arrays, others = case.make(), case.arrays(), case.arrays(other=True)
    right = layer(*arrays), layer(*others)
    graph = graph_compiler.compile(layer, to=to, args=arrays)
    assert_same((graph(*arrays), graph(*others)), right)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", ["torch", "jax", "numpy"])
@pytest.mark.parametrize("name", ["silu", "sparsemax"])
def test_activation_in_16_bits(name: str, to: str) -> None:
    """NumPy has no bfloat16 of its own for the scalars and sizes."""
    layer, x = (
        keras.layers.Activation(name, dtype="mixed_bfloat16"),
        tf.reshape(tf.linspace(-2.0, 2.0, 24), (4, 6)),
    )
    graph = graph_compiler.compile(lambda x: tf.cast(layer(x), tf.float32), to=to, args=(x[:3, :5],))
    np.testing.assert_allclose(np.asarray(graph(x)), tf.cast(layer(x), tf.float32), rtol=1.6e-2, atol=1e-2)
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", ["tensorflow", "torch", "jax"])
@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if len(case.shapes) == 1 and not case.most]
)
def test_gradient(name: str, to: str) -> None:
    case = CASES[name]
    layer, (x,) = case.make(), case.arrays(other=True)
    layer(x)
    graph = graph_compiler.compile(layer, to=to, args=case.arrays())
    assert_same(gradient_by_target(graph, to, x), gradient_by_tensorflow(layer, x))


@pytest.mark.parametrize("to", TARGETS)
def test_normalisation_in_training_moves_its_statistics(to: str) -> None:
    layer, right = keras.layers.BatchNormalization(), keras.layers.BatchNormalization()
    x = tf.constant(np.random.default_rng(0).standard_normal((6, 3)).astype("float32"))
    layer(x), right(x)
    graph = graph_compiler.compile(lambda x: layer(x, training=True), to=to, args=(x[:4],))
    for _ in range(2):
        assert_same(graph(x), right(x, training=True))
    assert_same([layer.moving_mean, layer.moving_variance], [right.moving_mean, right.moving_variance])


@pytest.mark.parametrize("to", TARGETS)
def test_dropout_draws_what_keras_draws(to: str) -> None:
    layer, right = keras.layers.Dropout(0.5, seed=7), keras.layers.Dropout(0.5, seed=7)
    x = tf.ones((5, 4))
    graph = graph_compiler.compile(lambda x: layer(x, training=True), to=to, args=(tf.ones((3, 2)),))
    for _ in range(3):
        assert_same(graph(x), right(x, training=True))


def test_parameters_have_the_paths_of_the_variables() -> None:
    model = CASES["residual network"].make()
    graph = graph_compiler.transpile(model, to="torch", args=CASES["residual network"].arrays())
    assert set(graph.parameters) == {variable.path for variable in model.weights}
    assert graph.trained == frozenset(variable.path for variable in model.trainable_variables)


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_network_of_keras_applications(to: str) -> None:
    model = keras.applications.MobileNetV3Small(input_shape=(32, 32, 3), weights=None, classes=10)
    x = tf.constant(np.random.default_rng(0).uniform(0, 255, (3, 32, 32, 3)).astype("float32"))
    graph = graph_compiler.transpile(model, to=to, args=(x[:2],))
    assert_same(graph(x), model(x))


@pytest.mark.parametrize("to", ["tensorflow", "torch"])
def test_training_step_leaves_what_the_optimizer_keeps(to: str) -> None:
    """Gradients taken inside are operations of the graph, and have derivatives up to a limited order."""

    def made() -> tuple[Any, list[Any]]:
        optimizer, weight = keras.optimizers.Adam(0.1), keras.Variable([1.0, -2.0, 0.5], name="weight")
        optimizer.build([weight])

        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                total = tf.reduce_sum((x * weight.value) ** 2)
            optimizer.apply([tape.gradient(total, weight.value)], [weight])
            return total

        return step, [*optimizer.variables, weight]

    (step, kept), (right, own) = made(), made()
    graph = graph_compiler.compile(step, to=to, args=(tf.ones((4, 3)),))
    for rows in (4, 6):
        x = tf.reshape(tf.range(rows * 3, dtype=tf.float32), (rows, 3)) / 10
        assert_same(graph(x), right(x))
    assert_same([variable.value for variable in kept], [variable.value for variable in own])
