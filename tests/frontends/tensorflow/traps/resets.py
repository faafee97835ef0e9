"""Traps whose state the user resets or replaces between calls; the next call must continue from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .table import Trap, Traps, drawn

TRAPS = Traps()
L = keras.layers
_CALLS = tuple(lambda n=n, rows=rows: (drawn(rows, seed=n),) for n, rows in enumerate((2, 4, 2, 3, 2, 4)))
_SEQUENCES = tuple(lambda n=n: (tf.reshape(drawn(8, seed=n), (2, 4, 3)),) for n in range(6))


class Hidden(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.steps = tf.Variable(tf.zeros(3)), tf.Variable(0, trainable=False)

    def __call__(self, x: Any) -> Any:
        self.hidden.assign(tf.tanh(self.hidden * 0.5 + tf.reduce_sum(x, 0)))
        self.steps.assign_add(1)
        return self.hidden * tf.cast(self.steps, tf.float32)


class Growing(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = tf.Variable(tf.zeros((0, 3)), shape=tf.TensorShape((None, 3)), trainable=False)

    @tf.function
    def __call__(self, x: Any) -> Any:
        self.seen.assign(tf.concat([self.seen, x], 0))
        return tf.reduce_mean(self.seen, 0), tf.shape(self.seen)[0]


class Ring(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory, self.place = tf.Variable(tf.zeros((3, 3))), tf.Variable(0)

    @tf.function
    def __call__(self, x: Any) -> Any:
        self.memory[self.place % 3].assign(tf.reduce_sum(x, 0))
        self.place.assign_add(1)
        return tf.sort(self.memory, 0), self.place + 0


class Statistics(keras.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm = L.BatchNormalization(momentum=0.5)
        self.norm.build((None, 3))
        self.mean = self.add_weight(shape=(3,), initializer="zeros", trainable=False)
        self.built = True

    def call(self, x: Any) -> Any:
        self.mean.assign(self.mean * 0.5 + tf.reduce_mean(x, 0))
        return self.norm(x, training=True) + self.mean


class Cell(keras.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = L.LSTM(
            3, stateful=True, recurrent_initializer="orthogonal", kernel_initializer="orthogonal"
        )
        self.lstm(tf.zeros((2, 4, 3)))
        self.lstm.reset_states()
        self.last = self.add_weight(shape=(2, 3), initializer="zeros", trainable=False)
        self.built = True

    def call(self, x: Any) -> Any:
        y = self.lstm(x) + self.last
        self.last.assign(x[:, -1])
        return y


class Metrics:
    def __init__(self) -> None:
        self.mean, self.hits = keras.metrics.Mean(), keras.metrics.BinaryAccuracy()

    def __call__(self, x: Any) -> Any:
        self.mean.update_state(x)
        self.hits.update_state(tf.cast(x > 0.0, tf.float32), tf.sigmoid(x[:, ::-1]))
        return self.mean.result(), self.hits.result()


class Trained:
    def __init__(self) -> None:
        self.weight = keras.Variable([1.0, 2.0, 3.0])
        self.optimizer = keras.optimizers.Adam(0.1, epsilon=0.1)
        self.optimizer.build([self.weight])

    def __call__(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * self.weight) ** 2)
        self.optimizer.apply([tape.gradient(loss, self.weight.value)])
        return loss, self.weight + 0.0


class Averaged:
    def __init__(self) -> None:
        self.weight, self.average = (
            tf.Variable([1.0, 2.0, 3.0]),
            tf.train.ExponentialMovingAverage(0.5, zero_debias=False),
        )
        self.average.apply([self.weight])

    def __call__(self, x: Any) -> Any:
        self.weight.assign_add(tf.reduce_mean(x, 0))
        self.average.apply([self.weight])
        return self.average.average(self.weight) * 1.0


class Drawing:
    def __init__(self) -> None:
        self.seeds, self.generator = keras.random.SeedGenerator(3), tf.random.Generator.from_seed(5)

    def __call__(self, x: Any) -> Any:
        return x + keras.random.uniform(tf.shape(x), seed=self.seeds), x * self.generator.uniform((3,))


def _fill(item: Any, number: float) -> None:
    for variable in item.variables:
        variable.assign(tf.cast(tf.fill(variable.shape, number), variable.dtype))


def _restored(model: Any) -> None:
    """Call the model and set its variables to half of the values before."""
    kept = [np.array(variable) for variable in model.variables]
    model(tf.ones((2, 3)))
    for variable, before in zip(model.variables, kept):
        variable.assign(before * 0.5)


RESETS: dict[Callable[[], Any], dict[str, Callable[[Any], Any]]] = {
    Hidden: {
        "zeros": lambda m: m.hidden.assign(tf.zeros(3)),
        "element": lambda m: m.hidden[1].assign(5.0),
        "counter": lambda m: m.steps.assign(-1),
        "both": lambda m: _fill(m, 2.0),
        "called": lambda m: m(tf.ones((2, 3))),
        "replaced": lambda m: setattr(m, "hidden", tf.Variable([3.0, 2.0, 1.0])),
        "replaced_counter": lambda m: setattr(m, "steps", tf.Variable(10)),
        "restored": _restored,
    },
    Growing: {
        "emptied": lambda m: m.seen.assign(tf.zeros((0, 3))),
        "shortened": lambda m: m.seen.assign(m.seen[-2:]),
        "of_ones": lambda m: m.seen.assign(tf.ones((4, 3))),
        "called": lambda m: m(tf.ones((1, 3))),
    },
    Ring: {
        "emptied": lambda m: (m.memory.assign(tf.zeros((3, 3))), m.place.assign(0)),
        "place": lambda m: m.place.assign_add(1),
        "row": lambda m: m.memory[0].assign(tf.ones(3)),
        "scattered": lambda m: m.memory.scatter_nd_update([[1, 1]], [9.0]),
    },
    Statistics: {
        "filled": lambda m: _fill(m, 2.0),
        "set_weights": lambda m: m.set_weights([np.full(v.shape, 0.5) for v in m.weights]),
        "mean": lambda m: m.norm.moving_mean.assign([1.0, 2.0, 3.0]),
        "scale": lambda m: m.norm.gamma.assign([1.0, 0.0, -1.0]),
        "called": lambda m: m(tf.ones((2, 3))),
        "frozen": lambda m: setattr(m.norm, "trainable", False),
    },
    Cell: {
        "reset_states": lambda m: m.lstm.reset_states(),
        "reset_state": lambda m: m.lstm.reset_state(),
        "filled": lambda m: [state.assign(tf.ones((2, 3))) for state in m.lstm.states],
        "last": lambda m: m.last.assign(tf.ones((2, 3))),
        "called": lambda m: m(tf.ones((2, 4, 3))),
    },
    Metrics: {
        "reset": lambda m: m.mean.reset_state(),
        "both": lambda m: (m.mean.reset_state(), m.hits.reset_state()),
        "updated": lambda m: m.mean.update_state([5.0, 6.0]),
        "total": lambda m: m.mean.total.assign(3.0),
    },
    Trained: {
        "weight": lambda m: m.weight.assign([3.0, 2.0, 1.0]),
        "iterations": lambda m: m.optimizer.iterations.assign(0),
        "moments": lambda m: [v.assign(tf.zeros(3)) for v in m.optimizer.variables[2:]],
        "rate": lambda m: setattr(m.optimizer, "learning_rate", 0.5),
        "called": lambda m: m(tf.ones((2, 3))),
    },
    Averaged: {
        "weight": lambda m: m.weight.assign([3.0, 2.0, 1.0]),
        "average": lambda m: m.average.average(m.weight).assign([0.0, 0.0, 0.0]),
        "applied": lambda m: m.average.apply([m.weight]),
    },
    Drawing: {
        "seed": lambda m: m.seeds.state.assign(m.seeds.state * 0),
        "from_seed": lambda m: m.generator.reset_from_seed(7),
        "skipped": lambda m: m.generator.skip(10),
        "drawn": lambda m: (m.seeds.next(), m.generator.normal((3,))),
        "state": lambda m: m.generator.reset(tf.constant([1, 2, 3], tf.int64)),
    },
}  # fmt: skip


def _programs() -> Iterator[tuple[str, Trap]]:
    """Yield a trap for each reset and the next one in its table."""
    for make, resets in RESETS.items():
        names = list(resets)
        for first, second in zip(names, [*names[1:], names[0]]):
            changes = {2: resets[first], 3: resets[first], 5: resets[second]}
            yield (
                f"{make.__name__.lower()}_{first}_and_{second}",
                Trap(make, _SEQUENCES if make is Cell else _CALLS, changes=changes),
            )


TRAPS.update(_programs())
