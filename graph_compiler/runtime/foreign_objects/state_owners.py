"""The objects in which calls of a variant keep state, for which they wait on each other."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from ...ir.graph import Graph
from ...recording.state.places import Place, State

Written = Iterable[tuple[str, Any]]  # kind and key of the arrays that the flat function itself writes to


class Owning(Protocol):
    """Where the user's model keeps its arrays."""

    def owner_of(self, name: str) -> Any:
        """The object that holds a buffer: graphs that change what it holds take turns."""


def owners_of(
    graph: Graph, written: Written, weights: Owning | None, constants: Mapping[str, Any]
) -> list[Any]:
    """The objects that hold buffers, captured arrays and places which a call changes; of numbers that Python
    draws, its generator.
    """
    if not (written or graph.effects or graph.state.places):
        return []
    changed = [*written, *((f"{effect.kind}s", effect.target) for effect in graph.effects)]
    places = () if graph.state.places is None else _of_state(graph.state.places)
    return [*(_of_arrays(graph, changed, weights, constants) if changed else ()), *places]


def _of_arrays(
    graph: Graph, changed: Written, weights: Owning | None, constants: Mapping[str, Any]
) -> Iterator[Any]:
    if weights is not None:
        yield from map(
            weights.owner_of,
            dict.fromkeys(name for kind, name in changed if kind in ("parameters", "buffers")),
        )
    if captured := dict.fromkeys(name for kind, name in changed if kind == "constants"):
        yield from (graph.constants[name][1] for name in captured)
        yield constants


def _of_state(state: State) -> Iterator[Any]:
    for place in state.places:
        yield place.held.owner if isinstance(place, Place) else random
