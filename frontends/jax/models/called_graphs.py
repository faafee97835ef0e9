"""Graphs that a function calls, as models: what they are written with are parameters of the function's graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any


class CalledGraph:
    """A graph for JAX. It is found when it is called, so nothing stands in its place while the function is traced."""

    changes = False

    def __init__(self, graph: Any) -> None:
        self.item = graph

    def leave_out(self, known: Set[int]) -> None:
        """Do nothing: no other model holds its arrays."""

    def arrays(self) -> dict[str, Any]:
        """Return the parameters of the moment."""
        return dict(self.item.parameters)

    def owner_of(self, name: str) -> Any:
        """Return the graph."""
        return self.item

    def put(self, name: str, array: Any) -> None:
        """Give the graph another array, and so its original."""
        for variant in self.item.variants:
            if name in variant.graph.parameters:
                variant.store(name, array)

    def is_trained(self, name: str) -> bool:
        """Return True unless the original does not train it."""
        return name in self.item.trained

    def parts(self) -> list[Any]:
        """Return the graph."""
        return [self.item]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Replace nothing."""
        yield self.item, self.arrays
