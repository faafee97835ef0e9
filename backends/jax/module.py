"""A graph as a ``flax.nnx.Module``."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx


class _Part(nnx.Module):  # type: ignore[misc,unused-ignore]
    """One level of the names."""


class GraphModule(nnx.Module):  # type: ignore[misc,unused-ignore]
    """Calls a graph with the arrays that it holds: weights as ``nnx.Param``, buffers as ``nnx.BatchStat``."""

    def __init__(self, graph: Any) -> None:
        self.graph = _Static(graph)
        self.names = tuple(graph.parameters)
        written = set(graph.state)
        for name, array in graph.parameters.items():
            *path, last = name.split(".")
            trained = name not in written and jnp.issubdtype(array.dtype, jnp.floating) and not _is_buffer(graph, name)
            setattr(self._holder(path, make=True), last, (nnx.Param if trained else nnx.BatchStat)(array))

    def _holder(self, path: list[str], make: bool = False) -> Any:
        holder: Any = self
        for part in path:
            if make and not hasattr(holder, part):
                setattr(holder, part, _Part())
            holder = getattr(holder, part)
        return holder

    def _variable(self, name: str) -> Any:
        *path, last = name.split(".")
        return getattr(self._holder(path), last)

    def __call__(self, *args: Any, rng: Any = None, **kwargs: Any) -> Any:
        graph = self.graph.value
        parameters = {name: self._variable(name)[...] for name in self.names}
        if not any(variant.match(args, kwargs) is not None for variant in graph.variants):
            graph.add_variant(args, kwargs, "called as a module")
        if rng is None and any(variant.is_random for variant in graph.variants):
            rng = graph.variants[0].target.next_key()
        outcome = graph.functional(parameters, *args, rng=rng, **kwargs)
        if not graph.state:
            return outcome
        result, state = outcome
        for name, array in state.items():
            self._variable(name)[...] = array
        return result


class _Static:
    """Something that nnx takes for a fixed part of the module."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and other.value is self.value


def _is_buffer(graph: Any, name: str) -> bool:
    recording = graph.variants[0].recording
    return recording is not None and not recording.weights.is_trained(name)


def as_module(graph: Any) -> nnx.Module:
    """See :meth:`graph_compiler.Graph.as_module`."""
    return GraphModule(graph)
