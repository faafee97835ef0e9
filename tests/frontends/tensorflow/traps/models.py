"""Traps with Keras models: functional, subclassed and nested models with state, stateful recurrence, masks,
policies, modes, losses.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .table import Call, Keywords, Trap, Traps, drawn, whole

TRAPS = Traps()
L = keras.layers


def _steps(*shape: int, seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def _dense(units: int = 3, **options: Any) -> Any:
    return L.Dense(units, kernel_initializer=keras.initializers.Orthogonal(seed=1), **options)


def _filled(layer: Any, *shape: int | None) -> Any:
    """Build the layer if a shape is given, set its weights to the same random numbers at each call, and
    return it.
    """
    layer.build(shape) if shape else None
    random = np.random.default_rng(7)
    for variable in layer.variables:
        if "float" in str(variable.dtype):
            variable.assign(random.uniform(-0.5, 0.9, variable.shape))
    return layer


_SEQUENCES: tuple[Call, ...] = (
    lambda: (_steps(2, 5, 3),),
    lambda: (_steps(2, 5, 3, seed=1),),
    lambda: (_steps(2, 7, 3, seed=2),),
)
_MODES: tuple[Call, ...] = (
    lambda: (drawn(),), lambda: (drawn(), Keywords(training=True)), lambda: (drawn(6), Keywords(training=False)),
    lambda: (drawn(seed=1), Keywords(training=True)), lambda: (drawn(seed=2),),
)  # fmt: skip


# -------------------------------------------------------------------------------- recurrent layers that go on
STATEFUL: dict[str, Any] = {
    "lstm": lambda: L.LSTM(4, stateful=True, return_state=True),
    "gru_sequences": lambda: L.GRU(4, stateful=True, return_sequences=True),
    "gru_reset_before": lambda: L.GRU(4, stateful=True, reset_after=False),
    "simple": lambda: L.SimpleRNN(4, stateful=True),
    "backwards": lambda: L.LSTM(4, stateful=True, go_backwards=True),
    "unrolled": lambda: L.SimpleRNN(4, stateful=True, unroll=True),
    "both_directions": lambda: L.Bidirectional(L.LSTM(3, stateful=True)),
    "masked": lambda: keras.Sequential([L.Masking(), L.LSTM(3, stateful=True)]),
}
_SAME_LENGTH = (
    lambda: (_steps(2, 5, 3),),
    lambda: (_steps(2, 5, 3, seed=1),),
    lambda: (_steps(2, 5, 3, seed=2),),
)


def _going_on(make: Any) -> Any:
    layer = make()
    layer(_steps(2, 5, 3))
    part = layer.layers[-1] if isinstance(layer, keras.Sequential) else layer
    part.reset_states() if hasattr(part, "reset_states") else part.reset_state()
    _filled(layer)
    for state in part.variables:
        if "state" in state.path:
            state.assign(np.zeros(state.shape))
    return layer


TRAPS.update(
    {f"stateful_{name}": Trap(lambda m=make: _going_on(m), _SAME_LENGTH) for name, make in STATEFUL.items()}
)


@TRAPS.made(*_SEQUENCES)
def stateful_layer_of_another_length() -> Any:
    return _going_on(lambda: L.GRU(4, stateful=True))


@TRAPS.made(*_SAME_LENGTH)
def stateful_layer_twice_in_a_call() -> Any:
    layer = _going_on(lambda: L.GRU(4, stateful=True))
    return lambda x: (layer(x), layer(x * 0.5))


@TRAPS.made(*_SAME_LENGTH)
def stateful_layer_that_resets_itself() -> Any:
    layer = _going_on(lambda: L.LSTM(4, stateful=True))

    def function(x: Any) -> Any:
        first = layer(x)
        layer.reset_states()
        return first, layer(x)

    return function


@TRAPS.made(*_SEQUENCES)
def states_that_python_carries() -> Any:
    cell = _filled(L.LSTMCell(3), None, 3)

    def function(x: Any) -> Any:
        states = [tf.zeros((x.shape[0], 3))] * 2
        outputs = []
        for step in range(3):
            y, states = cell(x[:, step], states)
            outputs.append(y)
        return tf.stack(outputs, 1), states

    return function


@TRAPS.made(*_SEQUENCES)
def encoder_and_decoder() -> Any:
    encoder, decoder = (
        _filled(L.LSTM(4, return_state=True), None, None, 3),
        _filled(L.LSTM(4, return_sequences=True), None, None, 3),
    )

    def function(x: Any) -> Any:
        _, *states = encoder(x)
        return decoder(x[:, ::-1], initial_state=states)

    return function


# ------------------------------------------------------------------------------------- modes
@TRAPS.made(*_MODES)
def functional_model_with_modes() -> Any:
    given = keras.Input((3,))
    hidden = L.BatchNormalization(momentum=0.5)(_dense(4, activation="tanh")(given))
    return keras.Model(given, L.Add()([_dense(3)(hidden), given]))


@TRAPS.made(*_MODES)
def subclass_that_asks_for_the_mode() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.dense = L.BatchNormalization(momentum=0.5), _dense()

        def call(self, x: Any, training: bool | None = None) -> Any:
            y = self.norm(self.dense(x))
            return y * 2.0 if training else y + 1.0

    return _filled(Net(), None, 3)


@TRAPS.made(*_MODES)
def mode_that_is_turned_round() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.norm = L.BatchNormalization(momentum=0.5)

        def call(self, x: Any, training: bool = False) -> Any:
            return self.norm(x, training=not training)

    return _filled(Net(), None, 3)


@TRAPS.made(*_MODES)
def default_of_the_mode_is_training() -> Any:
    class Net(keras.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.norm = L.BatchNormalization(momentum=0.5)

        def build(self, shape: Any) -> None:
            self.norm.build(shape)

        def call(self, x: Any, training: bool = True) -> Any:
            return self.norm(x, training=training)

    return _filled(Net(), None, 3)


@TRAPS.made(*_MODES)
def part_is_always_predicted() -> Any:
    first, second = L.BatchNormalization(momentum=0.5), L.BatchNormalization(momentum=0.9)
    given = keras.Input((3,))
    return _filled(keras.Model(given, second(first(given, training=False))))


@TRAPS.made(*_MODES)
def part_is_not_trainable() -> Any:
    model = keras.Sequential(
        [_dense(), L.BatchNormalization(momentum=0.5), L.BatchNormalization(momentum=0.5)]
    )
    model.build((None, 3))
    model.layers[1].trainable = False
    return model


@TRAPS.made(
    lambda: (drawn(), True),
    lambda: (drawn(), False),
    lambda: (drawn(6), True),
    lambda: (drawn(6), tf.constant(False)),
)
def mode_is_an_argument_by_position() -> Any:
    layer = _filled(L.BatchNormalization(momentum=0.5), None, 3)
    return lambda x, mode: layer(x, training=bool(mode))


@TRAPS.made(*_MODES)
def normalisations_of_every_kind() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [
                L.BatchNormalization(momentum=0.5, center=False),
                L.LayerNormalization(),
                L.GroupNormalization(3),
                L.UnitNormalization(),
            ]
            self.rms = L.RMSNormalization()

        def call(self, x: Any, training: bool = False) -> Any:
            return [
                part(x, training=training) if n == 0 else part(x) for n, part in enumerate(self.parts)
            ], self.rms(x)

    model = Net()
    model(drawn())
    return _filled(model)


@TRAPS.made(*_MODES)
def renormalised_in_groups_of_a_batch() -> Any:
    return _filled(L.BatchNormalization(momentum=0.5, epsilon=0.1, scale=False), None, 3)


@TRAPS.made(
    lambda: (_steps(2, 4, 4, 3), Keywords(training=True)),
    lambda: (_steps(2, 4, 4, 3),),
    lambda: (_steps(3, 5, 5, 3), Keywords(training=True)),
)
def normalised_images() -> Any:
    return _filled(L.BatchNormalization(momentum=0.5), None, None, None, 3)


@TRAPS.made(
    lambda: (_steps(2, 5, 3), Keywords(mask=tf.constant([[True] * 3 + [False] * 2] * 2), training=True)),
    lambda: (
        _steps(2, 5, 3, seed=1),
        Keywords(mask=tf.constant([[True] * 5, [True] + [False] * 4]), training=True),
    ),
    lambda: (_steps(2, 5, 3), Keywords(mask=tf.constant([[True] * 3 + [False] * 2] * 2))),
)
def normalisation_under_a_mask() -> Any:
    return _filled(L.BatchNormalization(momentum=0.5), None, None, 3)


# ------------------------------------------------------------------------------------- policies
POLICIES = ("mixed_float16", "mixed_bfloat16", "float16")


def _under(policy: str) -> Any:
    model = keras.Sequential(
        [
            L.Dense(4, activation="tanh", dtype=policy),
            L.BatchNormalization(momentum=0.5, dtype=policy),
            L.Dense(2),
        ]
    )
    return _filled(model, None, 3)


TRAPS.update(
    {f"policy_{name}": Trap(lambda name=name: _under(name), _MODES, is_half=True) for name in POLICIES}
)


@TRAPS.made()
def layer_of_a_policy_in_one_of_another() -> Any:
    class Outer(keras.Layer):
        def __init__(self) -> None:
            super().__init__(dtype="mixed_float16")
            self.exact = L.Dense(3, dtype="float32", kernel_initializer="ones")
            self.half = L.Dense(3, dtype="mixed_float16", kernel_initializer="ones")

        def build(self, shape: Any) -> None:
            self.exact.build(shape)
            self.half.build(shape)

        def call(self, x: Any) -> Any:
            return self.exact(x), self.half(x), x.dtype == tf.float16

    return Outer()


@TRAPS.made()
def layer_that_casts_nothing() -> Any:
    class Exact(keras.Layer):
        def __init__(self) -> None:
            super().__init__(dtype="mixed_float16", autocast=False)

        def call(self, x: Any) -> Any:
            return x * 2.0, x.dtype == tf.float32

    return Exact()


# -------------------------------------------------------------------------------- how models are put together
@TRAPS.made()
def model_with_an_output_that_is_an_input() -> Any:
    given = keras.Input((3,))
    return keras.Model(given, {"same": given, "twice": [given * 2.0, _dense()(given)]})


@TRAPS.made(lambda: ([drawn(), drawn(seed=1)],), lambda: ([drawn(6), drawn(6, seed=1)],))
def siamese_model() -> Any:
    left, right = keras.Input((3,)), keras.Input((3,))
    tower = keras.Sequential([keras.Input((3,)), _dense(4, activation="tanh"), _dense(2)])
    return keras.Model([left, right], L.Dot(1, normalize=True)([tower(left), tower(right)]))


@TRAPS.made(lambda: (drawn(), None), lambda: (drawn(), drawn(seed=1)), lambda: (drawn(6), None))
def input_that_may_be_missing() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = _dense()

        def call(self, x: Any, context: Any = None) -> Any:
            y = self.dense(x)
            return y if context is None else y * context

    return _filled(Net(), None, 3)


@TRAPS.made()
def model_that_calls_its_parts_by_name() -> Any:
    model = keras.Sequential([_dense(name="a"), L.Activation("relu", name="b"), _dense(2, name="c")])
    model.build((None, 3))
    return lambda x: model.get_layer("c")(model.get_layer("a")(x)) + model(x)


@TRAPS.made()
def layers_in_a_dict_of_lists() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.parts = {"up": [_dense(4), _dense(5)], "down": (_dense(3),)}
            self.order = ["up", "down"]

        def call(self, x: Any) -> Any:
            for name in self.order:
                for part in self.parts[name]:
                    x = tf.tanh(part(x))
            return x

    return _filled(Net(), None, 3)


@TRAPS.made(
    *(lambda n=n, rows=rows: (drawn(rows), Keywords(depth=n)) for n, rows in ((1, 4), (3, 4), (2, 6), (1, 5)))
)
def number_of_layers_is_an_argument() -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [_dense() for _ in range(3)]

        def call(self, x: Any, depth: int = 1) -> Any:
            for part in self.parts[:depth]:
                x = tf.sin(part(x))
            return x

    model = Net()
    model(drawn(), depth=3)
    return _filled(model)


@TRAPS.made(*(lambda n=n: (drawn(seed=n) + n - 1.5,) for n in range(4)))
def layer_that_elements_choose() -> Any:
    first, second = _filled(_dense(), None, 3), _filled(_dense(), None, 3)
    return lambda x: first(x) if tf.reduce_mean(x) > 0.0 else second(x)


@TRAPS.made(*(lambda n=n: (drawn(seed=n) + n - 1.5,) for n in range(4)))
def layer_that_a_cond_chooses() -> Any:
    first, second = _filled(L.BatchNormalization(momentum=0.5), None, 3), _filled(_dense(), None, 3)

    @tf.function
    def function(x: Any) -> Any:
        return tf.cond(tf.reduce_mean(x) > 0.0, lambda: first(x, training=True), lambda: second(x))

    return function


@TRAPS.made()
def layer_of_a_function_that_reads_a_layer() -> Any:
    dense = _filled(_dense(), None, 3)
    return keras.Sequential(
        [L.Lambda(lambda x: dense(x) * tf.reduce_sum(dense.kernel)), L.Activation("tanh")]
    )


@TRAPS.made(lambda: (whole(2, 4, most=6),), lambda: (whole(3, 5, most=6, seed=1),))
def tied_embedding() -> Any:
    embedding = _filled(L.ReversibleEmbedding(6, 4), None, None)
    return lambda x: embedding(embedding(x), reverse=True)


@TRAPS.made(lambda: (_steps(2, 5, 4),), lambda: (_steps(3, 6, 4, seed=1),))
def attention_of_groups() -> Any:
    layer = L.GroupQueryAttention(head_dim=2, num_query_heads=4, num_key_value_heads=2)
    layer.build((None, None, 4), (None, None, 4))
    _filled(layer)
    return lambda x: layer(x, x, use_causal_mask=True)


@TRAPS.made(
    lambda: (_steps(2, 5, 4), tf.constant([[True] * 3 + [False] * 2] * 2)),
    lambda: (_steps(2, 5, 4, seed=1), tf.constant([[True] * 5, [True, False, True, False, True]])),
)
def attention_under_a_mask() -> Any:
    layer = L.MultiHeadAttention(2, 2)
    layer.build((None, None, 4), (None, None, 4))
    _filled(layer)
    return lambda x, mask: layer(x, x, attention_mask=mask[:, None, :])


@TRAPS.made(
    lambda: (_steps(1, 1, 4),), lambda: (_steps(1, 1, 4, seed=1),), lambda: (_steps(1, 1, 4, seed=2),)
)
def attention_with_a_cache() -> Any:
    keys, place = tf.Variable(tf.zeros((1, 6, 4))), tf.Variable(0)
    layer = L.Attention()

    def function(x: Any) -> Any:
        keys[:, place : place + 1].assign(x)
        place.assign_add(1)
        mask = (tf.range(6) < place)[None]
        return layer([x, keys + 0.0], mask=[None, mask])

    return function


@TRAPS.made()
def prediction_by_the_step_of_the_model() -> Any:
    model = keras.Sequential([_dense(), L.BatchNormalization()])
    model.build((None, 3))
    return lambda x: model.predict_step((x,))


@TRAPS.made()
def weights_that_are_shared_and_scaled() -> Any:
    class Scaled(keras.layers.Dense):
        def call(self, x: Any) -> Any:
            return super().call(x) * (1.0 / np.sqrt(self.units))

    layer = Scaled(3, kernel_initializer="ones")
    layer.build((None, 3))
    return layer


@TRAPS.made()
def weights_that_a_layer_replaces() -> Any:
    class LowRank(keras.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = (self.add_weight(shape=shape, initializer="ones") for shape in ((3, 1), (1, 3)))
            self.mask = self.add_weight(shape=(3, 3), initializer="ones", trainable=False)

        def call(self, x: Any) -> Any:
            kernel = self.a @ self.b * self.mask
            self.mask.assign(tf.linalg.band_part(self.mask, 0, -1))
            return x @ kernel

    return LowRank()


@TRAPS.made(*_MODES)
def layers_of_a_library_that_wrap_others() -> Any:
    class Residual(L.Wrapper):
        def call(self, x: Any, training: bool | None = None) -> Any:
            return x + self.layer(x, training=training)

    return _filled(
        keras.Sequential(
            [Residual(L.BatchNormalization(momentum=0.5)), Residual(L.BatchNormalization(momentum=0.9))]
        ),
        None,
        3,
    )


@TRAPS.made()
def model_that_gives_its_losses() -> Any:
    class Vae(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = _dense(4), _dense(3)

        def call(self, x: Any) -> Any:
            mean, log_variance = tf.split(self.encoder(x), 2, 1)
            divergence = -0.5 * tf.reduce_mean(1.0 + log_variance - mean**2 - tf.exp(log_variance))
            self.add_loss(divergence)
            return self.decoder(mean)

    model = _filled(Vae(), None, 3)

    def function(x: Any) -> Any:
        y = model(x)
        return y, tf.reduce_mean((y - x) ** 2) + sum(model.losses)

    return function
