"""One recording of a function, from its arguments to a graph: again where what it shows to be state was not known before."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...errors import TracingError
from ...ir.graph import Graph
from ...tracing import Recorder, Surroundings
from ...tracing.caches import Caches
from ...tracing.places import Place, together
from ...tracing.stateful import Stateful
from ...tracing.updates import Containers
from ...trees import call_of, flatten, iterate_structure, statics
from .arguments import given_objects, input_names, is_array, opens, to_tensor
from .capture import Capture
from .checking import alone
from .compiling import compiling, differs_outside, kept
from .generators import Generators, generators_in, is_generator
from .installing import as_installed, is_hook
from .keys import KeySizes
from .outside import outside_of
from .parameters import Weights
from .refusals import refusing
from .state import State
from .surroundings import surroundings_of
from .training import TrainingReads
from .typed import typed
from .versions import dict_version

_NOTHING_STATEFUL = Stateful()


@dataclass
class Recording:
    """A recorded graph with what is needed to run it beside the original: where the parameters live, and what it relies on."""

    graph: Graph
    weights: Weights
    surroundings: Surroundings
    places: tuple[Place, ...] = ()
    is_other_code: bool = False  # the function does something else when it is not told that it is being compiled


_MOST_ROUNDS = 5  # new places of state are found by recording; they may lead the function to more


def record(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    for_torch: bool = True,
    places: Sequence[Place] = (),
    stateful: Stateful = _NOTHING_STATEFUL,
    numbers: bool = True,
    draws: bool = True,
) -> Recording:
    """Runs ``function(*args, **kwargs)`` and records it; ``for_torch`` is whether the graph will run in torch.

    ``places`` are known to be state; where others turn out to be, it is recorded again. ``stateful`` are objects to look into beside
    those that the function reaches. ``numbers``: whether Python numbers in places become symbols; ``draws``: whether
    those that Python and numpy draw do, instead of constants.
    """
    known, keys, caches, rounds, compiled = list(places), KeySizes(), Caches(), 0, not for_torch

    def attempt() -> tuple[Recording, dict[Place, Any]]:
        context = contextvars.copy_context()  # variables that the function sets are as before afterwards
        return context.run(
            _attempt, function, args, kwargs, name, for_torch, _outermost(known), stateful, numbers, draws, keys, caches, compiled
        )

    while rounds < _MOST_ROUNDS:
        try:
            recording, found = attempt()
        except Exception:
            if keys.next_attempt():
                continue
            if not (numbers and known):
                raise
            numbers = False  # symbols in their place may have been what failed
            continue
        if not found and not recording.is_other_code:
            return recording
        if any(map(is_hook, found)) and (again := as_installed(recording.graph, found, attempt)):
            return again
        compiled = compiled and not recording.is_other_code
        keys.give_up()
        known = [*places, *together(known[len(places) :], found)]
        rounds += 1
    raise TracingError(f"{name} keeps its state in other places each time it is recorded: {', '.join(place.name for place in known[-5:])}")


def _outermost(places: Sequence[Place]) -> list[Place]:
    """Without the places inside of what another place holds, which is looked at as a whole."""
    inside = Containers(((), {}, tuple(place.read() for place in places)), is_array)
    return [place for place in places if not inside.holds(place.held.item) or place.whole and inside.is_outer(place.held.item)]


def _attempt(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    for_torch: bool,
    places: Sequence[Place],
    stateful: Stateful,
    numbers: bool,
    draws: bool,
    keys: KeySizes,
    caches: Caches,
    compiled: bool,
) -> tuple[Recording, dict[Place, Any]]:
    """A recording, and the places that it shows to be state although they are not among ``places``, with what it leaves there."""
    opened = stateful.arguments(args, kwargs)
    leaves, tree = flatten(
        (args, kwargs),
        lambda item: is_array(item) or for_torch and is_generator(item),
        opens,
        lambda item: any(item is one for one in opened),
    )
    tree = typed(tree, iter(leaves))
    arrays = _tensors(leaves)
    tensors = [arrays[id(leaf)] for leaf in leaves]
    weights = Weights(function, given_objects(function, args, tree))
    with alone, weights.exclusive():
        capture = Capture(Recorder(name, "torch"), weights, for_torch, draws, keys)
        for leaf_name, tensor in zip(input_names(function, args, tree), tensors):
            capture.add_input(leaf_name, tensor)
        capture.count_call_inputs, capture.arrays = len(tensors), arrays
        again_args, again_kwargs = call_of(tree, tensors)
        state = State(weights, places, stateful.objects, numbers)
        caches.begin(state.world.caches)
        capture.generators = Generators(
            capture, (*generators_in(state.world.held), *filter(is_generator, iterate_structure((args, kwargs))))
        )
        try:
            values = state.enter(capture)
            containers = Containers(
                (again_args, again_kwargs, values), is_array, state.world.knows, stateful.arguments(again_args, again_kwargs)
            )
            with refusing(name), capture.isolated(), TrainingReads() as asked, compiling(compiled) as claim:
                result = function(*again_args, **again_kwargs)
                seen = capture._quietly(kept, result) if claim.asked else []
            found = state.finish(capture, containers)
            graph = capture.finish(result, tree, containers, state)
            left = {place: place.saved() for place in found}
        finally:
            state.restore()
            capture.forget_arrays()
        other = claim.asked and not found and differs_outside(graph, state, function, *call_of(tree, tensors), seen)
    only_without_grad = capture.grad_mode_changed and not torch.is_grad_enabled()
    facts = surroundings_of(weights, graph, asked.modules(), only_without_grad)
    facts += outside_of((function, *statics(tree)), state.free(containers))
    return Recording(graph, weights, Surroundings(facts, dict_version), state.places, other), left


def _tensors(leaves: list[Any]) -> dict[int, Any]:
    """Arrays of any framework as tensors by identity: one that stands in several places is one tensor; generators as they are."""
    made: dict[int, Any] = {}
    for leaf in leaves:
        if id(leaf) not in made:
            made[id(leaf)] = leaf if is_generator(leaf) else to_tensor(leaf)
    return made
