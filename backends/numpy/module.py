"""Graphs as callable objects with their own parameters, because NumPy has no modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...forwarding import passes_on


class ParameterizedGraph:
    """Callable that runs a graph with the arrays in ``parameters`` instead of the graph's.

    parameters: the arrays by their original names.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.parameters: dict[str, np.ndarray[Any, Any]] = dict(graph.parameters)

    @passes_on
    def __call__(self, *args: Any, rng: np.random.Generator | None = None, **kwargs: Any) -> Any:
        """Run the graph, store the buffers that it updates, and return its result.

        ``rng`` replaces the random generators that ``graph.seed`` seeds.
        """
        key = self.graph.variants[0].target.next_key if rng is None else lambda: rng
        result, state = self.graph._call_as_module(
            self._held, args, kwargs, key=key, training=None, is_traced=False
        )
        self.parameters.update(state)
        return result

    def _held(self) -> dict[str, np.ndarray[Any, Any]]:
        # Variants that were recorded since may have more parameters.
        self.parameters = {**self.graph.parameters, **self.parameters}
        return self.parameters

    def arrays_by_name(self) -> dict[str, np.ndarray[Any, Any]]:
        return self._held()

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self.parameters[name]

    def __setitem__(self, name: str, array: np.ndarray[Any, Any]) -> None:
        if name not in self.parameters or array.shape != self.parameters[name].shape:
            known = (
                f"of shape {self.parameters[name].shape}"
                if name in self.parameters
                else f"among {', '.join(self.parameters)}"
            )
            raise ValueError(f"an array of shape {array.shape} for {name!r}, which is not {known}")
        self.parameters[name] = array.astype(self.parameters[name].dtype, copy=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def load_state_dict(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        for name, array in arrays.items():
            self[name] = array


def as_module(graph: Any) -> ParameterizedGraph:
    return ParameterizedGraph(graph)
