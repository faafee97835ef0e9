"""State that calls keep in the original's objects, as opposed to attributes that only a first call sets.

For example, a classifier sets ``config.problem_type`` in its first call, and later calls only read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..recording.state.container_updates import NewObject, OutsideObject
from ..recording.state.places import StatePlace
from ..trees import Branch, Static, same_static
from .variant import Variant

# An attribute may be set by a call that reads what the one before it has set.
_MOST_CALLS = 3


class Recordable(Protocol):
    """Interface that :func:`record_settled_values` needs of a graph."""

    @property
    def variants(self) -> Sequence[Variant]: ...

    def add_variant(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str = ...) -> Any: ...


def state_of(variants: Sequence[Variant]) -> dict[str, Any]:
    """Return the state that calls keep, by name, with arrays of the graph's framework."""
    settled = _assumed_places(variants)
    current = [
        variant
        for variant in variants
        if not any(place.identity in settled for place, _ in _values_after(variant))
    ]
    names = {place.name for place in settled.values()}
    return {
        name: item
        for variant in current
        for name, item in variant.effects.state_now().items()
        if name not in names
    }


def record_settled_values(graph: Recordable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Record variants for later calls, with the Python values that a first call sets in the original.

    The values may remain set.
    """
    for _ in range(_MOST_CALLS):
        settled = _assumed_places(graph.variants)
        after = [
            pair
            for variant in graph.variants
            for pair in _values_after(variant)
            if pair[0].identity not in settled
        ]
        places = {place.identity: (place, value) for place, value in after}
        if not places:
            return
        before = [(place, place.saved()) for place, _ in places.values()]
        for place, value in places.values():
            place.write(value)
        graph.add_variant(tuple(args), dict(kwargs), "values that a first call leaves in the model")
        # A second call sets other values, so these are state.
        if not places.keys() <= _assumed_places(graph.variants).keys():
            for place, item in before:
                place.write(item)
            return


def _assumed_places(variants: Sequence[Variant]) -> dict[tuple[int, Any], StatePlace]:
    found: dict[tuple[int, Any], StatePlace] = {}
    replaced = set()
    for variant in variants:
        changed = (
            {_places(variant)[one.number].identity for one in variant.state.replaced}
            if variant.state
            else set()
        )
        now = {
            place.identity: place
            for place, value in _values_before(variant)
            if same_static(place.read(), value)
        }
        found.update(now)
        replaced |= changed & now.keys()
    return {identity: place for identity, place in found.items() if identity not in replaced}


def _places(variant: Variant) -> list[StatePlace]:
    return variant.state.kept() if variant.state else []


def _values_before(variant: Variant) -> Iterator[tuple[StatePlace, Any]]:
    trees = variant.state.tree.children if variant.state and isinstance(variant.state.tree, Branch) else ()
    yield from (
        (place, tree.value) for place, tree in zip(_places(variant), trees) if isinstance(tree, Static)
    )


def _values_after(variant: Variant) -> Iterator[tuple[StatePlace, Any]]:
    """Yield places in which a call replaces a Python value by another, with the new value."""
    if not variant.state or not variant.state.replaced or not isinstance(variant.graph.output_tree, Branch):
        return
    before = {place.identity for place, _ in _values_before(variant)}
    _, made_new = variant.graph.output_tree.children
    new = made_new.children if isinstance(made_new, Branch) else ()
    for one in variant.state.replaced:
        place, item = _places(variant)[one.number], one.item
        made = (
            new[item.index]
            if isinstance(item, NewObject)
            else Static(item.item)
            if isinstance(item, OutsideObject)
            else None
        )
        if place.identity in before and isinstance(made, Static):
            yield place, made.value
