"""Traps with random numbers: with a seed or generator they are TensorFlow's bit by bit; others have its
shapes and differ at each call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .table import ELSEWHERE, EVERYWHERE, Keywords, Trap, Traps, drawn

TRAPS = Traps()
L = keras.layers
_R = tf.random
_CALLS = (lambda: (drawn(),), lambda: (drawn(),), lambda: (drawn(6, seed=1),), lambda: (drawn(5, seed=2),))

# -------------------------------------------------------------------------------- of a seed that a call gives
STATELESS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform": lambda x, s: _R.stateless_uniform(tf.shape(x), s),
    "uniform_between": lambda x, s: _R.stateless_uniform((2, 3), s, -2.0, x[0, 0] + 5.0),
    "normal": lambda x, s: _R.stateless_normal(tf.shape(x), s, x[0, 0], 2.0),
    "truncated": lambda x, s: _R.stateless_truncated_normal((3, 4), s),
    "integers": lambda x, s: _R.stateless_uniform((5,), s, 0, 10, tf.int32),
    "integers_of_64_bits": lambda x, s: _R.stateless_uniform((5,), s, -5, 2**33, tf.int64),
    "integers_of_all": lambda x, s: _R.stateless_uniform((5,), s, None, None, tf.int32),
    "half_precision": lambda x, s: _R.stateless_uniform((5,), s, dtype=tf.float16),
    "bfloat16": lambda x, s: _R.stateless_normal((5,), s, dtype=tf.bfloat16),
    "of_one_element": lambda x, s: _R.stateless_uniform((), s),
    "of_none": lambda x, s: _R.stateless_uniform((0, 3), s),
    "many": lambda x, s: tf.reduce_sum(_R.stateless_normal((1000,), s)),
    "shuffled": lambda x, s: _R.experimental.stateless_shuffle(tf.range(8), s),
    "split": lambda x, s: [_R.stateless_uniform((2,), key) for key in tf.unstack(_R.split(s, 3))],
    "folded": lambda x, s: _R.stateless_uniform((2,), _R.fold_in(s, 7)),
    "folded_with_a_size": lambda x, s: _R.stateless_uniform((2,), _R.fold_in(s, tf.shape(x)[0])),
    "by_name_of_an_algorithm": lambda x, s: _R.stateless_uniform((4,), s, alg="philox"),
    "twice": lambda x, s: (_R.stateless_uniform((2,), s), _R.stateless_uniform((2,), s)),
    "seed_of_a_result": lambda x, s: _R.stateless_normal(
        (2,), tf.cast(_R.stateless_uniform((2,), s) * 1000.0, tf.int32)
    ),
    "raw_counter": lambda x, s: tf.raw_ops.StatelessRandomUniformV2(
        shape=[3],
        key=tf.cast(tf.constant([5]), tf.uint64),
        counter=tf.cast(tf.stack([s[0], s[1]]), tf.uint64),
        alg=1,
        dtype=tf.float32,
    ),
    "dropout": lambda x, s: tf.nn.experimental.stateless_dropout(tf.ones((4, 5)), 0.4, s),
}
# 64-bit integers need Philox in 64 bits.
_WIDE = {ELSEWHERE: "random int64 of a seed"}
_NO_UINT64 = {"jax": "JAX has no uint64 unless jax_enable_x64 is set"}
_OF_SEEDS = {
    "integers_of_64_bits": _WIDE,
    "raw_counter": _NO_UINT64,
    "by_name_of_an_algorithm": {
        **_NO_UINT64,
        "torch": "not implemented for 'UInt64'",
    },
}
_SEEDS = tuple(
    lambda n=n, rows=rows: (drawn(rows), tf.constant([n, 2 * n + 1], tf.int32))
    for n, rows in ((1, 4), (2, 4), (-7, 6))
)
TRAPS.update(
    {
        f"of_a_seed_{name}": Trap(lambda f=function: f, _SEEDS, _OF_SEEDS.get(name, {}))
        for name, function in STATELESS.items()
    }
)


@TRAPS.function(*_SEEDS)
@tf.function
def of_a_seed_in_a_loop(x: Any, seed: Any) -> Any:
    total = tf.zeros((3,))
    for i in tf.range(tf.shape(x)[0]):
        total += tf.random.stateless_uniform((3,), seed=seed + i) * x[i]
    return total


@TRAPS.function(*_SEEDS)
@tf.function
def of_a_seed_in_a_branch(x: Any, seed: Any) -> Any:
    return tf.cond(
        seed[0] > 0,
        lambda: tf.random.stateless_normal((3,), seed),
        lambda: tf.random.stateless_uniform((3,), seed),
    )


@TRAPS.function(*_SEEDS)
def of_a_seed_that_python_reads(x: Any, seed: Any) -> Any:
    return (
        x * np.random.default_rng(abs(int(seed[0]))).integers(5, size=3).astype("float32")
        if int(seed[0]) > 5
        else x * int(seed[1])
    )


@TRAPS.function(*_SEEDS)
def of_a_seed_that_decides(x: Any, seed: Any) -> Any:
    return x * 2.0 if tf.random.stateless_uniform((), seed) > 0.5 else x - 1.0


@TRAPS.made(*_CALLS)
def of_a_seed_that_is_counted() -> Any:
    count = tf.Variable([3, 0])

    def function(x: Any) -> Any:
        count.assign_add([0, 1])
        return x + tf.random.stateless_normal(tf.shape(x), count)

    return function


@TRAPS.made(*_CALLS)
def walk_of_a_seed() -> Any:
    place, seed = tf.Variable(tf.zeros(3)), tf.Variable([1, 2])

    @tf.function
    def function(x: Any) -> Any:
        for _ in tf.range(3):
            keys = tf.random.split(seed, 2)
            seed.assign(keys[0])
            place.assign_add(tf.random.stateless_normal((3,), keys[1]))
        return x + place

    return function


# ------------------------------------------------------------------------------------- of generators
GENERATED: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda g, x: g.normal(tf.shape(x)),
    "uniform": lambda g, x: g.uniform((2, 3), -1.0, 4.0),
    "integers": lambda g, x: g.uniform((5,), 3, 90, tf.int32),
    "integers_of_all": lambda g, x: g.uniform_full_int((3,), tf.int32),
    "truncated": lambda g, x: g.truncated_normal((4,), 1.0, 0.5),
    "two_kinds": lambda g, x: (g.normal((2,)), g.uniform((3,)), g.normal((2,))),
    "seeds": lambda g, x: _R.stateless_uniform((3,), tf.cast(g.make_seeds(1)[:, 0] % 1000, tf.int32)),
    "split": lambda g, x: [one.normal((2,)) for one in g.split(2)],
    "skipped": lambda g, x: (g.skip(5), g.normal((2,)))[1],
    "key": lambda g, x: tf.cast(g.key, tf.int64) * 0 + g.state[0],
}


def _generated(draw: Any) -> Any:
    generator = tf.random.Generator.from_seed(7)
    return lambda x: draw(generator, x)


_REFUSED = {"split": {EVERYWHERE: "variable"}, "seeds": _WIDE}
TRAPS.update(
    {
        f"generator_{name}": Trap(lambda d=draw: _generated(d), _CALLS, _REFUSED.get(name, {}))
        for name, draw in GENERATED.items()
    }
)


@TRAPS.made(*_CALLS)
def generator_in_a_loop() -> Any:
    generator = tf.random.Generator.from_seed(5)

    @tf.function
    def function(x: Any) -> Any:
        total = tf.zeros((3,))
        for row in x:
            total += row * generator.uniform((3,))
        return total, generator.normal(())

    return function


@TRAPS.made(*_CALLS)
def generator_in_one_branch() -> Any:
    generator = tf.random.Generator.from_seed(5)

    @tf.function
    def function(x: Any) -> Any:
        y = generator.normal((3,)) if tf.reduce_sum(x) > 0.0 else tf.zeros(3)
        return y + x, generator.uniform((2,))

    return function


@TRAPS.made(*_CALLS)
def generator_in_a_while_loop() -> Any:
    generator = tf.random.Generator.from_seed(5)

    @tf.function
    def function(x: Any) -> Any:
        total, steps = tf.constant(0.0), 0
        while total < 2.0:
            total += generator.uniform(())
            steps += 1
        return x * total, steps

    return function


@TRAPS.made(*_CALLS)
def stateful_operations_in_a_while_loop() -> Any:
    generator = tf.random.Generator.from_seed(5)

    @tf.function
    def function(x: Any) -> Any:
        total, given = tf.constant(0.0), {"resource": generator.state.handle, "algorithm": 1}
        while total < 20.0:
            total += tf.reduce_sum(tf.raw_ops.StatefulUniform(shape=tf.shape(x), **given))
            total += tf.raw_ops.StatefulStandardNormalV2(shape=[1], **given)[0]
        return x * total

    return function


@TRAPS.made(*_CALLS)
def stateful_operation_of_a_computed_shape() -> Any:
    generator = tf.random.Generator.from_seed(6)
    return lambda x: tf.raw_ops.StatefulStandardNormalV2(
        resource=generator.state.handle,
        algorithm=tf.constant(1, tf.int64),
        shape=tf.cast(tf.abs(x[0]), tf.int32) + 2,
    )


@TRAPS.made(*_CALLS)
def two_generators() -> Any:
    first, second = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    return lambda x: (first.normal((2,)), second.normal((2,)) + first.normal((2,)))


@TRAPS.made(*_CALLS)
def generator_of_a_module() -> Any:
    class Noise(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = tf.random.Generator.from_seed(9)

        @tf.function
        def __call__(self, x: Any) -> Any:
            return x + self.generator.normal(tf.shape(x))

    return Noise()


@TRAPS.made(*_CALLS)
def generator_of_a_state() -> Any:
    generator = tf.random.Generator.from_state(tf.constant([4, 5, 6], tf.int64), alg="philox")
    return lambda x: x * generator.uniform((3,))


@TRAPS.made(*_CALLS)
def numbers_of_a_generator_decide_in_python() -> Any:
    generator = tf.random.Generator.from_seed(2)
    return lambda x: x * 2.0 if generator.uniform(()) > 0.5 else x - 1.0


# ------------------------------------------------------------------------------------- of Keras
KERAS: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda seed, x: keras.random.normal((2, 3), seed=seed),
    "uniform": lambda seed, x: keras.random.uniform(tf.shape(x), -1.0, 1.0, seed=seed),
    "integers": lambda seed, x: keras.random.randint((5,), 0, 9, seed=seed),
    "truncated": lambda seed, x: keras.random.truncated_normal((4,), seed=seed),
    "shuffled": lambda seed, x: keras.random.shuffle(tf.range(6), seed=seed),
    "dropout": lambda seed, x: keras.random.dropout(tf.ones((4, 4)), 0.5, seed=seed),
    "two": lambda seed, x: (keras.random.normal((2,), seed=seed), keras.random.normal((2,), seed=seed)),
    "next": lambda seed, x: seed.next() if hasattr(seed, "next") else tf.constant([seed, 0]),
}


def _of_keras(draw: Any, seed: Any) -> Any:
    return lambda x: draw(seed, x)


TRAPS.update(
    {
        f"seed_of_keras_{name}": Trap(lambda d=draw: _of_keras(d, keras.random.SeedGenerator(3)), _CALLS)
        for name, draw in KERAS.items()
    }
)
TRAPS.update(
    {
        f"number_as_seed_of_keras_{name}": Trap(lambda d=draw: _of_keras(d, 11), _CALLS)
        for name, draw in KERAS.items()
        if name in ("normal", "integers", "shuffled", "two")
    }
)

_TRAINED = (
    lambda: (tf.ones((4, 8)), Keywords(training=True)), lambda: (tf.ones((4, 8)), Keywords(training=True)), lambda: (tf.ones((4, 8)),),
    lambda: (tf.ones((3, 8)), Keywords(training=True)),
)  # fmt: skip
LAYERS: dict[str, Callable[[], Any]] = {
    "dropout": lambda: L.Dropout(0.4, seed=3),
    "dropout_of_columns": lambda: L.Dropout(0.4, noise_shape=(None, 1), seed=3),
    "gaussian_noise": lambda: L.GaussianNoise(0.5, seed=3),
    "gaussian_dropout": lambda: L.GaussianDropout(0.3, seed=3),
    "alpha_dropout": lambda: L.AlphaDropout(0.3, seed=3),
    "two_dropouts": lambda: keras.Sequential([L.Dropout(0.3, seed=1), L.Dropout(0.3, seed=1)]),
}
TRAPS.update({f"layer_{name}": Trap(make, _TRAINED) for name, make in LAYERS.items()})


@TRAPS.made(*_TRAINED)
def one_dropout_twice() -> Any:
    layer = L.Dropout(0.4, seed=3)

    def function(x: Any, training: bool = False) -> Any:
        return layer(x, training=training), layer(x, training=training)

    return function


@TRAPS.made(
    *_TRAINED,
    changes={
        2: lambda m: m.seed_generator.state.assign([3, 3]),
        3: lambda m: m.seed_generator.state.assign([5, 9]),
    },
)
def seed_of_a_layer_is_set() -> Any:
    return L.Dropout(0.4, seed=3)


@TRAPS.made(
    lambda: (tf.ones((2, 4, 3)), Keywords(training=True)), lambda: (tf.ones((2, 4, 3)), Keywords(training=True)),
    lambda: (tf.ones((2, 5, 3)),),
)  # fmt: skip
def dropout_of_a_recurrent_layer() -> Any:
    layer = L.GRU(
        3,
        dropout=0.3,
        recurrent_dropout=0.3,
        seed=4,
        kernel_initializer="ones",
        recurrent_initializer="orthogonal",
    )
    layer.build((None, None, 3))
    return layer


# --------------------------------------------------------------------- without a seed: shapes, and drawn anew
STATEFUL: dict[str, Callable[[Any], Any]] = {
    "normal": lambda x: _R.normal(tf.shape(x)),
    "uniform_integers": lambda x: _R.uniform((3,), 0, 5, tf.int32),
    "truncated": lambda x: _R.truncated_normal((3, 2)),
    "gamma": lambda x: _R.gamma((2,), tf.abs(x[0]) + 1.0),
    "poisson": lambda x: _R.poisson((2,), tf.abs(x[0]) + 1.0),
    "categorical": lambda x: _R.categorical(x, 5, tf.int32),
    "shuffled": _R.shuffle,
    "dropped": lambda x: tf.nn.dropout(x, 0.5),
    "of_python_seed": lambda x: _R.uniform((3,), seed=5),
    "keras": lambda x: keras.random.normal((2, 3)),
    "initialised": lambda x: keras.initializers.GlorotUniform()((3, 4)),
}
TRAPS.update(
    {
        f"without_a_seed_{name}": Trap(lambda f=function: f, _CALLS, draws=True)
        for name, function in STATEFUL.items()
    }
)


@TRAPS.made(*_CALLS)
def drawn_anew_at_each_call() -> Any:
    """The numbers within a call and those of successive calls must differ."""
    last = tf.Variable(tf.zeros(4))

    def function(x: Any) -> Any:
        first, second = tf.random.normal((4,)), tf.random.normal((4,))
        differs = tf.reduce_all(first != second), tf.reduce_all(last != first)
        last.assign(first)
        result = differs + (x,)
        last.assign(first * 0.0 + 1e6)
        return result

    return function


@TRAPS.made(*_CALLS)
def drawn_anew_in_each_step_of_a_loop() -> Any:
    @tf.function
    def function(x: Any) -> Any:
        before, same = tf.constant(-1.0), 0
        for _ in tf.range(4):
            now = tf.random.uniform(())
            same += tf.cast(now == before, tf.int32)
            before = now
        return same, x

    return function


@TRAPS.made(*_CALLS)
def mask_is_one_and_the_same_in_both_places() -> Any:
    def function(x: Any) -> Any:
        mask = tf.cast(tf.random.uniform(tf.shape(x)) > 0.5, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * mask
        return tf.reduce_all(tape.gradient(y, x) == mask), tf.reduce_all(y == x * mask)

    return function


@TRAPS.made(*_CALLS)
def gradient_of_dropout_is_its_mask() -> Any:
    def function(x: Any) -> Any:
        ones = tf.ones_like(x)
        with tf.GradientTape() as tape:
            tape.watch(ones)
            y = tf.nn.dropout(ones, 0.5)
        return tf.reduce_all(tape.gradient(y, ones) == y)

    return function


@TRAPS.made(*_CALLS)
def drawn_by_numpy_when_it_is_made() -> Any:
    noise = np.random.default_rng(3).standard_normal(3).astype("float32")
    return lambda x: x + noise


@TRAPS.function(*_CALLS)
def drawn_by_numpy_of_a_seed_in_each_call(x: Any) -> Any:
    return x + np.random.default_rng(3).standard_normal(3).astype("float32")
