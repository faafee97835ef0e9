"""Traps with functions: ``tf.function`` in its forms, changing closures and globals, side effects,
structures.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from .table import Keywords, Traps, drawn

TRAPS = Traps()


@TRAPS.function()
@tf.function(jit_compile=True)
def compiled_by_xla(x: Any) -> Any:
    return tf.tanh(x) * tf.cast(tf.shape(x)[0], tf.float32)


@TRAPS.function()
@tf.function(reduce_retracing=True)
def relaxed_shapes(x: Any) -> Any:
    return x * x.shape[1] + tf.cast(tf.shape(x)[0], tf.float32)


@TRAPS.function()
@tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32)])
def with_a_signature(x: Any) -> Any:
    return tf.exp(x) * tf.cast(tf.shape(x)[0], tf.float32)


@TRAPS.function(lambda: (drawn(),), lambda: (drawn(6),), lambda: (drawn(4, 2),), raises={2: ""})
@tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32)])
def refuses_another_shape(x: Any) -> Any:
    return tf.exp(x)


@TRAPS.function(lambda: (drawn(), 1.0), lambda: (drawn(6), 2.0), lambda: (drawn(6), 3.0))
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec((), tf.float32)])
def signature_of_unknown_rank(x: Any, scale: Any) -> Any:
    return tf.exp(x) * scale


@TRAPS.function(lambda: (drawn(), 2), lambda: (drawn(), 3), lambda: (drawn(6), 2))
@tf.function
def retraces_for_numbers_of_python(x: Any, power: Any) -> Any:
    return x**power + len(range(power))


@TRAPS.made(errors={"everywhere": "has to be in variables"})
def side_effects_happen_while_it_is_traced() -> Any:
    seen: list[int] = []

    @tf.function
    def inner(x: Any) -> Any:
        seen.append(1)
        return x * 2.0

    inner(drawn())
    inner(drawn(5))
    inner(drawn(6))

    def function(x: Any) -> Any:
        return inner(x) + 1.0

    return function


@TRAPS.made()
def appends_to_a_list() -> Any:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(1)
        return x * len(seen)

    return function


@TRAPS.made()
def counts_in_a_closure() -> Any:
    calls = 0

    def function(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x * calls

    return function


@TRAPS.made()
def counts_in_an_attribute() -> Any:
    class Counts:
        calls = 0

        def __call__(self, x: Any) -> Any:
            self.calls += 1
            return x * self.calls

    return Counts()


@TRAPS.made(changes={2: lambda f: f.__closure__[0].cell_contents.update(scale=5.0)})
def dict_changes_between_calls() -> Any:
    options = {"scale": 2.0}

    def function(x: Any) -> Any:
        return x * options["scale"]

    return function


SCALE = 2.0


def _set_scale(function: Any) -> None:
    global SCALE
    SCALE = 3.0 if SCALE == 2.0 else 2.0


@TRAPS.function(changes={2: _set_scale})
def global_changes_between_calls(x: Any) -> Any:
    return x * SCALE


def _set_cell(function: Any) -> None:
    function.__closure__[0].cell_contents = 7.0


@TRAPS.made(changes={1: _set_cell})
def closure_changes_between_calls() -> Any:
    scale = 2.0

    def function(x: Any) -> Any:
        return x * scale

    return function


def _other_array(function: Any) -> None:
    function.__closure__[0].cell_contents = tf.constant([5.0, 6.0, 7.0])


@TRAPS.made(changes={1: _other_array})
def tensor_of_a_closure_changes() -> Any:
    scale = tf.constant([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        return x * scale

    return function


def _fill(function: Any) -> None:
    function.__closure__[0].cell_contents[:] = 5.0


@TRAPS.made(changes={1: _fill})
def array_of_numpy_changes_in_place() -> Any:
    scale = np.ones(3, "float32")

    def function(x: Any) -> Any:
        return x * scale

    return function


@TRAPS.made(changes={1: lambda f: setattr(f.__self__, "rate", 0.25)})
def attribute_changes_between_calls() -> Any:
    class Model:
        rate = 0.5

        def scaled(self, x: Any) -> Any:
            return x * self.rate

    return Model().scaled


@TRAPS.made(changes={1: lambda f: setattr(f, "rate", 0.25)})
def attribute_of_a_module_changes() -> Any:
    class Model(tf.Module):
        rate = 0.5

        def __call__(self, x: Any) -> Any:
            return x * self.rate

    return Model()


@TRAPS.made(changes={1: lambda f: f.layers.append(lambda x: x * 3.0)})
def list_of_functions_grows() -> Any:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [tf.exp, tf.tanh]

        def __call__(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    return Model()


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Batch:
    rows: Any
    scale: float


@TRAPS.function(lambda: (Pair(drawn(), drawn(seed=1)),), lambda: (Pair(drawn(6), drawn(6)),))
def named_tuples(pair: Any) -> Any:
    return Pair(pair.first + pair.second, [pair.first])


@TRAPS.function(
    lambda: (Batch(drawn(), 2.0),), lambda: (Batch(drawn(6), 2.0),), lambda: (Batch(drawn(6), 3.0),)
)
def data_classes(batch: Any) -> Any:
    return batch.rows * batch.scale


@TRAPS.function(
    lambda: ({"b": drawn(), "a": [drawn(), (drawn(),)]},),
    lambda: ({"b": drawn(6), "a": [drawn(5), (drawn(2),)]},),
    lambda: ({"a": [drawn(5), (drawn(2),)], "b": drawn(6)},),
)
def dicts_and_lists(tree: Any) -> Any:
    return {
        "sum": tf.reduce_sum(tree["b"]),
        "rest": tf.nest.map_structure(lambda item: item * 2.0, tree["a"]),
        "keys": list(tree),
    }


@TRAPS.function(
    lambda: (collections.OrderedDict(z=drawn(), a=drawn(5)),),
    lambda: (collections.OrderedDict(z=drawn(2), a=drawn(3)),),
)
def ordered_dicts(tree: Any) -> Any:
    return collections.OrderedDict((key, item * 2.0) for key, item in tree.items())


@TRAPS.function(
    lambda: (drawn(), Keywords(scale=2.0, y=drawn(seed=1))),
    lambda: (drawn(6), Keywords(y=drawn(6, seed=1))),
    lambda: (Keywords(y=drawn(), x=drawn(seed=3)),),
)
def keywords(x: Any, *, y: Any, scale: float = 1.0) -> Any:
    return x * scale - y


@TRAPS.function(
    lambda: (drawn(), drawn(seed=1), drawn(seed=2)),
    lambda: (drawn(),),
    lambda: (drawn(), drawn(), Keywords(last=drawn(seed=3))),
)
def star_arguments(*rows: Any, **more: Any) -> Any:
    return sum(rows) * len(rows) + sum(more.values())


@TRAPS.made()
def partial() -> Any:
    return functools.partial(lambda scale, x, shift: x * scale + shift, 2.0, shift=1.0)


@TRAPS.made()
def partial_of_a_tf_function() -> Any:
    return functools.partial(tf.function(lambda x, scale: x * scale), scale=3.0)


@TRAPS.made()
def method_of_a_tf_function() -> Any:
    class Model:
        def __init__(self) -> None:
            self.weight = tf.Variable([1.0, 2.0, 3.0])

        @tf.function
        def scaled(self, x: Any) -> Any:
            return x * self.weight

    model = Model()
    return lambda x: model.scaled(x) + model.weight


@TRAPS.made()
def concrete_function() -> Any:
    return tf.function(lambda x: tf.exp(x) * 2.0).get_concrete_function(tf.TensorSpec((None, 3), tf.float32))


@TRAPS.made()
def nested_tf_functions() -> Any:
    @tf.function
    def innermost(x: Any, power: int) -> Any:
        return tf.tanh(x) ** power

    @tf.function(jit_compile=True)
    def inner(x: Any) -> Any:
        return innermost(x, 2) + innermost(x, 3)

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) + inner(x[:2])[0]

    return outer


@TRAPS.made()
def recursion_of_python() -> Any:
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    return lambda x: power(x, 4)


@TRAPS.function()
def lambdas_of_a_loop(x: Any) -> Any:
    makes = [lambda y, n=n: y * n for n in range(3)]
    return sum(make(x) for make in makes)


@TRAPS.function()
def generator(x: Any) -> Any:
    def rows() -> Any:
        for place in range(3):
            yield x[:, place] * place

    return tf.stack(list(rows()))


@TRAPS.function()
def name_scopes_and_devices(x: Any) -> Any:
    with tf.name_scope("scope"), tf.device("/CPU:0"):
        return tf.exp(x, name="e")


@TRAPS.function()
def eager_escape(x: Any) -> Any:
    with tf.init_scope():
        scale = tf.constant(2.0) * 3.0
    return x * scale


@TRAPS.made()
def decorated() -> Any:
    def twice(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return function(function(*args))

        return wrapper

    @twice
    def function(x: Any) -> Any:
        return tf.tanh(x) + 1.0

    return function


@TRAPS.made()
def cached_by_functools() -> Any:
    @functools.cache
    def table(columns: int) -> Any:
        return tf.range(columns, dtype=tf.float32)

    return lambda x: x * table(3)


@TRAPS.made()
def returns_a_constant() -> Any:
    return lambda x: (tf.constant(3.0), np.arange(3), 5, "text", x.dtype)


@TRAPS.function()
def returns_nothing(x: Any) -> Any:
    tf.exp(x)


@TRAPS.function(errors={"everywhere": "function"})
def returns_a_function(x: Any) -> Any:
    return lambda: x * 2.0


@TRAPS.function(lambda: (drawn(), Keywords(flag=True)), lambda: (drawn(), Keywords(flag=False)))
@tf.function
def flag_of_a_tf_function(x: Any, flag: Any = True) -> Any:
    return x if flag else -x


@TRAPS.function(
    lambda: (drawn(), tf.constant(True)),
    lambda: (drawn(), tf.constant(False)),
    lambda: (drawn(6), tf.constant(True)),
)
@tf.function
def flag_that_is_a_tensor(x: Any, flag: Any) -> Any:
    return x if flag else -x


@TRAPS.function(
    lambda: (drawn(),), lambda: (tf.cast(drawn(), tf.float64),), lambda: (tf.cast(drawn(), tf.float16),)
)
def other_types(x: Any) -> Any:
    return tf.exp(x) * 2 + x.shape[0]


@TRAPS.function()
def numpy_of_tensorflow(x: Any) -> Any:
    tnp = tf.experimental.numpy
    return (
        tnp.sum(tnp.sin(x), axis=0) + tnp.arange(3, dtype=tnp.float32),
        tnp.where(x > 0, x, 0.0),
        tnp.concatenate([x, x], 1),
    )


@TRAPS.function()
def nest_of_tensorflow(x: Any) -> Any:
    tree = {"a": x, "b": [x * 2.0, (x + 1.0,)]}
    flat = tf.nest.flatten(tree)
    return tf.nest.pack_sequence_as(tree, [item - 1.0 for item in flat])


@TRAPS.function()
def group_and_tuple(x: Any) -> Any:
    first, second = tf.tuple([x, x * 2.0])
    tf.group(first, second)
    return first + tf.identity_n([second, x])[0]
