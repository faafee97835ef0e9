"""Recording of torch functions (:func:`record`), in attempts that test hypotheses about them."""

from __future__ import annotations

import contextvars
import itertools
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from ...forwarding import forward
from ...ir.graph import DebugInfo, Graph
from ...ir.node import CallRecord, Node, Origin, Value
from ...ir.sameness import same_program
from ...passes.lowering.region_checks import TRUTH, canonical, move_checks_out
from ...recording import EnvironmentGuards, Recorder, Recording, Request, active
from ...recording.control_flow import open_regions
from ...recording.control_flow.lists import finish_lists
from ...recording.environment_guards import EnvironmentGuard
from ...recording.faults import is_fault
from ...recording.lock import recording_lock
from ...recording.loop_marks import LoopMarker, counting_arguments, loop_shims
from ...recording.patches import PatchSet, Session, patching
from ...recording.patches.global_reads import GlobalReads
from ...recording.patches.host_math import MATH, Symbols
from ...recording.patches.patch import Replacement
from ...recording.reachability.containers import slotted
from ...recording.reachability.namespaces import Entry, ModuleNamespace, entry_of, spaces_of
from ...recording.reachability.outside import refuse_attributed
from ...recording.search import DisturbanceRetry, Refutation, gives_up, search_recording
from ...recording.state.append_only import ListShims
from ...recording.state.container_updates import Containers
from ...recording.state.contents import Caches
from ...recording.state.places import StatePlace, merge_places, reserved
from ...trees import (
    Path,
    Tree,
    call_of,
    flatten,
    is_plain_nest,
    iterate_structure,
    leaves_at,
    plain_classes,
    static_objects,
    statics,
)
from ..common.read_numbers import DTYPES, Reading, with_numbers
from .basics.arguments import given_objects, input_names, is_array, opens, tensors_pass_from_numpy, to_tensor
from .basics.names import row_key
from .basics.refusals import UnseenDraw, check_outside, has_own_classes, tracer_errors_converted
from .basics.tensors import TENSORS
from .capture.capture import Capture
from .capture.known_calls import FirstRunResults
from .capture.regions import TorchRegions
from .compat import is_any_autocast_enabled, no_torch_dispatch, no_torch_function
from .compiling import CompilingFlag, RunResults, compiling, copy_result, differs_outside
from .generators import ENCODERS, HOST_DRAWS, SEEDS, Generators, encoder_facts, generators_in, is_generator
from .gradient_rules import RULES
from .gradients import CallsByKernel
from .memory.memory import StoredTensorViews
from .numbers import KeySizes, asks_for_types_unseen, conversion_shims, symbols_of, type_leaves, type_shims
from .settings import CLOCKS, SETTING_READS, is_listening, with_compiler_if_wanted
from .state.outside import environment_guards_of, reference_guards
from .state.parameters import TorchWeights, guard_is_parameter
from .state.reads import MODULE_READS, TRAINING, AttributeReads, member_facts, versions_of
from .state.state import (
    ReachableState,
    changed_often,
    drop_nested,
    enter,
    foreign_places,
    note_changes,
    substitute_zeros,
    with_elements,
)

_HOOKS = tuple(name for name in vars(torch.nn.Module()) if "forward" in name and "hooks" in name)


def is_hook(place: StatePlace) -> bool:
    return any(f"{name}[" in place.name for name in _HOOKS)


def record_as_installed(
    first: Attempt, attempt: Callable[[], Attempt]
) -> tuple[Recording | None, Exception | None]:
    """Record again with the state that the first attempt left, such as hooks that it installed.

    Without a recording, restore the state, and return the exception, if any.
    """
    before = {place: place.read() for place in first.left}
    for place, item in first.left.items():
        place.write(item)
    again: Recording | None = None
    failure: Exception | None = None
    try:
        made = attempt()
        if not (made.left or made.is_other_code) and same_program(
            first.recording.graph, made.recording.graph
        ):
            again = made.recording
    # The user's code may raise anything. If it does so again with state, the next attempt reports it.
    except Exception as problem:
        if is_fault(problem):
            raise
        failure = problem
    finally:
        if again is None:
            for place, item in before.items():
                place.write(item)
    return again, failure


# Maps a canonical operation to a function of torch. Others that checks need have the same name in both.
_NAMES = {
    "array": "tensor", "equal": "eq", "getitem": "select", "less_equal": "le", "subtract": "sub",
    "logical_and": "Tensor.__and__", "logical_or": "Tensor.__or__", "logical_not": "Tensor.__invert__",
}  # fmt: skip


def record_check(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    """Return the node of a recorded torch call that computes the canonical operation ``op``."""
    name = _NAMES.get(op, op)
    made = Value("held", TRUTH) if op == "array" else canonical(op, inputs, params, origin).outputs[0]
    given, named = _arguments(op, inputs, params)
    return Node(f"torch.{name}", given, named, origin, (made,), CallRecord(row_key(name), result=made))


def _arguments(
    op: str, inputs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if op == "full":
        return (params["shape"], params["fill_value"]), {"dtype": torch.bool}
    if op == "getitem":
        return (*inputs, 0, *params["key"]), {}
    return inputs, {}


PROBES = PatchSet(*SETTING_READS, *MODULE_READS, *MATH, *CLOCKS, *HOST_DRAWS, *SEEDS, *RULES)
# Patches that are active during the recorded run and when a run is repeated.
OF_ENCODERS = PatchSet(*ENCODERS)


class ReadRecorder:
    """Recorder of what one attempt reads: attributes, globals and settings."""

    def __init__(
        self,
        capture: Capture,
        session: Session,
        spaces: list[ModuleNamespace],
        functions: list[types.FunctionType],
        tensors: list[Any],
    ) -> None:
        self.capture, self.session, self.spaces, self.functions = capture, session, spaces, functions
        self.attributes = AttributeReads(capture, session, tensors)
        self.globals = GlobalReads(functions)

    @contextmanager
    def reads_noted(self) -> Iterator[None]:
        held, session = [space.held for space in self.spaces], self.session
        self.capture.spaces = frozenset(map(id, held))
        session.symbols = symbols = symbols_of(self.capture)
        names = [*([] if self.capture.weights.are_none else self._shims(symbols)), *self.attributes.places()]
        with self.attributes.attributes_restored(), patching(PROBES, session, held, names):
            yield

    def _shims(self, symbols: Symbols) -> list[Replacement]:
        return [
            *loop_shims(self.functions, self._loops),
            *conversion_shims(self.capture, symbols, self.spaces),
            *type_shims(self.spaces),
            *self.globals.replacements(),
        ]

    def _loops(self) -> LoopMarker | None:
        return self.capture.loops if self.session.is_active_here() and is_listening(self.capture) else None

    def guards(self) -> list[EnvironmentGuard]:
        session = self.session
        told = (
            [*member_facts(session), *encoder_facts(session), *session.guards()] if session.was_told() else []
        )
        return [*self.attributes.guards, *self.globals.guards(), *told]


# Precisions of float32 products, by torch's and JAX's names.
_PRECISIONS = {
    "highest": "highest",
    "high": "high",
    "medium": "default",
}


@dataclass
class Attempt:
    """Result of one attempt to record.

    left: the places that turned out to be state, with what the function leaves in them.
    is_other_code: True if the result seems to depend on ``is_compiling()``.
    """

    recording: Recording
    left: dict[StatePlace, Any]
    is_other_code: bool


@dataclass
class Hypotheses:
    """Assumptions under which the function is recorded next.

    compiled: True if the code is recorded as if torch compiled it.
    reading: how numbers that the code reads from tensors are treated.
    numbers: paths of numbers in the arguments that are inputs.
    grown: lists, by container and key, that are assumed to be appended to only.
    keys: sizes that are plain numbers.
    by_kernel: calls that are recorded kernel by kernel.
    kept_views: captured tensors that are recorded as views of others.
    caches: ``functools.lru_cache`` functions that the function can reach.
    weights: the weights found just before, for the first attempt only.
    """

    compiled: bool
    reading: Reading
    numbers: frozenset[Path] = frozenset()
    grown: frozenset[tuple[int, Any]] = frozenset()
    keys: KeySizes = field(default_factory=KeySizes)
    by_kernel: CallsByKernel = field(default_factory=CallsByKernel)
    kept_views: StoredTensorViews = field(default_factory=StoredTensorViews)
    caches: Caches = field(default_factory=Caches)
    weights: TorchWeights | None = None

    def without_numbers(self) -> None:
        self.reading, self.numbers = Reading(False), frozenset()


def flatten_arguments(request: Request) -> tuple[list[Any], Tree]:
    opened = set(map(id, request.stateful.arguments(request.args, request.kwargs)))
    return flatten(
        (request.args, request.kwargs),
        lambda item: is_array(item) or request.same_framework and is_generator(item),
        opens,
        lambda item: id(item) in opened,
    )


def _prepare_inputs(
    request: Request, open_numbers: frozenset[Path]
) -> tuple[Tree, dict[int, Any], list[Any]]:
    """Return the structure of the arguments, converted leaves by id, and the inputs."""
    leaves, tree = flatten_arguments(request)
    tree = plain_classes(tree)
    if not TENSORS.issuperset(map(type, leaves)):
        tree = type_leaves(tree, iter(leaves))
    if open_numbers:
        tree = with_numbers(tree, open_numbers)
        leaves = leaves_at(tree, (request.args, request.kwargs))
    arrays = _convert_arrays(leaves, request.function)
    return tree, arrays, [arrays.get(id(leaf), leaf) for leaf in leaves]


def _state(
    request: Request,
    hypotheses: Hypotheses,
    weights: TorchWeights,
    capture: Capture,
    functions: list[types.FunctionType],
    tree: Tree,
) -> ReachableState:
    objects = () if is_plain_nest(tree) else slotted(statics(tree))
    state = ReachableState(weights, request.places, (*request.stateful.objects, *objects), request.numbers)
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
def _recording_calls(
    request: Request, state: ReachableState, reads: ReadRecorder, compiled: bool
) -> Iterator[CompilingFlag]:
    with (
        tracer_errors_converted(request.name),
        active.looking_after(state.world),
        reads.reads_noted(),
        reads.capture.isolated(),
        tensors_pass_from_numpy(),
        compiling(compiled) as claim,
    ):
        yield claim


def attempt(request: Request, hypotheses: Hypotheses) -> Attempt:
    """Run and record the function under ``hypotheses``, which may change, and restore the state."""
    function = request.function
    tree, arrays, tensors = _prepare_inputs(request, hypotheses.numbers)
    weights, hypotheses.weights = (
        hypotheses.weights or TorchWeights(function, given_objects(function, request.args, tree)),
        None,
    )
    spaces = [ModuleNamespace.of(function)] if weights.are_none else spaces_of(_entries(weights))
    functions = [each for space in spaces for each in space.functions]
    if _refutes_shims(request, hypotheses, weights, spaces):
        hypotheses.grown = frozenset()
        if request.numbers:
            hypotheses.keys.plain = True
            hypotheses.without_numbers()
            return attempt(replace(request, numbers=False), hypotheses)
    session = Session()
    with recording_lock, reserved() as locks, patching(OF_ENCODERS, session):
        capture = _begin(request, hypotheses, weights, session)
        call, capture.arrays = _enter_arguments(request, capture, tree, tensors), arrays
        state = _state(request, hypotheses, weights, capture, functions, tree)
        locks.only(state.may_change)
        capture.generators.refuse_seeds_read(functions)
        try:
            containers = Containers(
                (*call, state.enter(capture)), is_array, state.world.knows, request.stateful.arguments(*call)
            )
            reads = ReadRecorder(capture, session, spaces, functions, tensors)
            result, seen = _run(request, call, state, reads, hypotheses.compiled)
            refuse_attributed(result)
            if not weights.are_none:
                guard_is_parameter(capture, spaces)
            if has_own_classes():
                capture.note_fact("tensor_class", capture.call_input_count)
            found = state.finish(capture, containers)
            graph = move_checks_out(capture.finish(result, tree, containers, state), record_check)
            _describe(graph, tensors)
            left = {place: place.saved() for place in found}
        finally:
            hypotheses.keys.forget()
            state.restore()
            capture.forget_arrays()
        is_other_code = (
            seen is not None
            and not found
            and differs_outside(graph, state, function, *call_of(tree, tensors), seen)
        )
    recording = Recording(
        graph,
        weights,
        _environment(function, tree, graph, state, containers, reads),
        state.places,
        hypotheses.reading.any or bool(hypotheses.numbers),
        tuple(reads.capture.recorder.gave_up),
    )
    return Attempt(recording, left, is_other_code)


def _refutes_shims(
    request: Request, hypotheses: Hypotheses, weights: TorchWeights, spaces: list[ModuleNamespace]
) -> bool:
    has_shims = not weights.are_none and (request.numbers or bool(hypotheses.grown))
    return has_shims and asks_for_types_unseen(spaces, (request.function, *weights.modules))


def _begin(request: Request, hypotheses: Hypotheses, weights: TorchWeights, session: Session) -> Capture:
    capture = Capture(
        Recorder(request.name, "torch"),
        weights,
        request.same_framework,
        request.draws,
        hypotheses.keys,
        hypotheses.reading,
        hypotheses.by_kernel,
        hypotheses.kept_views,
    )
    session.trace, session.outside, session.hold = (
        capture,
        partial(_outside, capture),
        partial(_adopt_graph_parameters, weights),
    )
    return capture


def _enter_arguments(
    request: Request, capture: Capture, tree: Tree, tensors: list[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    names = input_names(request.function, request.args, tree)
    entered = [enter(capture, name, item) for name, item in zip(names, tensors)]
    capture.call_input_count = len(entered)
    return call_of(tree, entered)


def _run(
    request: Request,
    call: tuple[tuple[Any, ...], dict[str, Any]],
    state: ReachableState,
    reads: ReadRecorder,
    compiled: bool,
) -> tuple[Any, RunResults | None]:
    """Run the function with recorded arguments; return its result, and results to compare with, or None."""
    capture, (args, kwargs) = reads.capture, call
    with _recording_calls(request, state, reads, compiled) as claim:
        capture.first_run = FirstRunResults(lambda: claim.asked)
        with open_regions(regions := TorchRegions(capture)):
            result = forward(request.function, *args, **kwargs)
            result = finish_lists(result, args, kwargs) if regions.lists else result
        copies = capture.quietly(copy_result, result) if claim.asked else None
    return result, None if copies is None else RunResults(copies, capture.first_run)


def _describe(graph: Graph, tensors: list[Any]) -> None:
    graph.demand(
        matmul_precision=_PRECISIONS[torch.get_float32_matmul_precision()],
        casts_are_written=is_any_autocast_enabled(),
    )
    graph.debug = DebugInfo(
        {value: item for value, item in zip(graph.inputs, tensors) if type(item) in DTYPES}
    )


def _environment(
    function: Callable[..., Any],
    tree: Tree,
    graph: Graph,
    state: ReachableState,
    containers: Containers,
    reads: ReadRecorder,
) -> EnvironmentGuards:
    capture, weights = reads.capture, state.weights
    guards = environment_guards_of(
        weights,
        graph,
        reads.session.noted(TRAINING),
        capture.history.mode_changed and not torch.is_grad_enabled(),
    )
    guards += [
        *capture.gradients.guards(),
        *reads.guards(),
        *capture.kept_views.guards(graph, weights, state.places),
    ]
    given = () if is_plain_nest(tree) else static_objects(tree)
    guards += reference_guards(
        (function, *given, *reads.globals.functions()),
        state.free(containers.compared_with(tree)),
        weights,
        containers.holds,
    )
    return EnvironmentGuards(guards, versions_of)


@contextmanager
def _outside(capture: Capture) -> Iterator[None]:
    with no_torch_function(), no_torch_dispatch(), capture.generators.undone():
        yield


def _adopt_graph_parameters(
    weights: TorchWeights, called: Any, arrays: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Add the parameters of the graph ``called`` to ``weights``, and return them by name."""
    known = vars(called).get("_module_within")
    if (
        known is None
        or known[0].keys() != arrays.keys()
        or any(known[0][name] is not array for name, array in arrays.items())
    ):
        with no_torch_function(), no_torch_dispatch():
            known = vars(called)["_module_within"] = arrays, called.as_module()
    module = known[1]
    weights.add(called.name, module)
    found: Mapping[str, Any] = module.arrays_by_name()
    return found


def _entries(weights: TorchWeights) -> list[Entry]:
    own = [] if isinstance(weights.function, torch.nn.Module) else [entry_of(weights.function)]
    return [
        *own,
        *((getattr(cls, "forward", None), cls) for cls in {type(module) for module in weights.modules}),
    ]


def _convert_arrays(leaves: list[Any], function: Any) -> dict[int, Any]:
    """Map the ids of leaves other than numbers to tensors or generators."""
    made: dict[int, Any] = {}
    # Ids of the converted leaves.
    foreign: list[int] = []
    for leaf in leaves:
        if id(leaf) not in made and type(leaf) not in DTYPES:
            made[id(leaf)] = leaf if is_generator(leaf) else to_tensor(leaf)
            foreign += [] if made[id(leaf)] is leaf else [id(leaf)]
    if not foreign:
        return made
    weights = function.parameters() if isinstance(function, torch.nn.Module) else ()
    # An array of another framework moves to the accelerator of another leaf or of the weights.
    elsewhere = [
        tensor.device
        for tensor in (*made.values(), *itertools.islice(weights, 1))
        if tensor.device.type not in ("cpu", "meta")
    ]
    for key in foreign if elsewhere else ():
        made[key] = made[key].to(elsewhere[0])
    return made


# Each attempt may find new state, which may lead the next one to more of it.
_MOST_ROUNDS = 5


def record(request: Request) -> Recording:
    """Run the function of ``request`` and record it, several times if an attempt refutes what it assumed."""
    check_outside(request)
    weights = TorchWeights(
        request.function, given_objects(request.function, request.args, flatten_arguments(request)[1])
    )
    if weights.are_none or not weights.without_elements():
        return _recorded(request, weights)
    with substitute_zeros(weights):
        made = _recorded(
            replace(request, args=with_elements(request.args), kwargs=with_elements(request.kwargs))
        )
    made.weights.named_again()
    return made


def _recorded(request: Request, weights: TorchWeights | None = None) -> Recording:
    search = _Search(replace(request, places=(*request.places, *foreign_places(request))))
    search.hypotheses.weights = weights
    give_up = (
        DisturbanceRetry[_Search](UnseenDraw),
        _Search.without_lists,
        _Search.without_guesses,
        _Search.without_numbers,
        _Search.without_often,
    )
    return search_recording(_Search.attempt, search, give_up, _MOST_ROUNDS, search.too_many, request.name)


class _Search:
    """Search for hypotheses under which the function can be recorded.

    known: the places of state for the next attempt.
    often: places that changed often in earlier calls; empty once they are given up.
    """

    def __init__(self, request: Request) -> None:
        self.request, self.often = request, changed_often(request)
        self.known = [*request.places, *self.often]
        self.hypotheses = Hypotheses(not request.same_framework, Reading(request.numbers))
        if request.numbers and request.auto_dynamic is not None:
            given = request.auto_dynamic.numbers_given(flatten_arguments(request)[1])
            self.hypotheses.numbers = given | counting_arguments(
                request.function, request.args, request.kwargs
            )
        if request.auto_dynamic is not None:
            self.hypotheses.grown = request.auto_dynamic.lengths.grown(request.places)

    def attempt(self) -> Recording | Refutation[_Search]:
        """Return a recording, or a ``Refutation`` with corrected hypotheses for the next attempt."""
        made, hypotheses = self._again(), self.hypotheses
        if not made.left and not made.is_other_code:
            return made.recording
        failure: Exception | None = None
        if any(map(is_hook, made.left)):
            installed, failure = record_as_installed(made, self._again)
            if installed is not None:
                return installed
        hypotheses.compiled = hypotheses.compiled and not made.is_other_code
        hypotheses.keys.give_up()
        given = len(self.request.places)
        self.known = [*self.request.places, *merge_places(self.known[given:], list(made.left))]
        return Refutation(
            self, failure, "recording with the hooks that the function installs" if failure else ""
        )

    def _again(self) -> Attempt:
        return with_compiler_if_wanted(self._once)

    def _once(self) -> Attempt:
        # Context variables that the function sets are restored.
        context = contextvars.copy_context()
        places = drop_nested(self.hypotheses.kept_views.without(self.known)) if self.known else ()
        return context.run(attempt, replace(self.request, places=places), self.hypotheses)

    def too_many(self) -> str:
        places = ", ".join(place.name for place in self.known[-5:])
        return f"{self.request.name} keeps its state in other places each time it is recorded: {places}"

    # -------------------------------------------------------------------------- hypotheses to give up
    @gives_up("taking lists to be appended to alone")
    def without_lists(self, problem: Exception) -> _Search | None:
        if not self.hypotheses.grown or self.request.auto_dynamic is None:
            return None
        self.request.auto_dynamic.lengths.give_up(self.hypotheses.grown)
        self.hypotheses.grown = frozenset()
        return self

    @gives_up("keeping sizes in keys, sizes of kernels or views beside their owner symbolic")
    def without_guesses(self, problem: Exception) -> _Search | None:
        guesses = self.hypotheses
        goes_on = (
            guesses.keys.next_attempt(problem)
            or guesses.by_kernel.next_attempt()
            or guesses.kept_views.next_attempt()
        )
        return self if goes_on else None

    @gives_up("making numbers that Python reads inputs or symbols")
    def without_numbers(self, problem: Exception) -> _Search | None:
        if not (
            self.request.numbers and (self.known or self.hypotheses.reading.any or self.hypotheses.numbers)
        ):
            return None
        self.request = replace(self.request, numbers=False)
        self.hypotheses.without_numbers()
        return self

    @gives_up("making numbers that change often inputs")
    def without_often(self, problem: Exception) -> _Search | None:
        if not self.often:
            return None
        self.known, self.often = [place for place in self.known if place not in self.often], []
        return self
