"""Objects that hold the state of a variant; calls that change the same object wait for each other."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from ...ir.graph import Graph
from ...recording.state.places import ExternalState, StatePlace

# Kind and key of the arrays that the flat function itself writes to.
Written = Iterable[tuple[str, Any]]


class OwnerLookup(Protocol):
    """Lookup of the objects that hold the arrays of the user's model."""

    def owner_of(self, name: str) -> Any: ...


def owners_of(
    graph: Graph, written: Written, weights: OwnerLookup | None, constants: Mapping[str, Any]
) -> list[Any]:
    """Return the objects that hold buffers, captured arrays and places which a call changes.

    For numbers that Python draws, this is the module ``random``. The list is empty if a call changes no
    state.
    """
    if not (written or graph.effects or graph.state.places):
        return []
    changed = [*written, *((f"{effect.kind}s", effect.target) for effect in graph.effects)]
    places = () if graph.state.places is None else _of_state(graph.state.places)
    return [*(_of_arrays(graph, changed, weights, constants) if changed else ()), *places]


def _of_arrays(
    graph: Graph, changed: Written, weights: OwnerLookup | None, constants: Mapping[str, Any]
) -> Iterator[Any]:
    if weights is not None:
        yield from map(
            weights.owner_of,
            dict.fromkeys(name for kind, name in changed if kind in ("parameters", "buffers")),
        )
    if captured := dict.fromkeys(name for kind, name in changed if kind == "constants"):
        yield from (graph.constants[name][1] for name in captured)
        yield constants


def _of_state(state: ExternalState) -> Iterator[Any]:
    for place in state.places:
        yield place.held.owner if isinstance(place, StatePlace) else random
