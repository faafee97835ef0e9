"""Places of state that are known before a recording: by earlier recordings, or because the user has changed
what they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ....recording import Request
from ....recording.reachability.containers import is_whole
from ....recording.reachability.snapshot import ObjectSnapshot, TrackedContainer
from ....recording.state.auto_dynamic import AutoDynamic
from ....recording.state.container_updates import Containers
from ....recording.state.places import StatePlace
from ..basics.arguments import is_array
from ..basics.tensors import version
from ..memory.watching import pieces_of
from .parameters import Weights
from .places import GRADIENT
from .state import State, is_given


def converted(request: Request) -> list[StatePlace]:
    """Where objects that are named as stateful hold arrays of another framework, which earlier calls of
    graphs have put there.
    """
    if not request.stateful.objects:
        return []
    known = {place.identity for place in request.places}
    world = ObjectSnapshot(
        [(type(item).__name__, item) for item in request.stateful.objects], own=request.stateful.objects
    )
    parts = ((held, key, item) for held in world.held for key, item in held.before.items())
    places = [
        StatePlace(held, None if is_whole(held.item) else key, is_whole(held.item))
        for held, key, item in parts
        if is_array(item) and not (request.same_framework or isinstance(item, torch.Tensor))
    ]
    return list({place.identity: place for place in places if place.identity not in known}.values())


def changed_often(request: Request) -> list[StatePlace]:
    """Where the user has put other numbers and tensors before this and earlier recordings: inputs from here
    on.
    """
    if request.auto_dynamic is None or request.auto_dynamic.is_new:
        return []
    weights = Weights(request.function)
    found = note_changes(request.auto_dynamic, weights, State(weights, stateful=request.stateful.objects))
    known = {place.identity for place in request.places}
    return list({place.identity: place for place in found if place.identity not in known}.values())


def note_changes(auto_dynamic: AutoDynamic, weights: Weights, state: State) -> list[StatePlace]:
    """Compares what the function can reach with what it held at the recording before; gives what was another
    for the second time.
    """

    def mark_of(held: TrackedContainer, item: Any) -> Any:
        if (
            not isinstance(item, torch.Tensor)
            or weights.name_of(item)
            or weights.holds(held.item)
            or held.kind is GRADIENT
        ):
            return None
        pieces = pieces_of(item)
        return (id(item), version(item), hash(tuple(map(bytes, pieces.before))) if pieces else 0)

    return auto_dynamic.noted(state.world, mark_of)


def outermost(known: Sequence[StatePlace]) -> tuple[StatePlace, ...]:
    """Without the places inside of what another place holds, which is looked at as a whole; of places that
    hold one another, the first.
    """
    if len(known) < 2:
        return tuple(known)
    held = _held_by(known)
    outer = [place for place in known if not _is_inside(place, held)]
    held = _held_by(outer)
    for place in known:
        if place not in outer and not _is_inside(place, held):
            outer.append(place)
            held = _held_by(outer)
    return tuple(outer)


def _held_by(places: Sequence[StatePlace]) -> Containers:
    return Containers(((), {}, tuple(place.read() for place in places)), is_array)


def _is_inside(place: StatePlace, held: Containers) -> bool:
    return is_given(place.held, held) and not (place.whole and held.is_outer(place.held.item))
