"""One attempt at a recording: the function runs, its calls are seen, and what it has touched is put back."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from ...forwarding import forward
from ...ir.debug_info import DebugInfo
from ...passes.carried_checks import carry_out
from ...tracing import EnvironmentGuards, Recorder, Recording, Request, active
from ...tracing.caches import Caches
from ...tracing.control_flow import open_regions
from ...tracing.control_flow.grown import finished
from ...tracing.probes import Session, probing
from ...tracing.reach.attributes import refuse_attributed
from ...tracing.reach.containers import slotted
from ...tracing.reach.spaces import Entry, Space, entry_of, spaces_of
from ...tracing.recording_lock import recording_lock
from ...tracing.state.append_only import ListShims
from ...tracing.state.locks import reserved
from ...tracing.state.places import Place
from ...tracing.state.updates import Containers
from ...trees import Path, Tree, call_of, flatten, has_arrays_alone, iterate_structure, leaves_at, plain_classes, referred, statics
from ..open_numbers import DTYPES, with_numbers
from ..reading import Reading
from .basics.arguments import given_objects, input_names, is_array, opens, to_tensor
from .basics.numpy_arguments import taken_for_arrays
from .basics.refusals import refusing
from .basics.tensors import TENSORS
from .capture.capture import Capture
from .capture.first_run import FirstRun
from .capture.regions import TorchRegions
from .checks import recorded
from .compat import is_any_autocast_enabled, no_torch_dispatch, no_torch_function
from .compiling import Compiling, Seen, compiling, differs_outside, kept
from .gradients.kernel_by_kernel import KernelByKernel
from .memory.kept_views import KeptViews
from .numbers.keys import KeySizes
from .numbers.type_calls import asks_for_types_unseen
from .numbers.typed import typed
from .probes import OF_ENCODERS, Reads
from .process.generators import Generators, generators_in, is_generator
from .state.environment_guards import environment_guards_of
from .state.known_places import note_changes
from .state.module_reads import TRAINING
from .state.outside import outside_of
from .state.parameter_reads import hold_to_parameters
from .state.parameters import Weights
from .state.state import State, enter
from .state.versions import versions_of

_PRECISIONS = {"highest": "highest", "high": "high", "medium": "default"}  # of float32 products, in torch's words and in JAX's


@dataclass
class Attempt:
    """The result of one attempt: the recording, and new facts for the next attempt.

    ``left`` are places that are state, with what the function leaves there. ``is_other_code``: whether the function does something else
    when it is not told that it is being compiled.
    """

    recording: Recording
    left: dict[Place, Any]
    is_other_code: bool


@dataclass
class Hypotheses:
    """How the function is recorded next, by what earlier attempts have shown.

    ``compiled``: whether it is told that it is being compiled. ``numbers`` are where the call has numbers that are inputs, ``grown`` the
    places of lists that it may only append to.
    """

    compiled: bool
    reading: Reading
    numbers: frozenset[Path] = frozenset()
    grown: frozenset[tuple[int, Any]] = frozenset()
    keys: KeySizes = field(default_factory=KeySizes)
    by_kernel: KernelByKernel = field(default_factory=KernelByKernel)
    kept_views: KeptViews = field(default_factory=KeptViews)
    caches: Caches = field(default_factory=Caches)
    weights: Weights | None = None  # that were found a moment ago, for the first attempt

    def without_numbers(self) -> None:
        """Symbols in the place of numbers may have been what failed."""
        self.reading, self.numbers = Reading(False), frozenset()


def leaves_and_tree(request: Request) -> tuple[list[Any], Tree]:
    """The arrays of the call, and generators where they may be arguments, and where they stand."""
    opened = set(map(id, request.stateful.arguments(request.args, request.kwargs)))
    return flatten(
        (request.args, request.kwargs),
        lambda item: is_array(item) or request.same_framework and is_generator(item),
        opens,
        lambda item: id(item) in opened,
    )


def _given(request: Request, open_numbers: frozenset[Path]) -> tuple[Tree, dict[int, Any], list[Any]]:
    """Where the inputs of a call stand; its arrays as tensors by identity; all inputs, numbers as they are."""
    leaves, tree = leaves_and_tree(request)
    tree = plain_classes(tree)
    if not TENSORS.issuperset(map(type, leaves)):
        tree = typed(tree, iter(leaves))
    if open_numbers:
        tree = with_numbers(tree, open_numbers)
        leaves = leaves_at(tree, (request.args, request.kwargs))
    arrays = _tensors(leaves, request.function)
    return tree, arrays, [arrays.get(id(leaf), leaf) for leaf in leaves]


def _state(
    request: Request, hypotheses: Hypotheses, weights: Weights, capture: Capture, functions: list[types.FunctionType], tree: Tree
) -> State:
    """What the function can reach, as it is before the attempt."""
    objects = () if has_arrays_alone(tree) else slotted(statics(tree))
    state = State(weights, request.places, (*request.stateful.objects, *objects), request.numbers)
    if request.auto_dynamic is not None and request.auto_dynamic.is_new and state.world.held:
        note_changes(request.auto_dynamic, weights, state)
    if hypotheses.grown:
        state.list_shims = ListShims(state.world, (request.args, request.kwargs), functions, hypotheses.grown)
    hypotheses.caches.begin(state.world.caches)
    capture.written.caches = state.world.caches
    if state.gradients:
        capture.gradients.follow(state.gradients, state.places)
    arguments = iterate_structure((request.args, request.kwargs))
    held = generators_in(state.world) if state.world.held else ()
    capture.generators = Generators(capture, (*held, *filter(is_generator, arguments)))
    return state


@contextmanager
def _listening(request: Request, state: State, reads: Reads, compiled: bool) -> Iterator[Compiling]:
    """Inside of the block every call of torch is seen, and what the code reads beside them."""
    with (
        refusing(request.name),
        active.looking_after(state.world),
        reads.seen(),
        reads.capture.isolated(),
        taken_for_arrays(),
        compiling(compiled) as claim,
    ):
        yield claim


def attempt(request: Request, hypotheses: Hypotheses) -> Attempt:
    """Runs and records the function once, with the places of the request as state and by what earlier attempts have shown."""
    function, args = request.function, request.args
    tree, arrays, tensors = _given(request, hypotheses.numbers)
    weights, hypotheses.weights = hypotheses.weights or Weights(function, given_objects(function, args, tree)), None
    spaces = [Space.of(function)] if weights.are_none else spaces_of(_entries(weights))
    functions = [each for space in spaces for each in space.functions]
    keys, reading = hypotheses.keys, hypotheses.reading
    asks_types = not weights.are_none and (request.numbers or bool(hypotheses.grown))
    asks_unseen = asks_types and asks_for_types_unseen(spaces, (function, *weights.modules()))
    if asks_unseen:
        hypotheses.grown = frozenset()
    if request.numbers and asks_unseen:
        keys.plain = True
        hypotheses.without_numbers()
        return attempt(replace(request, numbers=False), hypotheses)
    session = Session()
    with recording_lock, reserved() as locks, probing(OF_ENCODERS, session):
        recorder = Recorder(request.name, "torch")
        views, by_kernel = hypotheses.kept_views, hypotheses.by_kernel
        capture = Capture(recorder, weights, request.same_framework, request.draws, keys, reading, by_kernel, views)
        session.trace, session.outside, session.hold = capture, partial(_outside, capture), partial(_hold, weights)
        entered = [enter(capture, leaf_name, item) for leaf_name, item in zip(input_names(function, args, tree), tensors)]
        capture.count_call_inputs, capture.arrays = len(entered), arrays
        call = call_of(tree, entered)
        state = _state(request, hypotheses, weights, capture, functions, tree)
        locks.only(state.may_change)
        capture.generators.refuse_seeds_read(functions)
        try:
            containers = Containers((*call, state.enter(capture)), is_array, state.world.knows, request.stateful.arguments(*call))
            reads = Reads(capture, session, spaces, functions, tensors)
            with _listening(request, state, reads, hypotheses.compiled) as claim:
                capture.first_run = FirstRun(lambda: claim.asked)
                with open_regions(regions := TorchRegions(capture)):
                    result = forward(function, *call[0], **call[1])
                    result = finished(result, *call) if regions.lists else result
                seen = Seen(capture.quietly(kept, result) if claim.asked else [], capture.first_run)
            refuse_attributed(result)
            if not weights.are_none:
                hold_to_parameters(capture, spaces)
            found = state.finish(capture, containers)
            graph = carry_out(capture.finish(result, tree, containers, state), recorded)
            graph.demand(matmul_precision=_PRECISIONS[torch.get_float32_matmul_precision()], casts_are_written=is_any_autocast_enabled())
            graph.debug = DebugInfo({value: item for value, item in zip(graph.inputs, tensors) if type(item) in DTYPES})
            left = {place: place.saved() for place in found}
        finally:
            keys.forget()
            state.restore()
            capture.forget_arrays()
        is_other_code = claim.asked and not found and differs_outside(graph, state, function, *call_of(tree, tensors), seen)
    facts = environment_guards_of(weights, graph, session.noted(TRAINING), capture.history.mode_changed and not torch.is_grad_enabled())
    facts += [
        *capture.gradients.facts(),
        *reads.facts(),
        *hypotheses.kept_views.facts(graph, weights, state.places),
    ]
    given = () if has_arrays_alone(tree) else referred(tree)
    facts += outside_of((function, *given, *reads.globals.functions()), state.free(containers), weights, containers.holds)
    has_numbers = reading.any or bool(hypotheses.numbers)
    return Attempt(Recording(graph, weights, EnvironmentGuards(facts, versions_of), state.places, has_numbers), left, is_other_code)


@contextmanager
def _outside(capture: Capture) -> Iterator[None]:
    """Nothing is recorded inside the block, and the generators are afterwards as before."""
    with no_torch_function(), no_torch_dispatch(), capture.generators.undone():
        yield


def _hold(weights: Weights, called: Any, arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make the parameters of a graph that the function calls parameters of the recording: those of a module of it, which is kept."""
    known = vars(called).get("_module_within")
    if known is None or known[0].keys() != arrays.keys() or any(known[0][name] is not array for name, array in arrays.items()):
        with no_torch_function(), no_torch_dispatch():
            known = vars(called)["_module_within"] = arrays, called.as_module()
    module = known[1]
    weights.add(called.name, module)
    found: Mapping[str, Any] = module.arrays_by_name()
    return found


def _entries(weights: Weights) -> list[Entry]:
    """What a call of the function runs: its own code, and ``forward`` of its modules."""
    own = [] if isinstance(weights.function, torch.nn.Module) else [entry_of(weights.function)]
    return [*own, *((getattr(cls, "forward", None), cls) for cls in {type(module) for module in weights.modules()})]


def _tensors(leaves: list[Any], function: Any) -> dict[int, Any]:
    """Arrays of any framework as tensors by identity: one that stands in several places is one tensor; generators as they are, and no
    numbers. Those of other frameworks are brought to the GPU that another one, or the module, is on."""
    made: dict[int, Any] = {}
    foreign: list[int] = []
    for leaf in leaves:
        if id(leaf) not in made and type(leaf) not in DTYPES:
            made[id(leaf)] = leaf if is_generator(leaf) else to_tensor(leaf)
            foreign += [] if made[id(leaf)] is leaf else [id(leaf)]
    if not foreign:
        return made
    weights = function.parameters() if isinstance(function, torch.nn.Module) else ()
    elsewhere = [tensor.device for tensor in (*made.values(), *itertools.islice(weights, 1)) if tensor.device.type not in ("cpu", "meta")]
    for key in foreign if elsewhere else ():
        made[key] = made[key].to(elsewhere[0])
    return made
