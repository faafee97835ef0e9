"""Places that are state before the recording starts, because of earlier recordings or changes by the user."""

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
from .parameters import TorchWeights
from .places import GRADIENT
from .state import ReachableState, is_given


def foreign_places(request: Request) -> list[StatePlace]:
    """Return the places in stateful objects that hold arrays of another framework than torch.

    Earlier calls of graphs for another framework have put them there. Places that `request` has already
    are left out.
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
    """Return the places whose number or tensor has changed between recordings at least twice.

    They become inputs. Note the present contents for the next recording. Return an empty list at the first
    recording, or if `request` does not look for such places.
    """
    if request.auto_dynamic is None or request.auto_dynamic.is_new:
        return []
    weights = TorchWeights(request.function)
    found = note_changes(
        request.auto_dynamic, weights, ReachableState(weights, stateful=request.stateful.objects)
    )
    known = {place.identity for place in request.places}
    return list({place.identity: place for place in found if place.identity not in known}.values())


def note_changes(auto_dynamic: AutoDynamic, weights: TorchWeights, state: ReachableState) -> list[StatePlace]:
    """Compare what the function can reach with its contents at the last recording, and note these anew.

    Return the places that have changed at least twice. Weights and gradients are left out.
    """

    def mark_of(held: TrackedContainer, item: Any) -> Any:
        if (
            not isinstance(item, torch.Tensor)
            or weights.name_of(item)
            or weights.holds(held.item)
            or held.kind is GRADIENT
        ):
            return None
        # NumPy may write to the memory without incrementing the version, so the contents are compared, too.
        pieces = pieces_of(item)
        return (id(item), version(item), hash(tuple(map(bytes, pieces.before))) if pieces else 0)

    return auto_dynamic.noted(state.world, mark_of)


def drop_nested(known: Sequence[StatePlace]) -> tuple[StatePlace, ...]:
    """Drop the places that are inside of what another place holds, because that is read as a whole.

    Of places that contain one another, keep the first.
    """
    if len(known) < 2:
        return tuple(known)
    held = _held_by(known)
    outer = [place for place in known if not _is_inside(place, held)]
    held = _held_by(outer)
    for place in known:
        # Places that contain one another were all dropped above, and the first of them is added again.
        if place not in outer and not _is_inside(place, held):
            outer.append(place)
            held = _held_by(outer)
    return tuple(outer)


def _held_by(places: Sequence[StatePlace]) -> Containers:
    return Containers(((), {}, tuple(place.read() for place in places)), is_array)


def _is_inside(place: StatePlace, held: Containers) -> bool:
    return is_given(place.held, held) and not (place.whole and held.is_outer(place.held.item))
