"""Recording of a NumPy function: from its arguments to a graph."""

from __future__ import annotations

import random
import re
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...assumptions import NO_ARRAY, DisjointMemory, SameArray, assume_fact, fact_of, overlap
from ...errors import TracingError
from ...forwarding import forward
from ...ir.graph import Aliases, DebugInfo, Effect, Graph, GraphState
from ...passes.lowering.region_checks import move_checks_out
from ...recording import (
    EnvironmentGuards,
    Reached,
    Recorder,
    Recording,
    Request,
    facts_outside,
    refuse_escapes,
)
from ...recording.code.ownership import following_libraries, owner_of
from ...recording.control_flow import open_regions
from ...recording.control_flow.lists import finish_lists
from ...recording.environment_guards import EnvironmentGuard
from ...recording.lock import recording_lock
from ...recording.loop_marks import counting_arguments
from ...recording.patches import PatchSet, Session, patching
from ...recording.patches.global_reads import GlobalReads, guards_on_all_globals
from ...recording.patches.host_math import MATH
from ...recording.patches.host_random import DRAWS, restore_host_state
from ...recording.patches.settings import SETTINGS, refused
from ...recording.reachability.containers import free_parts, slotted
from ...recording.reachability.libraries import LibraryCode, library_code
from ...recording.reachability.walk import WalkPolicy
from ...recording.request import place_of_problem
from ...recording.search import DisturbanceRetry, Refutation, gives_up, search_recording
from ...recording.state.append_only import ListShims
from ...recording.state.container_updates import Containers
from ...recording.state.contents import buffer_bytes, refuse_outside
from ...recording.state.places import StatePlace, merge_places, reserved
from ...registration import frontends
from ...sizes import expression_of, is_symbolic
from ...trees import Path, Tree, call_of, flatten, static_objects, statics
from ..common.lifter import input_names
from ..common.read_numbers import DTYPES, Reading
from . import reference as checks
from .calls import Inputs, flatten_arguments
from .capture import NumpyCapture
from .draws import GENERATORS, UnrecordedSampling, bit_generator_of, state_of
from .parameters import ChangedState, NumpyWeights, StoredArrayViews
from .patches import POLYNOMIALS, SYMBOLS, replaced, replaced_function, replacement_of
from .reading import UnrecordedIterations
from .regions import BlockCapture, NumpyRegions
from .traced import TracedArray, TracedScalar, is_traced

_OF_TRACED = re.compile(rf"\b({TracedArray.__name__}|{TracedScalar.__name__})\b")


def record(request: Request) -> Recording:
    with following_libraries(True):
        often, numbers = _numbers_to_open(request)
    grown = (
        request.auto_dynamic.lengths.grown(request.places)
        if request.auto_dynamic is not None
        else frozenset()
    )
    steps = None if request.loaded is None else UnrecordedIterations(request.loaded)
    start = NumpyHypotheses(
        list(request.places), often, numbers, grown, Reading(request.numbers), StoredArrayViews(), steps
    )
    give_up = (
        _give_up_unrecorded,
        DisturbanceRetry[NumpyHypotheses](UnrecordedSampling),
        partial(_give_up_lists, request),
        _give_up_views,
        _give_up_numbers,
    )
    found: list[StatePlace] = []

    def attempt(hypotheses: NumpyHypotheses) -> Recording | Refutation[NumpyHypotheses]:
        recording, found[:] = _attempt(request, hypotheses)
        return (
            Refutation(replace(hypotheses, known=merge_places(hypotheses.known, found)))
            if found
            else recording
        )

    def too_many() -> str:
        places = ", ".join(place.name for place in found[-5:])
        return f"{request.name} keeps its state in other places each time it is recorded: {places}"

    return search_recording(attempt, start, give_up, _MOST_ROUNDS, too_many, request.name)


_MOST_ROUNDS = 7


@dataclass(frozen=True)
class NumpyHypotheses:
    """Assumptions of one attempt at a recording.

    known: locations that earlier attempts or recordings found to be state.
    often: locations of numbers that have changed between calls.
    numbers: paths of the number arguments that become inputs instead of constants.
    grown: identities of the locations of lists to which the function is assumed only to append.
    reading: treatment of numbers that Python reads from arrays, as symbols or constants.
    views: stored arrays that are views of other stored arrays.
    steps: runner of the loop iterations that are not recorded; None to record all iterations.
    """

    known: list[StatePlace]
    often: list[StatePlace]
    numbers: frozenset[Path]
    grown: frozenset[tuple[int, Any]]
    reading: Reading
    views: StoredArrayViews
    steps: UnrecordedIterations | None


@gives_up("leaving out iterations of a loop")
def _give_up_unrecorded(hypotheses: NumpyHypotheses, problem: Exception) -> NumpyHypotheses | None:
    return replace(hypotheses, steps=None) if hypotheses.steps is not None and hypotheses.steps.any else None


@gives_up("taking lists to be appended to alone")
def _give_up_lists(
    request: Request, hypotheses: NumpyHypotheses, problem: Exception
) -> NumpyHypotheses | None:
    if not hypotheses.grown or request.auto_dynamic is None:
        return None
    request.auto_dynamic.lengths.give_up(hypotheses.grown)
    return replace(hypotheses, grown=frozenset())


@gives_up("keeping views beside their owner")
def _give_up_views(hypotheses: NumpyHypotheses, problem: Exception) -> NumpyHypotheses | None:
    return hypotheses if hypotheses.views.next_attempt() else None


@gives_up("making numbers that Python reads inputs or symbols")
def _give_up_numbers(hypotheses: NumpyHypotheses, problem: Exception) -> NumpyHypotheses | None:
    if not (hypotheses.often or hypotheses.numbers or hypotheses.reading.any):
        return None
    return replace(hypotheses, often=[], numbers=frozenset(), reading=Reading(False))


def _numbers_to_open(request: Request) -> tuple[list[StatePlace], frozenset[Path]]:
    """Return the numbers that become inputs: locations outside the arguments, and paths of arguments."""
    counting = (
        counting_arguments(request.function, request.args, request.kwargs) if request.numbers else frozenset()
    )
    if request.auto_dynamic is None or not request.numbers:
        return [], counting
    places = request.auto_dynamic.changed_places(
        NumpyWeights(request.function, (), request.stateful.objects).world, lambda held, item: None
    )
    known = {place.identity for place in request.places}
    numbers = request.auto_dynamic.numbers_given(flatten_arguments(request.args, request.kwargs, ())[1])
    return [place for place in places if place.identity not in known], numbers | counting


def _attempt(request: Request, hypotheses: NumpyHypotheses) -> tuple[Recording, list[StatePlace]]:
    """Run and record the function once. Return the recording, and locations of state that it lacks.

    If there are such locations, the recording is not valid.
    """
    numbers, grown = hypotheses.numbers, hypotheses.grown
    reading, views = hypotheses.reading, hypotheses.views
    places = merge_places(hypotheses.known, hypotheses.often)
    function, args, kwargs, stateful = request.function, request.args, request.kwargs, request.stateful
    leaves, tree = flatten_arguments(args, kwargs, numbers)
    with recording_lock, reserved() as locks:
        code = _reached(function, tree)
        library = library_code((function, *code.found()), frontends.own["numpy"].parts)
        capture = BlockCapture(Recorder(request.name, "numpy"), reading)
        weights = _weights(request, code, tree, views)
        locks.only(weights.may_change)
        if hypotheses.steps is not None:
            capture.loops.run_rest = partial(hypotheses.steps.run, capture.recorder)
        # Places of objects that earlier calls got as arguments are not reachable from this call.
        known = weights.world.owners()
        before, inputs = _before(code), Inputs(capture)
        kept = ChangedState([place for place in places if id(place.held.owner) in known])
        asked = _EnvironmentReads(code, library, capture)
        call = call_of(
            tree, [inputs.enter(name, leaf) for name, leaf in zip(input_names(function, args, tree), leaves)]
        )
        count = len(inputs.made)
        try:
            weights.enter(
                capture, kept, inputs, ListShims(weights.world, (args, kwargs), code.functions, grown)
            )
            containers = Containers(
                (*call, kept.values), is_traced, weights.world.knows, stateful.arguments(*call)
            )
            with asked.seen, following_libraries(True):
                shims = replaced(capture, (*code.functions, *library.functions), library.spaces)
                result = _run(function, *call, capture, weights, leaves, shims)
            finished, found = _finish(capture, result, tree, containers, weights)
            graph = move_checks_out(finished, checks.recorded)
            _note_sharing(capture, graph, inputs.made, count, views)
            graph.debug = DebugInfo(
                {value: item for value, item in zip(graph.inputs, leaves) if type(item) in DTYPES}
            )
        finally:
            weights.restore()
            capture.forget_arrays()
        # These guards were made before the run, so one that fails now shows a change that is not part of the
        # state.
        if what := before.changed():
            raise TracingError(
                f"{request.name} changes what it does not get as an argument: {what} changed. Return it "
                "instead"
            )
    # Functions that were looked up by computed names are known only after the run.
    code.extend(asked.globals.functions())
    environment = _environment(code, asked, graph, weights, containers.compared_with(tree))
    opened, gave_up = bool(numbers) or reading.any, tuple(capture.recorder.gave_up)
    return Recording(graph, weights, environment, kept.places, opened, gave_up), found


def _reached(function: Callable[..., Any], tree: Tree) -> Reached:
    code = Reached((function, *static_objects(tree)), WalkPolicy(lambda item: isinstance(item, np.ndarray)))
    refuse_outside(code.found())
    return code


def _weights(request: Request, code: Reached, tree: Tree, views: StoredArrayViews) -> NumpyWeights:
    owners = (*request.stateful.objects, *slotted(statics(tree)))
    # What libraries change is state of the function, while ``code`` assumes their settings constant.
    with following_libraries(True):
        return NumpyWeights(request.function, code.functions, owners, views)


def _before(code: Reached) -> EnvironmentGuards:
    return EnvironmentGuards(
        [*guards_on_all_globals(code.functions), *facts_outside(code, contents=buffer_bytes)]
    )


# Besides changes of settings, random numbers of Python are refused, because no key of a graph yields them.
_PATCHES = PatchSet(*SETTINGS, *refused({random: DRAWS[random]}), *MATH, *POLYNOMIALS)


class _EnvironmentReads:
    """Recorders of what the function reads from outside while it runs.

    globals: records the globals that are looked up by computed names.
    settings: records the settings of the process that are read.
    """

    def __init__(self, code: Reached, library: LibraryCode, capture: NumpyCapture) -> None:
        self.globals, self.settings = (
            GlobalReads(code.functions),
            Session(symbols=SYMBOLS, outside=capture.states.apart),
        )
        spaces = (*(function.__globals__ for function in code.functions), *library.spaces)
        self.seen = patching(_PATCHES, self.settings, spaces, self.globals.replacements())


def _run(
    function: Any,
    args: Any,
    kwargs: Any,
    capture: BlockCapture,
    weights: NumpyWeights,
    given: list[Any],
    shims: AbstractContextManager[None],
) -> Any:
    generators = [
        item for held in weights.world.held for item in held.before.values() if isinstance(item, GENERATORS)
    ]
    generators += [item for item in given if isinstance(item, GENERATORS)]
    # A recording must not advance the user's generators, so their states are restored at the end.
    states = [state_of(item) for item in generators]
    capture.states.follow(generators)
    before = capture.states.host
    try:
        regions = NumpyRegions(capture)
        # These restore at their end what the function sets by ``np.seterr`` and ``np.set_printoptions``.
        with np.errstate(), np.printoptions(), shims, capture.isolated(), open_regions(regions):
            # The code compares an argument with a name that has a replacement: ``stat is np.mean``.
            args = tuple(map(replaced_function, args))
            kwargs = {name: replaced_function(item) for name, item in kwargs.items()}
            result = _called(replacement_of(function) or function, args, kwargs)
            result = finish_lists(result, args, kwargs) if regions.lists else result
        capture.states.check(capture)
    finally:
        restore_host_state(before)
        for item, state in zip(generators, states):
            bit_generator_of(item).state = state
    return result


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return forward(function, *args, **kwargs)
    except TypeError as problem:
        # Compiled code that a library calls names the class of a traced array.
        *_, (frame, _) = traceback.walk_tb(problem.__traceback__)
        if owner_of(frame) not in ("library", "framework") or not _OF_TRACED.search(str(problem)):
            raise
        raise TracingError(
            f"{place_of_problem(problem)}: a traced array is handed to compiled code that takes only arrays "
            f"of NumPy ({problem}). Use functions of numpy instead"
        ) from problem


# ------------------------------------------------------------------------------------- the graph
def _finish(
    capture: NumpyCapture, result: Any, tree: Tree, containers: Containers, weights: NumpyWeights
) -> tuple[Graph, list[StatePlace]]:
    graph = capture.recorder.graph
    updates, state = containers.updates(), weights.kept.recorded(containers)
    changes = bool(updates or state.replaced)
    result = (result, tuple(containers.new)) if changes else result
    arrays, found = weights.changed(containers.holds)
    graph.effects += [Effect("buffer", name, now._value) for name, now in arrays.items()]
    leaves, output_tree = flatten(
        result,
        lambda item: is_traced(item) or is_symbolic(item) or isinstance(item, (np.ndarray, np.generic)),
    )
    refuse_escapes(graph.name, output_tree, tree, lambda item: is_traced(item) or is_symbolic(item))
    graph.outputs = [_output(capture, leaf) for leaf in leaves]
    # An object that is returned twice must be one object in later calls, too.
    first: dict[int, int] = {}
    graph.state = GraphState(
        places=state if state.places else None,
        updates=tuple(updates) if changes else None,
        same_outputs=tuple(first.setdefault(id(leaf), place) for place, leaf in enumerate(leaves)),
        scalar_outputs=tuple(place for place, leaf in enumerate(leaves) if _is_scalar(capture, leaf)),
    )
    graph.input_tree, graph.output_tree = tree, output_tree
    return graph, found


def _is_scalar(capture: NumpyCapture, leaf: Any) -> bool:
    return isinstance(leaf, np.generic) or type(leaf) is TracedScalar and leaf._value not in capture.weak


def _output(capture: NumpyCapture, leaf: Any) -> Any:
    if is_symbolic(leaf):
        return expression_of(leaf)
    return leaf._value if is_traced(leaf) else capture.met(leaf)


def _note_sharing(
    capture: NumpyCapture, graph: Graph, inputs: list[Any], count: int, views: StoredArrayViews
) -> None:
    """Add assumptions to ``graph`` about identity, shared memory and strides of the inputs.

    The first ``count`` inputs are arguments, the others state. Raise :class:`TracingError` if an array that
    is written to may overlap another one.
    """
    given = [id(item) for item in inputs]
    same = SameArray(
        tuple(
            NO_ARRAY if item is None or type(item) is TracedScalar else given.index(id(item))
            for item in inputs
        )
    )
    graph.assume(same)
    if len(graph.inputs) > count:
        graph.call_inputs = count
    aliases = Aliases(graph)
    # NumPy has no lower precision of matrix products.
    graph.demand(matmul_precision="highest")
    apart, written_inputs = (
        same.apart(),
        tuple(same.firsts[index] for index, value in enumerate(graph.inputs) if value in aliases.written),
    )
    if written_inputs:
        graph.assume(DisjointMemory(tuple(apart), written_inputs))
    held = [value for value in graph.parameters.values() if value in aliases.written]
    arrays = [
        *(getattr(inputs[index], "_seen", None) for index in apart),
        *(capture.recorder.kept(value)._seen for value in graph.parameters.values()),
    ]
    written = [apart.index(index) for index in written_inputs]
    written += [len(apart) + index for index, value in enumerate(graph.parameters.values()) if value in held]
    if overlap(arrays, written):
        views.ask([capture.recorder.kept(value)._seen for value in graph.parameters.values()])
        raise TracingError(
            f"{graph.name} writes to an array that shares memory with another one that it is given or keeps, "
            "or whose elements share "
            "memory, which cannot be recorded; pass a copy of it, or keep one array and take the others of "
            "it inside the function"
        )
    if capture.row_major.depend_on_sizes(graph):
        capture.fix_all_sizes()
    # Whether such a write changes the argument or a copy depends on its strides.
    if capture.reads_layout or any(aliases.is_written(value) for value in capture.by_strides):
        assume_fact(
            graph, "packing", [True if item is None else fact_of(item._seen, "packing") for item in inputs]
        )


def _environment(
    code: Reached,
    asked: _EnvironmentReads,
    graph: Graph,
    weights: NumpyWeights,
    is_compared: Callable[[Any], bool],
) -> EnvironmentGuards:
    free = free_parts(weights.parts() | weights.kept.parts(), is_compared)
    read_anew = set(map(id, weights.buffers()))

    def contents(item: Any) -> Any:
        # Parameters need only keep their shapes and dtypes. The elements of other arrays are constants of the
        # graph.
        return None if id(item) in read_anew else buffer_bytes(item)

    guards = [
        *asked.globals.guards(),
        *asked.settings.guards(),
        *facts_outside(code, contents=contents, free=free),
    ]
    held = EnvironmentGuard(
        "{}()", (weights.hold_types(graph),), "the shape or type of an array that the function keeps"
    )
    return EnvironmentGuards([held, *weights.views.guards(), *guards] if graph.parameters else guards)
