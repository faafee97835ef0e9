"""Modules and models that the tests save, as SavedModels and Keras files, and what is called after loading
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

L = keras.layers
Arrays = tuple[Any, ...] | dict[str, Any]


def drawn(*shape: int, seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def whole(*shape: int, most: int = 5, seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).integers(0, most, shape).astype("int32"))


@dataclass(frozen=True)
class Saved:
    """A saved object and its calls.

    save: ``save(path)`` writes a folder or file and returns its path.
    calls: arguments of each call; the first is recorded.
    get: returns the callable of the loaded object.
    error: words of the message if it is refused.
    """

    save: Callable[[Path], Path]
    calls: tuple[Arrays, ...]
    get: Callable[[Any], Any] = lambda loaded: loaded
    error: str = ""
    variants: int = 1


def _module(make: Callable[[], Any], **signatures: Any) -> Callable[[Path], Path]:
    """Return a function that saves a ``tf.Module``; ``signatures`` maps names of methods to the specs of
    their arguments.
    """

    def save(path: Path) -> Path:
        module = make()
        chosen = {
            name: getattr(module, name.removeprefix("serving_")).get_concrete_function(**specs)
            for name, specs in signatures.items()
        }
        tf.saved_model.save(module, str(path), signatures=chosen or None)
        return path

    return save


def _exported(make: Callable[[], Any]) -> Callable[[Path], Path]:
    def save(path: Path) -> Path:
        keras.utils.set_random_seed(3)
        make().export(str(path), verbose=False)
        return path

    return save


def _kept(make: Callable[[], Any]) -> Callable[[Path], Path]:
    def save(path: Path) -> Path:
        keras.utils.set_random_seed(3)
        make().save(path.with_suffix(".keras"))
        return path.with_suffix(".keras")

    return save


def load(path: Path) -> Any:
    """Return the loaded SavedModel or Keras model."""
    return keras.models.load_model(path) if path.suffix == ".keras" else tf.saved_model.load(str(path))


_ROWS = tf.TensorSpec((None, 3), tf.float32)
_ANY = tf.TensorSpec(None, tf.float32)
_X: tuple[Arrays, ...] = ((drawn(4, 3),), (drawn(6, 3, seed=1),), (drawn(4, 3, seed=2) - 3,))
_NAMED: tuple[Arrays, ...] = ({"x": drawn(4, 3)}, {"x": drawn(6, 3, seed=1)})
_IMAGES: tuple[Arrays, ...] = ((drawn(2, 8, 8, 3),), (drawn(3, 8, 8, 3, seed=1),))
_TEXTS: tuple[Arrays, ...] = ((whole(2, 5),), (whole(3, 5, seed=1),))
_STEPS: tuple[Arrays, ...] = ((drawn(2, 5, 3),), (drawn(3, 5, 3, seed=1),))


class Linear(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = tf.Variable(drawn(3, 2)), tf.Variable([0.5, -0.5])

    @tf.function(input_signature=[_ROWS])
    def __call__(self, x: Any) -> Any:
        return x @ self.w + self.b

    @tf.function(input_signature=[_ROWS])
    def squared(self, x: Any) -> Any:
        return {"squares": (x @ self.w) ** 2, "sum": tf.reduce_sum(x)}

    @tf.function(input_signature=[_ROWS, tf.TensorSpec((), tf.float32, name="scale")])
    def scaled(self, x: Any, scale: Any) -> Any:
        return x * scale + tf.reduce_mean(self.w)


class Counter(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls, self.sums = tf.Variable(0), tf.Variable([0.0, 0.0, 0.0])

    @tf.function(input_signature=[_ROWS])
    def __call__(self, x: Any) -> Any:
        self.calls.assign_add(1)
        self.sums.assign(self.sums * 0.5 + tf.reduce_sum(x, 0))
        return x + self.sums, self.calls + 0


class Rows(tf.Module):
    @tf.function(input_signature=[_ROWS])
    def loop(self, x: Any) -> Any:
        state = tf.zeros_like(x[0])
        for row in x:
            state = tf.tanh(state + row)
        return state

    @tf.function(input_signature=[_ROWS])
    def until(self, x: Any) -> Any:
        while tf.reduce_sum(tf.abs(x)) < 100.0:
            x = x * 1.5
        return x

    @tf.function(input_signature=[_ROWS])
    def backwards(self, x: Any) -> Any:
        rows = tf.shape(x)[0]
        made = tf.TensorArray(tf.float32, size=rows, element_shape=(3,))
        for place in tf.range(rows):
            made = made.write(rows - 1 - place, x[place])
        return made.stack()

    @tf.function(input_signature=[_ROWS])
    def branch(self, x: Any) -> Any:
        return x * 2.0 if tf.reduce_sum(x) > 0 else -x

    @tf.function(input_signature=[_ROWS])
    def mapped(self, x: Any) -> Any:
        return tf.map_fn(lambda row: row * tf.reduce_sum(row), x)

    @tf.function(input_signature=[_ANY])
    def any_rank(self, x: Any) -> Any:
        return tf.reshape(x, [-1]) * tf.cast(tf.rank(x), tf.float32)

    @tf.function(input_signature=[_ROWS])
    def sizes(self, x: Any) -> Any:
        return (
            tf.reshape(x, [tf.shape(x)[1], tf.shape(x)[0]]),
            tf.range(tf.shape(x)[0]),
            tf.zeros(tf.shape(x) + 1),
        )

    @tf.function(input_signature=[_ROWS])
    def asserts(self, x: Any) -> Any:
        tf.debugging.assert_less(x, 100.0)
        return tf.exp(x)

    @tf.function(input_signature=[_ROWS])
    def gradient(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.tanh(x) ** 2)
        return tape.gradient(y, x)

    @tf.function
    def powers(self, x: Any, power: int = 2, *, negative: bool = False) -> Any:
        return -(x**power) if negative else x**power


class Powers(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.powers(tf.constant([[1.0, 2.0, 3.0]]), 3)
        self.powers.get_concrete_function(_ROWS, 3)
        self.powers.get_concrete_function(_ROWS, 2, negative=True)


class Table(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        keys = tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1]), tf.constant([5.0, 6.0]))
        self.table = tf.lookup.StaticHashTable(keys, -1.0)

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.int32)])
    def __call__(self, x: Any) -> Any:
        return self.table.lookup(x)


class Texts(tf.Module):
    @tf.function(input_signature=[_ROWS])
    def __call__(self, x: Any) -> Any:
        return x + tf.cast(tf.strings.length(tf.strings.as_string(x)), tf.float32)


class Nested(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers, self.named = [Linear(), Linear()], {"a": tf.Variable(2.0)}

    @tf.function(input_signature=[{"x": _ROWS, "pair": (_ROWS, _ROWS)}])
    def __call__(self, tree: Any) -> Any:
        first, second = tree["pair"]
        return {
            "a": self.layers[0](tree["x"]) * self.named["a"],
            "b": [self.layers[1](first) - self.layers[1](second)],
        }


class Trained(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(drawn(3, 1))

    @tf.function(input_signature=[_ROWS, tf.TensorSpec((None, 1), tf.float32)])
    def step(self, x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ self.w - y) ** 2)
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        return loss


def _method(name: str) -> Callable[[Any], Any]:
    return lambda loaded: getattr(loaded, name)


def _signature(name: str) -> Callable[[Any], Any]:
    return lambda loaded: loaded.signatures[name]


def _dense() -> Any:
    return keras.Sequential(
        [keras.Input((3,)), L.Dense(4, activation="gelu"), L.BatchNormalization(), L.Dropout(0.5), L.Dense(2)]
    )


def _convolutions() -> Any:
    image = keras.Input((8, 8, 3))
    x = L.MaxPooling2D()(L.BatchNormalization()(L.Conv2D(4, 3, padding="same", activation="relu")(image)))
    return keras.Model(image, L.Dense(5, activation="softmax")(L.GlobalAveragePooling2D()(x)))


def _recurrent(layer: Any) -> Callable[[], Any]:
    return lambda: keras.Sequential([keras.Input((5, 3)), layer(), L.Dense(2)])


def _words() -> Any:
    return keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            L.Embedding(10, 4, mask_zero=True),
            L.GRU(3, return_sequences=True),
            L.Dense(2),
        ]
    )


def _attention() -> Any:
    given = keras.Input((5, 3))
    return keras.Model(given, L.LayerNormalization()(given + L.MultiHeadAttention(2, 4)(given, given)))


def _named_inputs() -> Any:
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    return keras.Model({"a": a, "b": b}, {"sum": L.Dense(2)(a + b), "difference": a - b})


_PAIR: tuple[Arrays, ...] = (
    ({"a": drawn(4, 3), "b": drawn(4, 3, seed=1)},),
    ({"a": drawn(6, 3), "b": drawn(6, 3, seed=1)},),
)

SAVED: dict[str, Saved] = {
    "module": Saved(_module(Linear), _X),
    "method": Saved(_module(Linear), _X, _method("squared")),
    "method of two arrays": Saved(_module(Linear), ((drawn(4, 3), tf.constant(2.0)), (drawn(6, 3), tf.constant(3.0))), _method("scaled")),
    "signature": Saved(_module(Linear, __call__={}), _NAMED, _signature("__call__")),
    "one of several signatures": Saved(_module(Linear, scaled={}, squared={}), _NAMED, _signature("squared")),
    "signature of keywords alone": Saved(
        _module(Linear, scaled={}, squared={}),
        ({"x": drawn(4, 3), "scale": tf.constant(2.0)}, {"scale": tf.constant(3.0), "x": drawn(6, 3)}), _signature("scaled"),
        # The keywords are passed in another order.
        variants=2,
    ),
    "counts its calls": Saved(_module(Counter), _X),
    "counts its calls, by its signature": Saved(_module(Counter, __call__={}), _NAMED, _signature("__call__")),
    "loop": Saved(_module(Rows), _X, _method("loop")),
    "loop, by its signature": Saved(_module(Rows, loop={}), _NAMED, _signature("loop")),
    "loop until": Saved(_module(Rows), _X, _method("until")),
    "rows written backwards": Saved(_module(Rows), _X, _method("backwards")),
    "branch": Saved(_module(Rows), _X, _method("branch")),
    "map": Saved(_module(Rows), _X, _method("mapped")),
    "unknown rank": Saved(_module(Rows), ((drawn(4, 3),), (drawn(2, 3, 4),), (drawn(6, 3),)), _method("any_rank"), variants=2),
    "sizes": Saved(_module(Rows), _X, _method("sizes")),
    "assertion": Saved(_module(Rows), _X, _method("asserts")),
    "gradient": Saved(_module(Rows), _X, _method("gradient")),
    "numbers of Python": Saved(_module(Powers), ((drawn(4, 3), 3), (drawn(6, 3), 3)), _method("powers")),
    "nested structure": Saved(
        _module(Nested), (({"x": drawn(4, 3), "pair": (drawn(2, 3), drawn(2, 3, seed=1))},), ({"x": drawn(5, 3), "pair": (drawn(3, 3), drawn(3, 3, seed=1))},)),
    ),
    "step of training": Saved(_module(Trained), ((drawn(4, 3), drawn(4, 1)), (drawn(6, 3), drawn(6, 1))), _method("step")),
    "exported layers": Saved(_exported(_dense), _X, _method("serve")),
    "exported convolutions": Saved(_exported(_convolutions), _IMAGES, _method("serve")),
    "exported lstm": Saved(_exported(_recurrent(lambda: L.LSTM(4))), _STEPS, _method("serve")),
    "exported lstm of both directions": Saved(_exported(_recurrent(lambda: L.Bidirectional(L.LSTM(4)))), _STEPS, _method("serve")),
    "exported words": Saved(_exported(_words), _TEXTS, _method("serve")),
    "exported attention": Saved(_exported(_attention), _STEPS, _method("serve")),
    "exported, by its signature": Saved(
        _exported(_dense), ({"keras_tensor": drawn(4, 3)}, {"keras_tensor": drawn(6, 3)}), lambda loaded: _renamed(loaded.signatures["serve"])
    ),
    "file of layers": Saved(_kept(_dense), _X),
    "file of convolutions": Saved(_kept(_convolutions), _IMAGES),
    "file of time": Saved(_kept(_recurrent(lambda: L.TimeDistributed(L.Dense(4)))), _STEPS),
    "file of named inputs": Saved(_kept(_named_inputs), _PAIR),
    "table": Saved(_module(Table), ((whole(3, most=2),),), error="table"),
    "texts": Saved(_module(Texts), _X, error="texts have no counterpart"),
}  # fmt: skip


def _renamed(signature: Any) -> Any:
    """Return a function for a signature whose argument has another name in each process."""
    (name,) = signature.structured_input_signature[1]
    return lambda keras_tensor: signature(**{name: keras_tensor})
