"""Graphs that a function calls, as models: their weights are parameters of the function's graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any


class CalledGraph:
    """Model of a compiled graph that the function calls.

    The graph is found only when it is called, so ``traced`` replaces no arrays.
    """

    changes = False

    def __init__(self, graph: Any) -> None:
        self.item = graph

    def leave_out(self, known: Set[int]) -> None: ...

    def arrays(self) -> dict[str, Any]:
        return dict(self.item.parameters)

    def owner_of(self, name: str) -> Any:
        return self.item

    def put(self, name: str, array: Any) -> None:
        for variant in self.item.variants:
            if name in variant.graph.parameters:
                variant.store(name, array)

    def is_trained(self, name: str) -> bool:
        return name in self.item.trained

    def parts(self) -> list[Any]:
        return [self.item]

    @contextmanager
    def traced(self, arrays: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        yield self.item, self.arrays
