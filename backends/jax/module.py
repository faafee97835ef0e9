"""A graph as a ``flax.nnx.Module``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from ...forwarding import passes_on


class _ParameterNode(nnx.Module):  # type: ignore[misc,unused-ignore]
    """Inner node of the tree that dotted parameter names form."""


class GraphModule(nnx.Module):  # type: ignore[misc,unused-ignore]
    """Module that calls a graph with its own variables (``nnx.Param`` and ``nnx.BatchStat``).

    Random numbers come from the argument ``rng`` of a call, or by default from a key in the module's state.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = _Static(graph)
        self._names: tuple[str, ...] = ()
        self._is_training: bool | None = None
        self._hold_all()
        if any(variant.is_random for variant in graph.variants):
            self._start_keys()

    def _hold_all(self) -> None:
        """Add a variable for each parameter of the graph that has none."""
        graph = self._graph.value
        trained = graph.trained
        for name, array in graph.parameters.items():
            if name not in self._names:
                *path, last = name.split(".")
                kind = (
                    nnx.Param
                    if name in trained and jnp.issubdtype(array.dtype, jnp.floating)
                    else nnx.BatchStat
                )
                setattr(self._holder(path, make=True), last, kind(array))
                self._names = (*self._names, name)

    def _holder(self, path: list[str], make: bool = False) -> Any:
        holder: Any = self
        for part in path:
            if make and not hasattr(holder, part):
                setattr(holder, part, _ParameterNode())
            holder = getattr(holder, part)
        return holder

    def _variable(self, name: str) -> Any:
        *path, last = name.split(".")
        return getattr(self._holder(path), last)

    def _held(self) -> dict[str, Any]:
        self._hold_all()
        return {name: self._variable(name)[...] for name in self._names}

    def arrays_by_name(self) -> dict[str, Any]:
        return self._held()

    def _start_keys(self) -> None:
        target = self._graph.value.variants[0].target
        # JAX may be tracing a program, and the key that the module stores must not be a tracer.
        with target.untraced():
            key = target.next_key()
        self._keys: Any = nnx.RngStream(key=key, tag="graph")

    def _next_key(self) -> Any:
        # A variant that draws numbers may have been recorded after this module was made.
        if not hasattr(self, "_keys"):
            self._start_keys()
        return self._keys()

    def train(self, **attributes: Any) -> None:
        super().train(**attributes)
        self._is_training = True

    def eval(self, **attributes: Any) -> None:
        super().eval(**attributes)
        self._is_training = False

    @passes_on
    def __call__(self, *args: Any, rng: Any = None, **kwargs: Any) -> Any:
        is_traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, kwargs)))
        # A key is drawn only if the graph needs one, because drawing changes the module's state.
        key = self._next_key if rng is None else lambda: rng
        result, state = self._graph.value._call_as_module(
            self._held, args, kwargs, key=key, training=self._is_training, is_traced=is_traced
        )
        for name, array in state.items():
            self._variable(name)[...] = array
        return result


class _Static:
    """Wrapper of an object that ``nnx`` treats as a static part of a module, compared by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Static:
        # A copy of the module calls the same graph with its own variables.
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and other.value is self.value


def as_module(graph: Any) -> nnx.Module:
    return GraphModule(graph)
