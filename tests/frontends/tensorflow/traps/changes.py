"""Traps with changes outside of the arguments between calls, which the next call must notice."""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import os
import threading
import types
from collections.abc import Callable
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf

from .table import Traps, drawn

TRAPS = Traps()
L = keras.layers
_CALLS = (lambda: (drawn(),), lambda: (drawn(6, seed=1),), lambda: (drawn(),), lambda: (drawn(5, seed=2),))


def _changed(*changes: Callable[[Any], Any], **options: Any) -> Any:
    """Return a decorator that adds a program with a change before each call from the second on."""
    return TRAPS.made(*_CALLS, changes=dict(enumerate(changes, 1)), **options)


def _of(held: Any, function: Callable[[Any], Any]) -> Any:
    """Store the object to be changed on the function, where the changes find it, and return the function."""
    function.held = held  # type: ignore[attr-defined]
    return function


def _set(name: str, item: Any) -> Callable[[Any], Any]:
    return lambda function: setattr(function, name, item)


def _set_held(name: str, item: Any) -> Callable[[Any], Any]:
    return lambda function: setattr(function.held, name, item)


# ------------------------------------------------------------------------------------- outside of objects
_VARIABLE = contextvars.ContextVar("scale", default=2.0)
_THREAD = threading.local()


@_changed(lambda function: _VARIABLE.set(5.0))
def variable_of_context() -> Any:
    _VARIABLE.set(2.0)
    return lambda x: x * _VARIABLE.get()


@_changed(lambda function: setattr(_THREAD, "scale", 3.0))
def variable_of_thread() -> Any:
    _THREAD.scale = 2.0
    return lambda x: x * _THREAD.scale


@_changed(lambda function: os.environ.update(GRAPH_COMPILER_SCALE="7"))
def environment() -> Any:
    os.environ["GRAPH_COMPILER_SCALE"] = "2"
    return lambda x: x * float(os.environ["GRAPH_COMPILER_SCALE"])


@_changed(lambda function: function.held.__setitem__(0, 9.0))
def python_array() -> Any:
    numbers = array.array("d", [2.0])
    return _of(numbers, lambda x: x * numbers[0])


@_changed(lambda function: function.held.update(scale=9.0))
def user_dict() -> Any:
    numbers = collections.UserDict(scale=2.0)
    return _of(numbers, lambda x: x * numbers["scale"])


@_changed(lambda function: function.held.maps[1].update(scale=9.0))
def chain_of_dicts() -> Any:
    numbers = collections.ChainMap[str, float]({}, {"scale": 2.0})
    return _of(numbers, lambda x: x * numbers["scale"])


@_changed(lambda function: function.held.move_to_end("first"))
def order_of_ordered_dict() -> Any:
    numbers = collections.OrderedDict(first=2.0, second=3.0)
    return _of(numbers, lambda x: functools.reduce(lambda y, number: y * number + 1.0, numbers.values(), x))


@_changed(lambda function: function.held.add("b"), lambda function: function.held.clear())
def set_of_names() -> Any:
    names = {"a"}
    return _of(names, lambda x: x * len(names) + (1.0 if "b" in names else 2.0))


@_changed(lambda function: function.held.append(3.0), lambda function: function.held.popleft())
def deque_of_numbers() -> Any:
    numbers = collections.deque([1.0, 2.0])
    return _of(numbers, lambda x: x * sum(numbers) + numbers[0])


@_changed(lambda function: function.held.__setitem__(slice(0, 1), b"\x07"))
def byte_array() -> Any:
    numbers = bytearray(b"\x02\x03")
    return _of(numbers, lambda x: x * numbers[0])


@_changed(
    lambda function: function.held.__setitem__(1, tf.constant([5.0, 6.0, 7.0])),
    lambda function: function.held.pop(),
)
def list_of_tensors() -> Any:
    tables = [tf.constant([1.0, 2.0, 3.0]), tf.constant([3.0, 2.0, 1.0])]
    return _of(tables, lambda x: x * tf.add_n(tables))


@_changed(lambda function: function.held.update(b=tf.ones(3)), lambda function: function.held.pop("a"))
def dict_of_tensors() -> Any:
    tables = {"a": tf.constant([1.0, 2.0, 3.0])}
    return _of(tables, lambda x: [x * table for table in tables.values()])


# ------------------------------------------------------------------------------------- code
@_changed(_set("scale", 5.0))
def attribute_of_function() -> Any:
    def function(x: Any) -> Any:
        return x * function.scale  # type: ignore[attr-defined]

    function.scale = 2.0  # type: ignore[attr-defined]
    return function


@_changed(_set_held("__code__", (lambda x: x * 5.0).__code__))
def code_of_function() -> Any:
    def inner(x: Any) -> Any:
        return x * 2.0

    return _of(inner, lambda x: inner(x) + 1.0)


@_changed(_set_held("__defaults__", (7.0,)))
def defaults_of_function() -> Any:
    def inner(x: Any, scale: float = 2.0) -> Any:
        return x * scale

    return _of(inner, lambda x: inner(x) + 1.0)


@_changed(lambda function: function.held.keywords.update(scale=4.0))
def keywords_of_partial() -> Any:
    inner = functools.partial(lambda x, scale: x * scale, scale=2.0)
    return _of(inner, lambda x: inner(x) + 1.0)


@_changed(lambda module: setattr(type(module), "__call__", lambda self, x: x * 5.0))
def call_of_class() -> Any:
    class Doubles(tf.Module):
        def __call__(self, x: Any) -> Any:
            return x * 2.0

    return Doubles()


@_changed(lambda layer: setattr(type(layer), "call", lambda self, x: x * 5.0))
def call_of_a_layer() -> Any:
    class Doubles(keras.Layer):
        def call(self, x: Any) -> Any:
            return x * 2.0

    return Doubles()


@_changed(_set_held("scale", 5.0), lambda function: function.held.table.update(shift=1.0))
def attributes_of_class() -> Any:
    class Settings:
        scale = 2.0
        table: ClassVar[dict[str, float]] = {"shift": 0.0}

    return _of(Settings, lambda x: x * Settings.scale + Settings.table["shift"])


@_changed(_set_held("scale", 5.0))
def attribute_of_python_module() -> Any:
    settings = types.ModuleType("settings")
    settings.scale = 2.0  # type: ignore[attr-defined]
    return _of(settings, lambda x: x * settings.scale)


class Answers:
    def __init__(self) -> None:
        self._table = {"scale": 2.0}

    def __getattr__(self, name: str) -> Any:
        try:
            return vars(self)["_table"][name]
        except KeyError:
            raise AttributeError(name) from None


@_changed(lambda function: function.held[0]._table.update(scale=5.0))
def attributes_by_getattr() -> Any:
    answers = Answers()
    return _of([answers], lambda x: x * answers.scale)


@_changed(lambda function: function.held.held.__setitem__(0, 5.0))
def property_of_an_object() -> Any:
    class Settings:
        def __init__(self) -> None:
            self.held = [2.0]

        @property
        def scale(self) -> float:
            return self.held[0] * 2.0

    settings = Settings()
    return _of(settings, lambda x: x * settings.scale)


class Asked(tf.Module):
    base = 1.0

    def __call__(self, x: Any) -> Any:
        return x * getattr(self, "scale", 2.0) + (self.shift if hasattr(self, "shift") else 0.0) + self.base


@_changed(_set("scale", 3.0), _set("shift", 1.0), lambda module: delattr(module, "scale"))
def attribute_that_was_not_there() -> Any:
    return Asked()


@_changed(
    lambda module: setattr(type(module), "base", 5.0), lambda module: setattr(type(module), "scale", 7.0)
)
def attribute_of_class_that_was_not_there() -> Any:
    return type("Own", (Asked,), {})()


def _asks_globals(x: Any) -> Any:
    try:
        return x * LATE  # type: ignore[name-defined]
    except NameError:
        return x * float(sum(x.shape))


@_changed(
    lambda function: function.__globals__.update(LATE=3.0),
    lambda function: function.__globals__.pop("LATE"),
    lambda function: function.__globals__.update(sum=max),
)
def global_that_was_not_there() -> Any:
    return types.FunctionType(_asks_globals.__code__, {"__name__": __name__, "__file__": __file__})


@_changed(lambda function: function.held.__setattr__("python_scale", 4.0))
def object_that_a_tf_function_reads_while_it_is_traced() -> Any:
    settings = types.SimpleNamespace(python_scale=2.0)

    def inner(x: Any) -> Any:
        return x * settings.python_scale

    return _of(settings, lambda x: tf.function(inner)(x) + 1.0)


# ------------------------------------------------------------------------------------- variables and modules
class Scaled(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.shift = tf.Variable([1.0, 2.0, 3.0]), tf.constant([0.0, 1.0, 2.0])
        self.parts, self.rate = [tf.Variable(2.0)], 0.5

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = x * part
        return x * self.w * self.rate + self.shift


@_changed(
    lambda m: m.w.assign([3.0, 2.0, 1.0]), lambda m: m.parts[0].assign(5.0), lambda m: m.w[1].assign(9.0)
)
def variables_of_a_module_are_assigned() -> Any:
    return Scaled()


@_changed(lambda m: setattr(m, "w", tf.Variable([9.0, 8.0, 7.0])), lambda m: m.w.assign([1.0, 1.0, 1.0]))
def variable_of_a_module_is_replaced() -> Any:
    return Scaled()


@_changed(
    lambda m: setattr(m, "w", tf.Variable(2.0)), lambda m: setattr(m, "w", tf.Variable(tf.ones((1, 3))))
)
def variable_of_another_shape() -> Any:
    return Scaled()


@_changed(lambda m: m.parts.append(tf.Variable(3.0)), lambda m: m.parts.append(tf.Variable(0.5)))
def variables_are_added_to_a_list() -> Any:
    return Scaled()


@_changed(
    _set("shift", tf.constant([5.0, 5.0, 5.0])),
    _set("shift", 1.0),
    _set("shift", tf.Variable([7.0, 7.0, 7.0])),
)
def constant_of_a_module_is_replaced() -> Any:
    return Scaled()


@_changed(_set("rate", 0.25), _set("rate", 2), _set("rate", tf.constant(3.0)))
def number_of_a_module_is_replaced() -> Any:
    return Scaled()


@_changed(_set("rate", np.float32(0.25)), _set("rate", np.array([1.0, 2.0, 3.0], "float32")))
def number_becomes_an_array() -> Any:
    return Scaled()


@_changed(
    lambda f: f.held.append(tf.nn.relu), lambda f: f.held.__setitem__(0, tf.sin), lambda f: f.held.reverse()
)
def functions_in_a_list() -> Any:
    functions = [tf.tanh, tf.exp]
    return _of(functions, lambda x: functools.reduce(lambda y, f: f(y), functions, x))


@_changed(lambda f: setattr(f.held, "inner", Scaled()), lambda f: setattr(f.held, "inner", tf.sin))
def module_inside_is_replaced() -> Any:
    class Outer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner: Any = Asked()

        def __call__(self, x: Any) -> Any:
            return self.inner(x) * 2.0

    outer = Outer()
    return _of(outer, outer)


# ------------------------------------------------------------------------------------- layers of Keras
def _dense(units: int = 3, **options: Any) -> Any:
    layer = L.Dense(
        units, kernel_initializer=keras.initializers.Orthogonal(seed=1), bias_initializer="ones", **options
    )
    layer.build((None, 3))
    return layer


@_changed(
    lambda layer: layer.set_weights([np.ones((3, 3)), np.zeros(3)]),
    lambda layer: layer.kernel.assign(np.eye(3) * 2.0),
    lambda layer: layer.bias.assign_add([1.0, 2.0, 3.0]),
)
def weights_of_a_layer() -> Any:
    return _dense()


@_changed(
    _set("activation", keras.activations.relu), _set("activation", lambda x: x * x), _set("use_bias", False)
)
def options_of_a_layer() -> Any:
    return _dense()


@_changed(_set("bias", None), _set("use_bias", False))
def bias_is_taken_away() -> Any:
    layer = _dense()
    layer._tracker.unlock()

    class Own(type(layer)):
        def call(self, x: Any) -> Any:
            return x @ self.kernel if self.bias is None else x @ self.kernel + self.bias

    layer.__class__ = Own
    return layer


def _adapt(layer: Any) -> None:
    layer.enable_lora(2, a_initializer="ones")


@_changed(
    _adapt,
    lambda layer: layer.lora_kernel_b.assign(np.ones((2, 3))),
    lambda layer: layer.lora_kernel_a.assign(np.eye(3, 2)),
)
def adapter_of_low_rank() -> Any:
    return _dense()


@_changed(_set("rate", 0.0), _set("rate", 0.0), _set("rate", 0.0))
def rate_of_dropout_that_is_not_trained() -> Any:
    return L.Dropout(0.5)


@_changed(_set("epsilon", 0.5), _set("epsilon", 2.0), lambda layer: layer.moving_mean.assign([1.0, 2.0, 3.0]))
def epsilon_of_a_normalisation() -> Any:
    layer = L.BatchNormalization()
    layer.build((None, 3))
    return layer


@_changed(
    _set("momentum", 0.1), _set("momentum", 0.9), lambda f: f.held.moving_variance.assign([2.0, 2.0, 2.0])
)
def momentum_of_a_normalisation() -> Any:
    layer = L.BatchNormalization(momentum=0.5)
    layer.build((None, 3))
    return _of(layer, lambda x: (layer(x, training=True), layer.momentum))


@_changed(lambda m: m.layers[0].kernel.assign(np.ones((3, 3))), lambda m: m.pop(), lambda m: m.add(_dense(2)))
def layers_of_a_sequence() -> Any:
    model = keras.Sequential([_dense(), L.Activation("tanh"), _dense(4)])
    model.build((None, 3))
    return model


class Stack(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.blocks, self.head, self.depth = [_dense(), _dense(activation="tanh")], _dense(2), 2

    def call(self, x: Any) -> Any:
        for block in self.blocks[: self.depth]:
            x = block(x)
        return self.head(x)


@_changed(_set("depth", 1), _set("depth", 0), _set("depth", 2))
def depth_of_a_model() -> Any:
    return Stack()


@_changed(
    lambda m: m.blocks[1].kernel.assign(np.eye(3)),
    lambda m: setattr(m.blocks[1], "activation", tf.sin),
    _set("depth", 1),
)
def blocks_of_a_model() -> Any:
    return Stack()


@_changed(
    lambda m: setattr(m.layers[1], "rate", 0.5),
    lambda m: setattr(m.layers[2], "axis", 0),
    lambda m: m.layers[0].function.scale.update(a=3.0),
)
def options_of_layers_without_weights() -> Any:
    scale = {"a": 2.0}

    def scaled(x: Any) -> Any:
        return x * scale["a"]

    scaled.scale = scale  # type: ignore[attr-defined]
    return keras.Sequential([L.Lambda(scaled), L.LeakyReLU(0.1), L.Softmax()])


@_changed(
    lambda f: None,
    lambda f: setattr(f.held, "initial_learning_rate", 0.5),
    lambda f: setattr(f.held, "decay_rate", 0.1),
)
def schedule_of_a_rate() -> Any:
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.9)
    weight = keras.Variable([1.0, 2.0, 3.0])
    optimizer = keras.optimizers.SGD(schedule)
    optimizer.build([weight])

    def function(x: Any) -> Any:
        optimizer.apply([tf.reduce_mean(x, 0)])
        return weight + 0.0, optimizer.learning_rate

    return _of(schedule, function)


@_changed(
    lambda f: None,
    lambda f: setattr(f.held, "reduction", "sum"),
    lambda f: setattr(f.held, "reduction", "none"),
)
def reduction_of_a_loss() -> Any:
    loss = keras.losses.MeanSquaredError()
    return _of(loss, lambda x: loss(x, x * 0.5))


@_changed(lambda m: m.load_own(), lambda m: m.head.kernel.assign(np.ones((3, 2))))
def weights_are_loaded_from_a_file(tmp: str = "") -> Any:
    class Loads(Stack):
        def load_own(self) -> None:
            import tempfile

            path = f"{tempfile.mkdtemp()}/own.weights.h5"
            for variable in self.variables:
                variable.assign(np.full(variable.shape, 0.5))
            self.save_weights(path)
            for variable in self.variables:
                variable.assign(np.zeros(variable.shape))
            self.load_weights(path)

    model = Loads()
    model(tf.zeros((1, 3)))
    return model


@_changed(
    lambda f: setattr(f.held.blocks[0], "trainable", False),
    lambda f: setattr(f.held, "trainable", False),
    lambda f: setattr(f.held, "trainable", True),
)
def trained_weights_of_a_model() -> Any:
    model = Stack()
    model(tf.zeros((1, 3)))

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        return loss, tape.gradient(loss, model.trainable_variables), len(model.trainable_variables)

    return _of(model, function)


@_changed(
    lambda f: setattr(f.held.blocks[0].kernel, "trainable", False),
    lambda f: setattr(f.held.head.bias, "trainable", False),
    lambda f: setattr(f.held.blocks[0].kernel, "trainable", True),
)
def marks_of_weights() -> Any:
    model = Stack()
    model(tf.zeros((1, 3)))

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        return loss, tape.gradient(loss, [v.value for v in model.trainable_variables])

    return _of(model, function)


@_changed(
    lambda m: m.layers[0].arguments.update({"scale": 3.0}),
    lambda m: m.layers[0].arguments.update({"shift": 1.0}),
)
def arguments_of_a_lambda_layer() -> Any:
    return keras.Sequential(
        [
            L.Lambda(lambda x, scale, shift=0.0: x * scale + shift, arguments={"scale": 2.0}),
            L.Activation("tanh"),
        ]
    )


@_changed(
    _set_held("learning_rate", 0.5),
    lambda f: f.held.learning_rate.assign(0.25),
    _set_held("learning_rate", 1.0),
)
def learning_rate_of_an_optimizer() -> Any:
    weight = keras.Variable([1.0, 2.0, 3.0])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build([weight])

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * weight) ** 2)
        optimizer.apply([tape.gradient(loss, weight.value)])
        return loss, weight + 0.0

    return _of(optimizer, function)


@_changed(_set_held("momentum", 0.9), _set_held("nesterov", True), _set_held("clipnorm", 0.1))
def options_of_an_optimizer() -> Any:
    weight = keras.Variable([1.0, 2.0, 3.0])
    optimizer = keras.optimizers.SGD(0.1, momentum=0.5)
    optimizer.build([weight])

    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * weight) ** 2)
        optimizer.apply([tape.gradient(loss, weight.value)])
        return loss, weight + 0.0

    return _of(optimizer, function)


@_changed(
    lambda f: keras.config.set_epsilon(0.5),
    lambda f: keras.config.set_epsilon(0.1),
    lambda f: keras.config.set_epsilon(1e-7),
)
def epsilon_of_keras() -> Any:
    keras.config.set_epsilon(1e-7)
    return lambda x: x / (keras.config.epsilon() + 1.0)
