"""Tests of typical Keras code: custom layers, nested models, dicts, losses, policies, training steps."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras
import tensorflow as tf

import graph_compiler
from tests.support.kernels import run

from .judging import exactly, judge

L = keras.layers
TARGETS = ("torch", "jax", "numpy", "tensorflow")
Made = tuple[Callable[..., Any], list[Any], list[tuple[int, ...]]]


class Gated(keras.Layer):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.inner = L.Dense(units)
        self.units = units

    def build(self, shape: Any) -> None:
        self.gate = self.add_weight(shape=(self.units,), initializer="ones", name="gate")
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False, name="seen")

    def call(self, x: Any, training: bool = False) -> Any:
        if training:
            self.seen.assign_add(1.0)
        made = self.inner(x) * keras.ops.sigmoid(self.gate)
        self.add_loss(0.1 * keras.ops.mean(keras.ops.square(made)))
        return made


class TwoTowers(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.head = (
            Gated(4),
            keras.Sequential([L.Dense(4, activation="relu"), L.Dense(4)]),
            L.Dense(2),
        )

    def call(self, inputs: dict[str, Any], training: bool = False) -> dict[str, Any]:
        left, right = self.left(inputs["a"], training=training), self.right(inputs["b"])
        return {"scores": self.head(left * right), "both": keras.ops.concatenate([left, right], axis=-1)}


def custom_model() -> Made:
    model = TwoTowers()
    return (lambda a, b: model({"a": a, "b": b})), [model], [(3, 5), (3, 6)]


def custom_model_in_training() -> Made:
    model = TwoTowers()
    return (lambda a, b: model({"a": a, "b": b}, training=True)), [model], [(3, 5), (3, 6)]


def shared_layers() -> Made:
    first, second, shared = keras.Input((4,)), keras.Input((4,)), L.Dense(3, activation="tanh")
    model = keras.Model([first, second], [shared(first) + shared(second), shared(second)])
    return (lambda x, y: model([x, y])), [model], [(3, 4), (3, 4)]


def nested_models() -> Made:
    inner = keras.Sequential([keras.Input((6,)), L.Dense(4), L.LayerNormalization()])
    image = keras.Input((6,))
    outer = keras.Model(image, {"features": inner(image), "sum": L.Add()([inner(image), L.Dense(4)(image)])})
    return outer, [outer], [(3, 6)]


def loss_of_a_model() -> Made:
    model = keras.Sequential(
        [
            keras.Input((6,)),
            L.Dense(4, kernel_regularizer="l2", activity_regularizer="l1"),
            L.ActivityRegularization(l2=0.1),
            Gated(3),
        ]
    )

    def loss(x: Any, y: Any) -> Any:
        scores = model(x)
        return keras.losses.mean_squared_error(y, scores), sum(model.losses)

    return loss, [model], [(4, 6), (4, 3)]


def losses() -> Made:
    found = [
        keras.losses.MeanSquaredError(), keras.losses.Huber(), keras.losses.LogCosh(), keras.losses.CosineSimilarity(), keras.losses.MeanAbsoluteError(),
        keras.losses.CategoricalCrossentropy(label_smoothing=0.1), keras.losses.BinaryCrossentropy(), keras.losses.Hinge(),
        keras.losses.Tversky(), keras.losses.Dice(), keras.losses.BinaryFocalCrossentropy(), keras.losses.KLDivergence(), keras.losses.Poisson(),
    ]  # fmt: skip
    return (
        (lambda y, scores: [loss(keras.ops.sigmoid(y), keras.ops.sigmoid(scores)) for loss in found]),
        [],
        [(4, 3), (4, 3)],
    )


def metrics() -> Made:
    found = [keras.metrics.MeanSquaredError(), keras.metrics.Mean(), keras.metrics.CategoricalAccuracy()]

    def measured(y: Any, scores: Any) -> Any:
        found[0].update_state(y, scores)
        found[1].update_state(scores)
        found[2].update_state(y, scores)
        return [metric.result() for metric in found]

    return measured, found, [(4, 3), (4, 3)]


def mixed_precision() -> Made:
    policy = keras.DTypePolicy("mixed_bfloat16")
    model = keras.Sequential(
        [
            keras.Input((6,)),
            L.Dense(8, activation="relu", dtype=policy),
            L.LayerNormalization(dtype=policy),
            L.Dense(3, dtype="float32"),
        ]
    )
    return model, [model], [(4, 6)]


def channels_first() -> Made:
    model = keras.Sequential(
        [
            keras.Input((3, 8, 8)),
            L.Conv2D(4, 3, data_format="channels_first", padding="same"),
            L.BatchNormalization(axis=1),
            L.ReLU(),
            L.GlobalAveragePooling2D(data_format="channels_first"),
        ]
    )
    return model, [model], [(2, 3, 8, 8)]


def tokens() -> Made:
    query = keras.Input((None, 8))
    x = L.Add()([query, L.MultiHeadAttention(2, 4)(query, query)])
    x = L.LayerNormalization(epsilon=1e-6)(x)
    x = L.Add()([x, L.Dense(8)(L.Dense(16, activation="gelu")(x))])
    model = keras.Model(query, L.Dense(4)(L.GlobalAveragePooling1D()(L.LayerNormalization()(x))))
    return model, [model], [(2, 5, 8)]


def loaded_from_a_file() -> Made:
    model = keras.Sequential(
        [keras.Input((6,)), L.Dense(4, activation="selu"), L.BatchNormalization(), L.Dense(3)]
    )
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Keras' variables warn when they are converted to NumPy arrays.
        warnings.simplefilter("ignore", DeprecationWarning)
        model.save(f"{folder}/model.keras")
        loaded = keras.models.load_model(f"{folder}/model.keras")
    return loaded, [loaded], [(4, 6)]


class Masked(keras.layers.Layer):
    supports_masking = True

    def call(self, x: Any, mask: Any = None, scale: float = 1.0) -> Any:
        return x * scale if mask is None else keras.ops.where(mask[..., None], x * scale, -1.0)


def compiled_and_called_with_keywords() -> Made:
    tokens, scores = keras.Input((5, 3), name="tokens"), keras.Input((5, 3), name="scores")
    found = Masked()(L.Masking(0.0)(tokens) + scores, scale=2.0)
    model = keras.Model({"tokens": tokens, "scores": scores}, L.GlobalAveragePooling1D()(found))
    model.compile("adam", "mse", metrics=["mae"])
    layer = Masked()
    return (
        lambda x, y: (
            model({"tokens": keras.ops.relu(x), "scores": y}, training=False),
            layer(x, mask=x[..., 0] > 0, scale=3.0),
        ),
        [model],
        [(2, 5, 3), (2, 5, 3)],
    )


def compiled_by_xla() -> Made:
    model = keras.Sequential([keras.Input((6,)), L.Dense(4, activation="gelu"), L.LayerNormalization()])
    return tf.function(lambda x: model(x), jit_compile=True), [model], [(4, 6)]  # noqa: PLW0108


def through_time_in_a_tf_function() -> Made:
    model = keras.Sequential(
        [keras.Input((5, 6)), L.TimeDistributed(L.Dense(4)), L.TimeDistributed(L.BatchNormalization())]
    )
    return tf.function(lambda x: model(x, training=True)), [model], [(4, 5, 6)]


class Contained(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.ways = {"left": [L.Dense(4), L.Dense(4)], "right": {"deep": L.Dense(4)}}
        self.sizes = {"scale": 2.0, "order": ["left", "right"]}

    def call(self, x: Any) -> Any:
        found = dict.fromkeys(self.sizes["order"], x * self.sizes["scale"])
        for layer in self.ways["left"]:
            found["left"] = layer(found["left"])
        return {**found, **{name: layer(x) for name, layer in self.ways["right"].items()}}


def layers_in_containers() -> Made:
    model = Contained()
    return model, [model], [(4, 6)]


PROGRAMS = (
    custom_model, custom_model_in_training, shared_layers, nested_models, loss_of_a_model, losses, metrics, mixed_precision, channels_first, tokens,
    loaded_from_a_file, compiled_and_called_with_keywords, compiled_by_xla, through_time_in_a_tf_function, layers_in_containers,
)  # fmt: skip


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[], Made], to: str) -> None:
    keras.utils.set_random_seed(0)
    function, owners, shapes = program()
    random = np.random.default_rng(0)
    calls = [
        [
            tf.constant(random.standard_normal((rows + more, *rest)).astype("float32"))
            for rows, *rest in shapes
        ]
        for more in (0, 1)
    ]
    # The first call builds the layers.
    run(function, *calls[0])
    judge(
        function,
        [variable for owner in owners for variable in owner.variables],
        calls,
        to,
        computed_in="bfloat16" if "mixed" in program.__name__ else "float32",
        exactly=exactly(function) if isinstance(function, keras.Sequential) else None,
    )


# JAX has no gradient through such a loop.
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_loops_beside_functions_of_tensorflow_1(to: str) -> None:
    model = keras.Sequential([keras.Input((6, 3)), L.LSTM(4, return_sequences=True)])

    def loss(x: Any) -> Any:
        ones = keras.ops.ones(keras.ops.shape(x)[:1], dtype="int32")
        return keras.ops.ctc_loss(ones[:, None], model(x), ones, 6 * ones)

    random = np.random.default_rng(0)
    judge(
        loss,
        model.variables,
        [[tf.constant(random.standard_normal((rows, 6, 3)).astype("float32"))] for rows in (3, 4)],
        to,
    )


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Nadam", "Lion", "Adamax", "Ftrl"]
)
@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_step_of_an_optimizer(name: str, to: str) -> None:
    """After two steps with another batch size, weights and optimizer state are those of Keras."""

    def made() -> tuple[Any, list[Any]]:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((3,)), L.Dense(4, activation="tanh"), L.Dense(2)])
        optimizer = getattr(keras.optimizers, name)(0.01)
        optimizer.build(model.trainable_variables)

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            optimizer.apply(
                tape.gradient(loss, [variable.value for variable in model.trainable_variables]),
                model.trainable_variables,
            )
            return loss

        return step, [*model.variables, *optimizer.variables]

    (step, kept), (right, own) = made(), made()
    random = np.random.default_rng(0)
    x, y = (
        tf.constant(random.standard_normal((6, 3)).astype("float32")),
        tf.constant(random.standard_normal((6, 2)).astype("float32")),
    )
    graph = graph_compiler.compile(step, to=to, args=(x[:4], y[:4]))
    for rows in (5, 6):
        np.testing.assert_allclose(
            np.asarray(graph(x[:rows], y[:rows])), right(x[:rows], y[:rows]), rtol=1e-5
        )
    for variable, other in zip(kept, own):
        np.testing.assert_allclose(
            np.asarray(variable), np.asarray(other), rtol=1e-4, atol=1e-6, err_msg=variable.path
        )


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_step_of_a_whole_model_in_a_tf_function(to: str) -> None:
    def made() -> tuple[Any, list[Any]]:
        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [
                keras.Input((3,)),
                L.Dense(4, use_bias=False),
                L.BatchNormalization(),
                L.Dropout(0.3, seed=1),
                Gated(2),
            ]
        )
        optimizer = keras.optimizers.AdamW(
            keras.optimizers.schedules.CosineDecay(0.1, 10), global_clipnorm=1.0
        )
        optimizer.build(model.trainable_variables)
        loss = keras.losses.MeanSquaredError()

        @tf.function
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                found = loss(y, model(x, training=True)) + sum(model.losses)
            optimizer.apply_gradients(
                zip(tape.gradient(found, model.trainable_weights), model.trainable_weights, strict=True)
            )
            return found

        return step, [*model.variables, *optimizer.variables]

    (step, kept), (right, own) = made(), made()
    random = np.random.default_rng(0)
    x, y = (
        tf.constant(random.standard_normal((6, 3)).astype("float32")),
        tf.constant(random.standard_normal((6, 2)).astype("float32")),
    )
    graph = graph_compiler.compile(step, to=to, args=(x[:4], y[:4]))
    for rows in (5, 6, 3):
        np.testing.assert_allclose(
            np.asarray(graph(x[:rows], y[:rows])), right(x[:rows], y[:rows]), rtol=1e-4
        )
    for variable, other in zip(kept, own, strict=True):
        np.testing.assert_allclose(
            np.asarray(variable), np.asarray(other), rtol=1e-4, atol=1e-6, err_msg=variable.path
        )


@pytest.mark.parametrize(
    "options",
    [
        {"filters": 6, "groups": 2},
        {"filters": 8, "groups": 4, "strides": 2, "padding": "same"},
        {"filters": 4, "groups": 4, "strides": (2, 1)},
        {"filters": 6, "groups": 2, "dilation_rate": 2},
    ],
    ids=["two", "channels", "channels, oblong steps", "dilated"],
)
def test_gradient_of_convolutions_in_groups_of_doubles(options: dict[str, Any]) -> None:
    """TensorFlow has no CPU kernel for this gradient, so Keras lets XLA compute it."""
    layer = L.Conv2D(kernel_size=3, dtype="float64", **options)
    small, large = (
        tf.constant(np.random.default_rng(count).standard_normal((count, 9, 8, 4))) for count in (1, 2)
    )
    layer(small)
    judged = judge(layer, layer.variables, [[small], [large]], "tensorflow", computed_in="float64")
    assert judged == {"variants": 1}


def test_a_layer_that_takes_the_first_of_what_it_finds_is_compiled_in_jax() -> None:
    jax, layer, random = pytest.importorskip("jax"), L.Equalization(bins=16), np.random.default_rng(0)
    graph = graph_compiler.transpile(
        layer, to="jax", args=(random.integers(0, 255, (2, 3, 3, 2)).astype("float32"),)
    )
    images = random.integers(0, 255, (3, 4, 5, 2)).astype("float32")
    equalized = jax.jit(graph.functional)(graph.parameters, images)
    # TensorFlow divides in float64 here, so halves are rounded differently.
    assert abs(np.asarray(equalized) - layer(images).numpy()).max() <= 1
