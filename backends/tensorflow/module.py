"""A graph as a ``keras.Model``."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


class GraphModule(keras.Model):
    """Calls a graph with variables of its own, under the original names; those that the original does not train are not trainable."""

    def __init__(self, graph: Any) -> None:
        super().__init__(name=_legal(graph.name))
        self._graph = graph
        written = set(graph.state)
        self._held: dict[str, keras.Variable] = {}
        for name, array in graph.parameters.items():
            trained = name not in written and array.dtype.is_floating and not _is_buffer(graph, name)
            self._held[name] = self.add_weight(shape=array.shape, dtype=array.dtype.name, name=name, trainable=trained, initializer="zeros")
            self._held[name].assign(array)
        self.built = True

    def variable(self, name: str) -> keras.Variable:
        """The variable of a parameter, by its name in the original."""
        return self._held[name]

    def call(self, *args: Any, training: Any = None, rng: Any = None, **kwargs: Any) -> Any:
        """The graph's result; the variables of buffers that it writes to are given their new values."""
        graph = self._graph
        if not any(variant.match(args, kwargs) is not None for variant in graph.variants):
            graph.add_variant(args, kwargs, "called as a module")
        if rng is None and any(variant.is_random for variant in graph.variants):
            rng = graph.variants[0].target.next_key()
        outcome = graph.functional({name: tf.convert_to_tensor(held) for name, held in self._held.items()}, *args, rng=rng, **kwargs)
        if not graph.state:
            return outcome
        result, state = outcome
        for name, array in state.items():
            self._held[name].assign(array)
        return result


def _legal(name: str) -> str:
    return name.replace(".", "_").replace("/", "_")


def _is_buffer(graph: Any, name: str) -> bool:
    recording = graph.variants[0].recording
    return recording is not None and not recording.weights.is_trained(name)


def as_module(graph: Any) -> keras.Model:
    """See :meth:`graph_compiler.Graph.as_module`."""
    return GraphModule(graph)
