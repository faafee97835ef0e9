"""One recording of a function, from its arguments to a graph: again where what it shows to be state was not known before."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ...errors import TracingError
from ...tracing import Recorder, Recording, Request, Surroundings, active
from ...tracing.alone import alone
from ...tracing.attributes import refuse_attributed
from ...tracing.caches import Caches
from ...tracing.changing import Changing
from ...tracing.places import Place, together
from ...tracing.updates import Containers
from ...tracing.world import Held, World, is_whole
from ...trees import Path, Tree, call_of, flatten, iterate_structure, leaves_at, referred
from .basics.arguments import given_objects, input_names, is_array, opens, to_tensor
from .basics.numpy_arguments import taken_for_arrays
from .basics.refusals import UnseenDraw, check_outside, refusing
from .basics.tensors import version
from .capture.capture import Capture
from .capture.large_calls import LargeCalls, TakingOver
from .compiling import Seen, compiling, differs_outside, kept
from .gradients.kernel_by_kernel import KernelByKernel
from .installing import as_installed, is_hook
from .memory.watching import pieces_of
from .numbers.asked_types import asks_for_types_unseen
from .numbers.conversions import conversions_seen
from .numbers.host_math import math_seen
from .numbers.keys import KeySizes
from .numbers.numbers import Reading
from .numbers.spaces import spaces_of
from .numbers.typed import DTYPES, typed, with_numbers
from .process.encoders import NestedEncoders
from .process.generators import Generators, generators_in, is_generator
from .process.setting_reads import SettingReads
from .state.attribute_reads import AttributeReads
from .state.gradient_places import GRADIENT
from .state.member_reads import MemberReads
from .state.outside import outside_of
from .state.parameters import Weights
from .state.state import State, enter, is_given
from .state.surroundings import surroundings_of
from .state.training import TrainingReads
from .state.versions import versions_of

_PRECISIONS = {"highest": "highest", "high": "high", "medium": "default"}  # of float32 products, in torch's words and in JAX's
_MOST_DISTURBED = 4  # other threads draw random numbers, too
_MOST_ROUNDS = 5  # new places of state are found by recording; they may lead the function to more


@dataclass
class Attempt:
    """A recording, and what it has shown that was not known before.

    ``left`` are places that are state, with what the function leaves there. ``is_other_code``: whether the function does something else when
    it is not told that it is being compiled.
    """

    recording: Recording
    left: dict[Place, Any]
    is_other_code: bool


@dataclass
class Learned:
    """How the function is recorded next, by what earlier attempts have shown.

    ``compiled``: whether it is told that it is being compiled. ``numbers`` are where the call has numbers that are inputs.
    """

    compiled: bool
    reading: Reading
    numbers: frozenset[Path] = frozenset()
    keys: KeySizes = field(default_factory=KeySizes)
    by_kernel: KernelByKernel = field(default_factory=KernelByKernel)
    caches: Caches = field(default_factory=Caches)

    def without_numbers(self) -> None:
        """Symbols in the place of numbers may have been what failed."""
        self.reading, self.numbers = Reading(False), frozenset()


def record(request: Request) -> Recording:
    """Runs the function and records it: again where places turn out to be state that were not known to be."""
    check_outside(request.name)
    request = replace(request, places=(*request.places, *_converted(request)))
    known, rounds, learned = list(request.places), 0, Learned(not request.same_framework, Reading(request.numbers))
    if request.numbers and request.changing is not None:
        learned.numbers = request.changing.numbers_given(_leaves_and_tree(request)[1])

    def attempt() -> Attempt:
        context = contextvars.copy_context()  # variables that the function sets are as before afterwards
        return context.run(_attempt, replace(request, places=_outermost(known)), learned)

    often, disturbed = _changed_often(request), 0
    known += often
    while rounds < _MOST_ROUNDS:
        try:
            made = attempt()
        except UnseenDraw:
            disturbed += 1
            if disturbed < _MOST_DISTURBED and threading.active_count() > 1:
                continue
            raise
        except Exception as problem:
            if learned.keys.next_attempt(problem) or learned.by_kernel.next_attempt():
                continue
            if request.numbers and (known or learned.reading.any or learned.numbers):
                request = replace(request, numbers=False)
                learned.without_numbers()
            elif often:
                known, often = [place for place in known if place not in often], []  # as constants they may do
            else:
                raise
            continue
        if not made.left and not made.is_other_code:
            return made.recording
        if any(map(is_hook, made.left)) and (again := as_installed(made, attempt)):
            return again
        learned.compiled = learned.compiled and not made.is_other_code
        learned.keys.give_up()
        known = [*request.places, *together(known[len(request.places) :], list(made.left))]
        rounds += 1
    places = ", ".join(place.name for place in known[-5:])
    raise TracingError(f"{request.name} keeps its state in other places each time it is recorded: {places}")


def _converted(request: Request) -> list[Place]:
    """Where objects that are named as stateful hold arrays of another framework, which earlier calls of graphs have put there."""
    known = {place.identity for place in request.places}
    world = World([(type(item).__name__, item) for item in request.stateful.objects], own=request.stateful.objects)
    parts = ((held, key, item) for held in world.held for key, item in held.before.items())
    places = [
        Place(held, None if is_whole(held.item) else key, is_whole(held.item))
        for held, key, item in parts
        if is_array(item) and not (request.same_framework or isinstance(item, torch.Tensor))
    ]
    return list({place.identity: place for place in places if place.identity not in known}.values())


def _changed_often(request: Request) -> list[Place]:
    """Where the user has put other numbers and tensors before this and earlier recordings: inputs from here on."""
    if request.changing is None or request.changing.is_new:
        return []
    weights = Weights(request.function)
    found = _noted(request.changing, weights, State(weights, stateful=request.stateful.objects))
    known = {place.identity for place in request.places}
    return list({place.identity: place for place in found if place.identity not in known}.values())


def _noted(changing: Changing, weights: Weights, state: State) -> list[Place]:
    def mark_of(held: Held, item: Any) -> Any:
        if not isinstance(item, torch.Tensor) or weights.holds(held.item) or held.kind is GRADIENT:
            return None
        pieces = pieces_of(item)
        return (id(item), version(item), hash(tuple(map(bytes, pieces.before))) if pieces else 0)

    return changing.noted(state.world, mark_of)


def _outermost(known: Sequence[Place]) -> tuple[Place, ...]:
    """Without the places inside of what another place holds, which is looked at as a whole; of places that hold one another, the first."""
    held = _held_by(known)
    outer = [place for place in known if not _is_inside(place, held)]
    held = _held_by(outer)
    for place in known:
        if place not in outer and not _is_inside(place, held):
            outer.append(place)
            held = _held_by(outer)
    return tuple(outer)


def _held_by(places: Sequence[Place]) -> Containers:
    return Containers(((), {}, tuple(place.read() for place in places)), is_array)


def _is_inside(place: Place, held: Containers) -> bool:
    return is_given(place.held, held) and not (place.whole and held.is_outer(place.held.item))


def _leaves_and_tree(request: Request) -> tuple[list[Any], Tree]:
    """The arrays of the call, and generators where they may be arguments, and where they stand."""
    opened = request.stateful.arguments(request.args, request.kwargs)
    return flatten(
        (request.args, request.kwargs),
        lambda item: is_array(item) or request.same_framework and is_generator(item),
        opens,
        lambda item: any(item is one for one in opened),
    )


def _given(request: Request, open_numbers: frozenset[Path]) -> tuple[Tree, dict[int, Any], list[Any]]:
    """Where the inputs of a call stand; its arrays as tensors by identity; all inputs, numbers as they are."""
    leaves, tree = _leaves_and_tree(request)
    tree = with_numbers(typed(tree, iter(leaves)), open_numbers)
    leaves = leaves_at(tree, (request.args, request.kwargs))
    arrays = _tensors(leaves)
    return tree, arrays, [arrays.get(id(leaf), leaf) for leaf in leaves]


def _attempt(request: Request, learned: Learned) -> Attempt:
    function, args, kwargs, stateful = request.function, request.args, request.kwargs, request.stateful
    keys, reading = learned.keys, learned.reading
    tree, arrays, tensors = _given(request, learned.numbers)
    weights = Weights(function, given_objects(function, args, tree))
    spaces = spaces_of(weights)
    if request.numbers and asks_for_types_unseen(spaces, (function, *weights.modules())):
        keys.plain = True
        learned.without_numbers()
        return _attempt(replace(request, numbers=False), learned)
    with alone, weights.exclusive(), NestedEncoders(Capture, TakingOver) as encoders:
        capture = Capture(Recorder(request.name, "torch"), weights, request.same_framework, request.draws, keys, reading, learned.by_kernel)
        entered = [enter(capture, leaf_name, item) for leaf_name, item in zip(input_names(function, args, tree), tensors)]
        capture.count_call_inputs, capture.arrays = len(entered), arrays
        again_args, again_kwargs = call_of(tree, entered)
        state = State(weights, request.places, stateful.objects, request.numbers)
        if request.changing is not None and request.changing.is_new:
            _noted(request.changing, weights, state)
        learned.caches.begin(state.world.caches)
        capture.gradients.follow(state.gradients, state.places)
        reachable = (*generators_in(state.world.held), *filter(is_generator, iterate_structure((args, kwargs))))
        capture.generators = Generators(capture, reachable)
        try:
            values = state.enter(capture)
            containers = Containers(
                (again_args, again_kwargs, values), is_array, state.world.knows, stateful.arguments(again_args, again_kwargs)
            )
            with (
                refusing(request.name),
                active.looking_after(state.world),
                capture.isolated(),
                taken_for_arrays(),
                TrainingReads() as asked,
                MemberReads() as members,
                SettingReads(spaces) as settings,
                AttributeReads(capture, tensors) as attributes,
                math_seen(capture, spaces if reading.symbolic else []),
                conversions_seen(capture, spaces),
                compiling(learned.compiled) as claim,
            ):
                capture.large = LargeCalls(lambda: claim.asked)
                result = function(*again_args, **again_kwargs)
                seen = Seen(capture._quietly(kept, result) if claim.asked else [], capture.large)
            refuse_attributed(result)
            found = state.finish(capture, containers)
            graph = capture.finish(result, tree, containers, state)
            graph.notes["matmul_precision"] = _PRECISIONS[torch.get_float32_matmul_precision()]
            graph.notes["call_numbers"] = {value: item for value, item in zip(graph.inputs, tensors) if type(item) in DTYPES}
            left = {place: place.saved() for place in found}
        finally:
            keys.forget()
            state.restore()
            capture.forget_arrays()
        other = claim.asked and not found and differs_outside(graph, state, function, *call_of(tree, tensors), seen)
    facts = surroundings_of(weights, graph, asked.modules(), capture.history.mode_changed and not torch.is_grad_enabled())
    facts += [*capture.gradients.facts(), *members.facts(), *attributes.facts, *encoders.facts(), *settings.facts()]
    facts += outside_of((function, *referred(tree)), state.free(containers), weights)
    has_numbers = reading.any or bool(learned.numbers)
    return Attempt(Recording(graph, weights, Surroundings(facts, versions_of), state.places, has_numbers), left, other)


def _tensors(leaves: list[Any]) -> dict[int, Any]:
    """Arrays of any framework as tensors by identity: one that stands in several places is one tensor; generators as they are, and no numbers."""
    made: dict[int, Any] = {}
    for leaf in leaves:
        if id(leaf) not in made and type(leaf) not in DTYPES:
            made[id(leaf)] = leaf if is_generator(leaf) else to_tensor(leaf)
    return made
