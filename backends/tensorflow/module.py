"""Graphs as Keras models: :func:`as_module`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from ...errors import InvalidOption, NotSerialisable
from ...forwarding import passes_on
from ...ops.dtypes import is_floating
from ...trees import Tree, flatten, is_namedtuple, statics, unflatten
from . import native


class NamedVariable(keras.Variable):
    """Keras variable whose path is the name of a parameter in the original model."""

    def __init__(self, array: Any, name: str, trainable: bool) -> None:
        self._full_name = name
        super().__init__(array, dtype=array.dtype.name, trainable=trainable, name=name.rpartition("/")[2])

    @property
    def path(self) -> str:
        return self._full_name

    def _initialize(self, value: Any) -> None:
        self._value = tf.Variable(value, dtype=self._dtype, trainable=self.trainable, name=self._full_name)


class GraphModel(keras.Model):
    """Keras model that calls a graph with variables of its own, copies of the parameters of the graph."""

    def __init__(self, graph: Any) -> None:
        super().__init__(name=_legal_name(graph.name), **_policy(graph))
        self._graph = graph
        self._held: dict[str, keras.Variable] = {}
        self._create_variables()
        if any(variant.is_random for variant in graph.variants):
            self._seeds = keras.random.SeedGenerator(_seed(graph))
        self.built = True

    def _create_variables(self) -> None:
        graph = self._graph
        # Variables outlive a tf.function that is being traced, and their names have no prefix of its scope.
        with tf.init_scope(), tf.name_scope(""):
            trained = graph.trained
            for name, array in graph.parameters.items():
                if name not in self._held:
                    is_trained = name in trained and array.dtype.is_floating
                    self._held[name] = made = NamedVariable(array, name, is_trained)
                    self._track_variable(made)
                    # tf.train.Checkpoint does not look into dicts.
                    self._track_trackable(made, name, overwrite=True)

    def variable(self, name: str) -> keras.Variable:
        return self._held[name]

    def export(self, filepath: Any, *args: Any, input_signature: Any = None, **options: Any) -> Any:
        return super().export(
            filepath, *args, input_signature=input_signature or _signature(self._graph), **options
        )

    def get_config(self) -> dict[str, Any]:
        raise NotSerialisable(
            f"{self.name} calls a graph, which Keras cannot write down and make again: keep its weights "
            "(save_weights, "
            "tf.train.Checkpoint), "
            "export it (export, tf.saved_model.save), or save the graph itself (Graph.save) and take "
            "load(path).as_module()"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModel:
        made = memo[id(self)] = GraphModel(self._graph)
        made.trainable = self.trainable
        for name, held in self._held.items():
            made.variable(name).assign(held)
            made.variable(name).trainable = held.trainable
        return made

    def __reduce__(self) -> Any:
        held = {name: (array.numpy(), array.trainable) for name, array in self._held.items()}
        return _restore, (self._graph, held, self.trainable)

    def _tensors(self) -> dict[str, Any]:
        self._create_variables()
        return {name: tf.convert_to_tensor(held) for name, held in self._held.items()}

    def arrays_by_name(self) -> dict[str, Any]:
        return self._tensors()

    def _next_key(self) -> Any:
        # This is the first mode that samples random numbers. Keras does not accept new variables in a built
        # model, so the generator is set in __dict__.
        if not hasattr(self, "_seeds"):
            with tf.init_scope():
                self.__dict__["_seeds"] = keras.random.SeedGenerator(_seed(self._graph))
        return tf.cast(self._seeds.next() % (2**31 - 1), tf.int32)

    @passes_on
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the graph and return its result.

        ``training=`` selects the mode, and ``rng=`` is a random key instead of one from the model's own seed.
        """
        # Keras' own loops call a model like this, and get plain dicts.
        if len(args) == 1 and kwargs.keys() == {"training"}:
            return _as_dicts(self._call_graph(args, kwargs))
        return self._call_graph(args, kwargs)

    @passes_on
    def _call_graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        options = {name: kwargs.pop(name) for name in ("training", "rng") if name in kwargs}
        args, kwargs = self._graph._spread(args, kwargs)
        # Opaque objects keep their identity, since the call may change them.
        # Keras rejects numbers and flags as arguments, and has keywords of its own (``mask``), so such
        # arguments are passed in ``form``.
        arrays, tree = flatten((args, kwargs), _is_array, lambda item: False)
        if not arrays or not kwargs and all(item is None for item in statics(tree)):
            return super().__call__(*args, **kwargs, **options)
        return super().__call__(*arrays, form=_CallStructure(tree), **options)

    @passes_on
    def call(self, *args: Any, training: Any = None, rng: Any = None, form: Any = None, **kwargs: Any) -> Any:
        """Return the result of the graph, and assign new values to the variables that it writes to.

        ``form`` is the structure of the arguments if ``args`` are only their arrays.
        """
        if form is not None:
            args, kwargs = unflatten(form.tree, args)
        key = self._next_key if rng is None else lambda: rng
        result, state = self._graph._call_as_module(
            self._tensors, args, kwargs, key=key, training=training, is_traced=tf.inside_function()
        )
        for name, array in state.items():
            self._held[name].assign(array)
        return result


def _restore(graph: Any, held: dict[str, tuple[Any, bool]], trainable: bool) -> GraphModel:
    made = GraphModel(graph)
    made.trainable = trainable
    for name, (array, is_trained) in held.items():
        made.variable(name).assign(array)
        made.variable(name).trainable = is_trained
    return made


@dataclass(frozen=True)
class _CallStructure:
    """Structure of the arguments of a call, without their arrays."""

    tree: Tree


def _is_array(item: Any) -> bool:
    return (
        isinstance(item, (tf.Variable, keras.KerasTensor))
        or keras.ops.is_tensor(item)
        or native.target.convert(item) is not None
    )


def _as_dicts(result: Any) -> Any:
    if isinstance(result, dict):
        return {name: _as_dicts(item) for name, item in result.items()}
    if is_namedtuple(type(result)):
        return type(result)(*map(_as_dicts, result))
    return type(result)(map(_as_dicts, result)) if type(result) in (list, tuple) else result


def _policy(graph: Any) -> dict[str, Any]:
    inputs = (value.dtype for variant in graph.variants for value in variant.graph.inputs)
    dtypes = {
        dtype
        for dtype in (*inputs, *(array.dtype.name for array in graph.parameters.values()))
        if is_floating(dtype)
    }
    return {"dtype": min(dtypes)} if len(dtypes) == 1 else {"autocast": False}


def _signature(graph: Any) -> list[Any]:
    """Return Keras input specs for the arguments of the first variant of ``graph``."""
    recorded = graph.variants[0].graph
    specs = [
        # A scalar has no first axis.
        keras.InputSpec(dtype=value.dtype, shape=(None, *value.spec.hints[1:])[: value.ndim])
        for value in recorded.inputs
    ]
    args, kwargs = unflatten(recorded.input_tree, specs)
    if (args and kwargs) or any(item is not None for item in statics(recorded.input_tree)):
        raise InvalidOption(
            f"{graph.name} was recorded with keywords or numbers beside arrays: say what is to be exported, "
            "as input_signature="
        )
    return [kwargs] if kwargs else list(args)


def _seed(graph: Any) -> int:
    return int(graph.variants[0].target.next_key()[1]) % 2**31


def _legal_name(name: str) -> str:
    # Keras does not allow a slash in the name of a model.
    return name.replace(".", "_").replace("/", "_")


def as_module(graph: Any) -> keras.Model:
    return GraphModel(graph)
