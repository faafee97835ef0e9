"""Traps with Keras layers: state, training mode, tracked containers, nested layers."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .table import Call, Keywords, Trap, Traps, drawn

TRAPS = Traps()
L = keras.layers


def _steps(*shape: int, seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


_SEQUENCES: tuple[Call, ...] = (
    lambda: (_steps(2, 5, 3),),
    lambda: (_steps(2, 5, 3, seed=1),),
    lambda: (_steps(2, 7, 3),),
    lambda: (_steps(4, 5, 3),),
)
_ONE_BATCH: tuple[Call, ...] = (
    lambda: (_steps(2, 5, 3),),
    lambda: (_steps(2, 5, 3, seed=1),),
    lambda: (_steps(2, 7, 3),),
)
_TRAINING: tuple[Call, ...] = (
    lambda: (drawn(),), lambda: (drawn(), Keywords(training=True)), lambda: (drawn(6), Keywords(training=True)), lambda: (drawn(6), Keywords(training=False)),
)  # fmt: skip


def _filled(layer: Any, *shape: int | None) -> Any:
    """Build the layer if a shape is given, set its weights to the same random numbers at each call, and
    return it.
    """
    layer.build(shape) if shape else None
    random = np.random.default_rng(7)
    for variable in layer.variables:
        if "float" in str(variable.dtype):
            variable.assign(random.uniform(0.1, 0.9, variable.shape))
    return layer


@TRAPS.made(*_TRAINING)
def batch_normalisation() -> Any:
    return _filled(L.BatchNormalization(momentum=0.5), None, 3)


@TRAPS.made(*_TRAINING, draws=True)
def dropout() -> Any:
    return L.Dropout(0.5, seed=3)


@TRAPS.made(*_TRAINING)
def dropout_of_nothing() -> Any:
    return L.Dropout(0.0)


@TRAPS.made(lambda: (drawn(1000),), lambda: (drawn(1000), Keywords(training=True)), draws=True)
def noise() -> Any:
    return L.GaussianNoise(0.5)


@TRAPS.made(draws=True)
def seed_generator() -> Any:
    seeds = keras.random.SeedGenerator(3)
    return lambda x: x + keras.random.normal(tf.shape(x), seed=seeds)


@TRAPS.made(*_ONE_BATCH)
def stateful_lstm() -> Any:
    layer = L.LSTM(4, stateful=True)
    layer(_steps(2, 5, 3))
    layer.reset_states()
    return _filled(layer)


@TRAPS.made(*_ONE_BATCH, changes={1: lambda layer: layer.reset_states()})
def stateful_gru_is_reset() -> Any:
    layer = L.GRU(4, stateful=True, return_sequences=True)
    layer(_steps(2, 5, 3))
    layer.reset_states()
    return _filled(layer)


@TRAPS.made(*_SEQUENCES)
def time_distributed() -> Any:
    return _filled(L.TimeDistributed(L.Dense(2)), None, None, 3)


@TRAPS.made(
    lambda: (_steps(2, 3, 6, 6, 2),), lambda: (_steps(2, 4, 6, 6, 2),), lambda: (_steps(3, 3, 6, 6, 2),)
)
def time_distributed_images() -> Any:
    return _filled(L.TimeDistributed(L.Conv2D(3, 3)), None, None, 6, 6, 2)


@TRAPS.made(*_SEQUENCES)
def cells() -> Any:
    return _filled(L.RNN([L.GRUCell(4), L.LSTMCell(3)], return_sequences=True), None, None, 3)


class Decay(keras.Layer):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.state_size = self.units = units

    def build(self, shape: Any) -> None:
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
        self.built = True

    def call(self, row: Any, states: Any) -> Any:
        state = tf.tanh(row @ self.kernel + 0.5 * states[0])
        return state * 2.0, [state]


@TRAPS.made(*_SEQUENCES)
def cell_of_the_user() -> Any:
    return _filled(L.RNN(Decay(4), return_sequences=True, return_state=True), None, None, 3)


@TRAPS.made(*_SEQUENCES)
def unrolled() -> Any:
    return _filled(L.SimpleRNN(4, unroll=True), None, 5, 3)


@TRAPS.made(*_SEQUENCES)
def both_directions() -> Any:
    return _filled(L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="concat"), None, None, 3)


@TRAPS.made(*_SEQUENCES)
def both_directions_are_added() -> Any:
    return _filled(
        L.Bidirectional(L.GRU(3), merge_mode="sum", backward_layer=L.GRU(3, go_backwards=True)), None, None, 3
    )


@TRAPS.made(lambda: (_steps(2, 3, 6, 6, 2),), lambda: (_steps(2, 4, 6, 6, 2),))
def convolutional_lstm() -> Any:
    return _filled(L.ConvLSTM2D(3, 3, return_sequences=True), None, None, 6, 6, 2)


@TRAPS.made(*_SEQUENCES)
def masked() -> Any:
    model = keras.Sequential([L.Masking(0.0), L.LSTM(4, return_sequences=True), L.Dense(2)])
    return _filled(model, None, None, 3)


@TRAPS.made(
    lambda: (_steps(2, 5, 3), Keywords(mask=tf.constant([[True] * 3 + [False] * 2] * 2))),
    lambda: (
        _steps(2, 5, 3, seed=1),
        Keywords(mask=tf.constant([[True] * 4 + [False], [True] * 2 + [False] * 3])),
    ),
)
def mask_is_given() -> Any:
    return _filled(L.GRU(4, return_sequences=True, zero_output_for_mask=True), None, None, 3)


@TRAPS.made(
    lambda: (_steps(2, 5, 3), Keywords(initial_state=[_steps(2, 4), _steps(2, 4, seed=1)])),
    lambda: (_steps(3, 6, 3), Keywords(initial_state=[_steps(3, 4), _steps(3, 4, seed=1)])),
)
def state_is_given() -> Any:
    return _filled(L.LSTM(4, return_state=True), None, None, 3)


class Wrapped(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = {"first": L.Dense(4), "rest": [L.Dense(4), L.Dense(4)]}
        self.options = {"scale": 2.0, "order": ["rest", "first"]}
        self.sizes = [1, 2, 3]

    def call(self, x: Any, training: bool = False) -> Any:
        x = self.blocks["first"](x)
        for layer in self.blocks["rest"]:
            x = x + layer(x)
        return {"x": x * self.options["scale"], "sum": sum(self.sizes)}


@TRAPS.made(
    changes={1: lambda model: model.options.update({"scale": 3.0}), 2: lambda model: model.sizes.append(4)}
)
def containers_of_keras_change() -> Any:
    model = Wrapped()
    model(drawn())
    return _filled(model)


@TRAPS.made(changes={2: lambda model: setattr(model, "trainable", False)})
def frozen_between_calls() -> Any:
    return _filled(L.BatchNormalization(), None, 3)


@TRAPS.made()
def model_of_functions() -> Any:
    given = keras.Input((3,))
    hidden = L.Dense(4, activation="gelu")(given)
    return _filled(
        keras.Model(given, {"a": L.Dense(2)(hidden), "b": [hidden, L.Concatenate()([hidden, given])]})
    )


@TRAPS.made(lambda: ({"a": drawn(), "b": drawn(seed=1)},), lambda: ({"b": drawn(6), "a": drawn(6, seed=1)},))
def model_of_named_inputs() -> Any:
    first, second = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    return _filled(keras.Model({"a": first, "b": second}, L.Dense(2)(first - 2.0 * second)))


@TRAPS.made()
def shared_layer() -> Any:
    layer = _filled(L.Dense(3), None, 3)
    return lambda x: layer(layer(x)) + layer(x[:1])


@TRAPS.made(lambda: (drawn(), tf.constant([0, 1, 2, 0])), lambda: (drawn(6), tf.constant([0, 1, 2, 0, 1, 1])))
def training_step() -> Any:
    model = _filled(keras.Sequential([L.Dense(4, activation="tanh"), L.Dense(3)]), None, 3)
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build(model.trainable_variables)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            total = loss(y, model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(total, model.trainable_variables), model.trainable_variables)
        )
        return total

    return step


@TRAPS.made(
    lambda: (tf.constant([0, 1, 2]), tf.constant([0, 1, 1])),
    lambda: (tf.constant([0, 1, 2, 3]), tf.constant([0, 1, 1, 3])),
)
def metric() -> Any:
    found = keras.metrics.Accuracy()

    def function(y: Any, predicted: Any) -> Any:
        found.update_state(y, predicted)
        return found.result()

    return function


@TRAPS.made()
def loss_is_added() -> Any:
    layer = _filled(L.Dense(3, kernel_regularizer="l2", activity_regularizer="l1"), None, 3)

    def function(x: Any) -> Any:
        y = layer(x)
        return y, sum(layer.losses)

    return function


@TRAPS.made()
def spectral_normalisation() -> Any:
    return _filled(L.SpectralNormalization(L.Dense(4)), None, 3)


@TRAPS.made(lambda: (drawn(),), lambda: (drawn(seed=1),), lambda: (drawn(6),))
def weights_are_assigned_between_calls() -> Any:
    return _filled(L.Dense(4), None, 3)


@TRAPS.made()
def layer_that_is_not_built() -> Any:
    return L.Dense(4, kernel_initializer="ones")


def _unbuilt() -> Any:
    return keras.Sequential(
        [L.Rescaling(2.0), L.Dense(4, kernel_initializer="ones"), L.BatchNormalization(), L.Dense(2)]
    )


TRAPS["model_that_is_not_built"] = Trap(_unbuilt)


@TRAPS.made()
def part_that_is_not_built() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [_unbuilt(), keras.Sequential([L.Flatten(), L.Dense(3)])]

        def call(self, x: Any, training: Any = None) -> Any:
            return [part(x, training=training) for part in self.parts]

    return Net()


@TRAPS.made()
def lambda_layer() -> Any:
    return L.Lambda(lambda x: tf.sort(x, axis=0)[:2] * 2.0)


@TRAPS.made(lambda: (tf.cast(drawn(), tf.float16),), lambda: (tf.cast(drawn(6), tf.float16),))
def mixed_precision() -> Any:
    return _filled(L.Dense(4, dtype="mixed_float16"), None, 3)


class Feedback(keras.Layer):
    def build(self, shape: Any) -> None:
        self.last = self.add_weight(shape=(shape[-1],), trainable=False, initializer="zeros", name="last")

    def call(self, x: Any) -> Any:
        y = x + self.last
        self.last.assign(tf.reduce_mean(y, 0))
        return y


@TRAPS.made()
def layer_with_feedback() -> Any:
    layer = Feedback()
    layer.build((None, 3))
    return layer


@TRAPS.function()
def operations_of_keras(x: Any) -> Any:
    ops = keras.ops
    return (
        ops.scan(lambda state, row: (state + row, state), ops.zeros((3,)), x),
        ops.cond(ops.sum(x) > 0, lambda: x, lambda: -x),
    )


@TRAPS.function()
def loops_of_keras(x: Any) -> Any:
    ops = keras.ops
    summed = ops.fori_loop(0, 3, lambda place, state: state * 0.5 + x[place], ops.zeros((3,)))
    until = ops.while_loop(lambda y: ops.sum(ops.abs(y)) < 50.0, lambda y: (y * 1.5,), (x,))
    return (
        summed,
        until,
        ops.vectorized_map(lambda row: row * ops.sum(row), x),
        ops.map(lambda row: row * 2.0, x),
    )
