"""Pipeline from a callable to a variant: record by one plan after another, simplify, lift, write and load."""

from __future__ import annotations

import functools
import inspect
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..assumptions import KeywordOrder
from ..codegen import WIDTH, Program, load, write
from ..contracts import Backend, Frontend, Target
from ..errors import (
    CallMismatch,
    FrameworkNotInstalled,
    GraphCompilerError,
    InvalidOption,
    NarrowedNumbers,
    Signal,
    TracingError,
    UnsupportedOperation,
)
from ..forwarding import forward
from ..ir.graph import Graph
from ..ir.graph import Graph as IRGraph
from ..ir.node import Value, count_all, every
from ..ir.sameness import same_program
from ..ir.verifier import verify
from ..passes import (
    CannotPad,
    GraphPass,
    SizesUnknown,
    StepsMissing,
    bake_generators,
    constant_folding,
    cse,
    dce,
    drop_snapshots,
    fold_loops,
    freeze,
    moves_with_steps,
    repeat_draws,
    run_passes,
    simplify_guards,
    trip_bounds,
)
from ..passes.pipelines import canonical_passes, layers, loops
from ..passes.repeats.find import SignatureCache
from ..recording import EnvironmentGuards, Recording, Request
from ..recording import recording as open_recording
from ..recording.code.names import name_by_variables
from ..recording.code.ownership import following_libraries
from ..recording.code.syntax import adding_location
from ..recording.faults import is_fault
from ..recording.lock import stage
from ..recording.patches.host_random import patterns, watching_names
from ..recording.reachability.libraries import telling_framework
from ..recording.reachability.outside import refuse_attributed
from ..recording.request import AbandonedWay, log_abandoned_way
from ..recording.state.auto_dynamic import AutoDynamic
from ..recording.state.contents import refuse_iterators
from ..recording.state.places import Stateful, StatePlace
from ..registration import entry_method
from ..trees import Branch, Tree, iterate_structure, unfixed
from .boundary import level_of_user
from .calling.binding import recording_call
from .calling.matcher import narrows
from .effects import UserObjects
from .executable import Compilation
from .foreign_objects import ProxyClasses
from .foreign_state import ConversionCache, UncachedConversion, WriteBack, convert_array
from .frameworks import backend_of
from .missing_weights import require_loaded
from .options import require_function, short_repr
from .variant import Variant, VariantRecording
from .weights import NativeWeights, NoWeights

# ------------------------------------------------------------------------------------------------------ plans
# Ways to record a call, and which to try after one that failed.


@dataclass(frozen=True)
class RecordingPlan:
    """Options of one attempt to record a call.

    numbers: turn numbers that Python reads from arrays or state into symbols.
    all_steps: record all iterations of loops.
    folds: turn recorded iterations into loops.
    """

    numbers: bool = True
    all_steps: bool = False
    folds: bool = True

    def given_up_for(self, other: RecordingPlan) -> str:
        if self.folds and not other.folds:
            return "making loops of recorded iterations"
        if self.numbers and not other.numbers:
            return "making numbers that Python reads symbols"
        return "recording some iterations of each loop only"


UNROLLED = RecordingPlan(numbers=False, all_steps=True, folds=False)


@dataclass
class PlanRun:
    """State of an attempt to record by a plan.

    is_recorded: True once the frontend has returned the recording.
    is_open: True if the recording may have state, or symbols for numbers, that could be constants instead.
    has_loops: True if the recording has iterations to make loops of.
    gave_up: ways of recording that the frontend tried and abandoned.
    """

    plan: RecordingPlan
    is_recorded: bool = False
    is_open: bool = False
    has_loops: bool = False
    gave_up: tuple[AbandonedWay, ...] = ()


def first_successful(name: str, plan: RecordingPlan, carry_out: Callable[[PlanRun], Variant]) -> Variant:
    """Return the variant of the first plan that succeeds: ``plan``, or one that is tried after it."""
    left: list[AbandonedWay] = []
    while True:
        run = PlanRun(plan)
        try:
            made = carry_out(run)
        # The user's code runs while it is recorded, and may raise anything because it got symbols instead of
        # numbers.
        except Exception as problem:
            other = None if is_fault(problem) else _next_plan(run, problem)
            if other is None:
                stage.note(problem)
                raise
            left.append(log_abandoned_way(name, plan.given_up_for(other), problem))
            plan = other
            continue
        made.gave_up = (*left, *run.gave_up)
        return made


def _next_plan(run: PlanRun, problem: Exception) -> RecordingPlan | None:
    plan = run.plan
    # After the user's code has run, another plan helps only with errors of this package.
    if run.is_recorded and not isinstance(problem, (GraphCompilerError, Signal)):
        return None
    # The recorded iterations do not show what each one does.
    if isinstance(problem, StepsMissing):
        return replace(plan, all_steps=True)
    if plan.folds and (isinstance(problem, CannotPad) or run.has_loops and isinstance(problem, SizesUnknown)):
        return UNROLLED
    return RecordingPlan(numbers=False) if plan.numbers and run.is_open else None


# -------------------------------------------------------------------------------------------------- new names
# Recording of functions that create new names (UUIDs), on which a program must not depend.


def record_independent_of_names(record: Callable[[Request], Recording], request: Request) -> Recording:
    """Record a call; raise ``TracingError`` if its program is found to depend on UUIDs that it creates."""
    with watching_names() as watch:
        recording = record(request)
    for pattern in patterns() if watch.origin else ():
        with watching_names(pattern):
            again = record(request)
        if not same_program(recording.graph, again.graph, _are_equal):
            raise TracingError(
                f"{watch.origin} gives something else at each call, and what {request.name} computes depends "
                "on it, so it would become a constant. Pass what it gives as an argument"
            )
    return recording


def _are_equal(one: Any, other: Any) -> bool:
    return one is other or bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))


# -------------------------------------------------------------------------------------------------- narrowing
# Warnings about 64-bit floats that a target computes with in 32 bits.

_WIDE = ("float64", "complex128")
_MOST_NAMES = 5


@dataclass
class NarrowingPolicy:
    """Treatment of 64-bit float inputs and parameters that a target narrows to 32 bits.

    mode: ``"target"`` warns once for each graph name, ``"strict"`` raises ``UnsupportedOperation``.
    told: graph names for which the warning was given.
    """

    mode: str = "target"
    told: set[str] = field(default_factory=set, compare=False)

    def check(self, name: str, graph: Graph, target: Target) -> None:
        if name in self.told or not narrows(target):
            return
        inputs = [value.name for value in graph.inputs if value.dtype in _WIDE]
        names = [*inputs, *(key for key, value in graph.parameters.items() if value.dtype in _WIDE)]
        if not names:
            return
        shown = ", ".join(names[:_MOST_NAMES]) + (
            f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        )
        text = (
            f"{name}: {shown} {'has' if len(names) == 1 else 'have'} 64-bit floats, with which {target.name} "
            "computes in 32 bits"
        )
        if self.mode == "strict":
            raise UnsupportedOperation(
                f"{text}, and numbers='strict' refuses that. {target.how_to_enable_64_bit}"
            )
        self.told.add(name)
        warnings.warn(
            f"{text}. {target.how_to_enable_64_bit}, or pass arrays of 32 bits; "
            "numbers='strict' makes it an error",
            NarrowedNumbers,
            stacklevel=level_of_user(),
        )


# --------------------------------------------------------------------------------------------------- pipeline
_WORDS: Any = {"break_long_words": False, "break_on_hyphens": False}


def header_of(pipeline: Pipeline, recorded: IRGraph, graph: IRGraph, counts: str) -> str:
    """Return the docstring of a generated module.

    recorded: the recorded graph, whose inputs are listed.
    graph: the graph that is written.
    counts: text before the number of operations.
    """
    frontend, target = pipeline.frontend.name, pipeline.target.name
    what = (
        f"recorded in {frontend} and written for {target}"
        if frontend != target
        else f"recorded in {frontend}"
    )
    inputs = ", ".join(f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in recorded.inputs)
    operations = count_all(graph.nodes)
    counted = f"{counts}{operations} operation{'' if operations == 1 else 's'}"
    told = [f"Recorded with {inputs or 'no arrays'}; sizes are symbolic. {counted}."]
    if graph.guards:
        told += _conditions(graph)
    lines: list[str] = []
    for text in told:
        lines += [text] if len(text) <= WIDTH else textwrap.wrap(text, WIDTH, **_WORDS)
    return "\n".join([f"{pipeline.name}, {what}.", "", *lines])


def _conditions(graph: IRGraph) -> list[str]:
    told = []
    if holds := dict.fromkeys(repr(guard.condition) for guard in graph.entry_guards()):
        told.append(f"Holds while: {', '.join(holds)}.")
    if checked := [
        f"{guard.condition.name} is {guard.expected!r:.40}"
        for guard in graph.guards
        if isinstance(guard.condition, Value)
    ]:
        told.append(f"Checked after the call: {', '.join(checked)}.")
    return told


@dataclass
class Options:
    """Options of a compilation. Fields without a description are those of :func:`graph_compiler.compile`.

    stateful: objects, and paths to arguments, that the user has named as holding state.
    compilation: ``return_backend_compiled_fn`` and ``compile_options``.
    traces_statements: ``trace_control_flow``.
    numbers: policy for 64-bit floats that the target narrows.
    """

    array_caching: bool = True
    include_generators: bool = True
    freeze: bool = False
    verify: bool = False
    stateful: Stateful = field(default_factory=Stateful)
    compilation: Compilation = field(default_factory=Compilation)
    passes: tuple[GraphPass, ...] = ()
    roll: str = "auto"
    traces_statements: bool | None = None
    numbers: NarrowingPolicy = field(default_factory=NarrowingPolicy)


@dataclass
class Pipeline:
    """Stages that turn one callable into variants for one target. A call records a variant.

    frontend, target: the framework that it is recorded in, and the one that graphs are written for.
    keeps_calls: True to keep the recorded calls, unless the graph has to be lifted.
    backend_of(name): returns the backend of the framework ``name``.
    """

    has_original: ClassVar[bool] = True
    function: Callable[..., Any]
    name: str
    frontend: Frontend
    target: Backend
    keeps_calls: bool
    options: Options = field(default_factory=Options)
    backend_of: Callable[[str], Backend] = backend_of
    _places: tuple[StatePlace, ...] = ()
    _auto_dynamic: AutoDynamic = field(init=False, default_factory=AutoDynamic)
    _adopted: ConversionCache = field(init=False)
    _copied: ConversionCache = field(init=False)

    def __post_init__(self) -> None:
        native, stamp = self.target.target, self.frontend.array_access.Stamp
        table = UncachedConversion if native.is_zero_copy else ConversionCache
        self._adopted, self._copied = table(native.adopt, stamp), table(native.convert, stamp)

    def settled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Pipeline:
        return self

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant:
        with adding_location(self.function), telling_framework(self.function, self.frontend.name):
            refuse_attributed((args, kwargs))
            refuse_iterators((args, kwargs))
            self._refuse_traced(args, kwargs, why)
            return first_successful(
                self.name, RecordingPlan(), lambda run: self._record(run, args, kwargs, why)
            )

    def _refuse_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> None:
        target = self.target.target
        if not self.keeps_calls and any(map(target.is_traced, iterate_structure((args, kwargs)))):
            raise CallMismatch(
                f"{self.name}: {target.name} traces this call, which fits no recorded variant ({why}), and "
                "the original cannot be recorded with arrays that have no elements. Record a variant for "
                f"such arguments before, with {recording_call(args, kwargs)}; where elements decide in one "
                "that is there, call functional(parameters, ...) instead, which looks at them while it runs"
            )

    def record_unrolled(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant:
        return first_successful(self.name, UNROLLED, lambda run: self._record(run, args, kwargs, why))

    def _record(self, run: PlanRun, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant:
        plan, options, run.is_open = run.plan, self.options, bool(self._places)
        stage.name = "recording"
        request = Request(
            self.function,
            args,
            kwargs,
            self.name,
            self.keeps_calls,
            self._places,
            options.stateful,
            plan.numbers,
            options.include_generators,
            self._auto_dynamic,
            None if plan.all_steps or options.roll == "never" else self._load_recorded,
            why,
        )
        with open_recording(self.frontend.name), following_libraries(False):
            recording = record_independent_of_names(self.frontend.record, request)
        if recording.places:
            self._note_places(recording.places)
        name_by_variables(every(recording.graph.nodes))
        stage.name = "simplifying"
        is_unrolled = options.roll == "never" or not plan.folds
        run.is_recorded, run.is_open, run.gave_up = (
            True,
            bool(self._places) or recording.opened,
            recording.gave_up,
        )
        run.has_loops = bool(recording.graph.loops) and not is_unrolled
        folded, _ = fold_loops(recording.graph, self.target.rows.counts, is_unrolled)
        made = self._simplify(replace(recording, graph=folded), args, kwargs, why)
        made.folds_loops = run.has_loops
        return made

    def _simplify(
        self, recording: Recording, args: tuple[Any, ...], kwargs: dict[str, Any], why: str
    ) -> Variant:
        graph = self._freeze(recording) if self.options.freeze else recording.graph.derive()
        # A single keyword has no order.
        if len(extra := _extra_keywords(self.function, kwargs)) > 1:
            graph.assume(KeywordOrder(extra))
        graph = self.simplify(graph)
        count = count_all(recording.graph.nodes)
        counts = f"{count} call{'' if count == 1 else 's'} recorded, "
        recorded = VariantRecording(
            graph, recording.weights, self.frontend.reference.ranges(args, kwargs), counts
        )
        return self.write_variant(recorded, recording.environment, why)

    def _note_places(self, places: Sequence[StatePlace]) -> None:
        self._places = tuple({place.identity: place for place in (*self._places, *places)}.values())

    def call_original(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return forward(
            self.function, *map(unfixed, args), **{name: unfixed(item) for name, item in kwargs.items()}
        )

    @functools.cached_property
    def proxies(self) -> ProxyClasses | None:
        has_original = self.has_original and not self.keeps_calls
        return ProxyClasses(self.frontend, self.target.target) if has_original else None

    def write_variant(self, recorded: VariantRecording, environment: EnvironmentGuards, why: str) -> Variant:
        """Write a recording for the target framework and return it as a variant.

        Raise ``UnsupportedOperation`` if the target cannot express it.
        """
        graph = recorded.graph
        is_lifted = graph.dialect == "canonical" or graph.demands.is_lifted
        as_recorded = (
            self.keeps_calls and not is_lifted and (self.target.rows.counts or not moves_with_steps(graph))
        )
        if not as_recorded:
            stage.name = f"translating to {self.target.name}"
            graph = self.simplify_canonical(
                graph if graph.dialect == "canonical" else self.frontend.lift_graph(graph)
            )
            self.target.dialect.check(graph)
            self.options.numbers.check(self.name, graph, self.target.target)
        # Reverse mode needs a bound on the trip count if the target differentiates an unbounded
        # ``while_loop`` in forward mode only.
        graph = self._with_user_passes(
            run_passes(graph, *([trip_bounds] if self.target.rows.forward_while else []))
        )
        stage.name = "writing"
        native = self.target.target
        output_tree = graph.output_tree if self.proxies is None else self.proxies.tree(graph.output_tree)
        # The target's transforms have to know the containers in results.
        native.register_classes(_classes(output_tree))
        dialect: Any = self.frontend.dialect if as_recorded else self.target.dialect
        # The text alone is shortened. Files have the recorded calls, which are written or lifted again.
        written = dialect.shortened(graph) if as_recorded else graph
        header = header_of(self, recorded.graph, written, recorded.counts)
        program = write(written.derive(output_tree=output_tree), dialect, header, self.target.dialect)
        if not self.keeps_calls and (held := graph.state.places):
            self._note_places(held.kept())
        constants = {
            key: array if as_recorded else convert_array(_array(array), native.adopt)
            for key, (_, array) in graph.constants.items()
        }
        parameters: Any = (
            recorded.weights.live(list(graph.parameters))
            if as_recorded
            else self.native_weights(recorded, graph)
        )
        # The check of the environment updates such weights, so that a call need not look for changes itself.
        if parameters.is_counted:
            environment = environment.with_derived(parameters, "the shape or dtype of a weight")
        store = recorded.weights.rebind if as_recorded else parameters.write_buffer
        write_back: WriteBack | None = None
        if not as_recorded and graph.state.places is not None:
            write_back = WriteBack(graph, self.frontend.array_access, native, self._copied)
        reference = self.frontend.reference
        objects = UserObjects(
            reference.saved,
            store,
            write_back,
            self.keeps_calls,
            self.frontend.name != self.target.name,
            reference.watching(graph) if as_recorded and reference.watching is not None else None,
            self.proxies,
        )
        return Variant(
            graph, program, native, parameters, constants, environment, why, self.options.compilation,
            recorded, objects,
        )  # fmt: skip

    def for_framework(self, framework: str) -> Pipeline:
        target = self.backend_of(framework)
        return replace(self, target=target, keeps_calls=target.name == self.frontend.name)

    def with_passes(self, passes: Sequence[GraphPass]) -> Pipeline:
        options = replace(self.options, passes=(*self.options.passes, *passes))
        return replace(self, options=options, keeps_calls=False)

    def rewrite_variant(self, variant: Variant) -> Variant:
        recorded = variant.recording
        assert recorded is not None
        return self.write_variant(recorded, variant.environment, variant.why)

    def missing(self, variant: Variant) -> list[str]:
        try:
            self.rewrite_variant(variant)
        except UnsupportedOperation as problem:
            return list(problem.problems) or [str(problem)]
        return []

    def module_of(self, graph: Any) -> Any:
        try:
            return self.target.as_module(graph)
        except ModuleNotFoundError as problem:
            package = (problem.name or "").partition(".")[0]
            raise FrameworkNotInstalled(
                f"{self.name}: a module of {self.target.name} is one of {package}, which is not installed "
                f"here; install it with: pip install {package}"
            ) from None

    # ------------------------------------------------------------------------------ passes
    def simplify(self, graph: IRGraph) -> IRGraph:
        """Run the passes that simplify recorded calls."""
        roll, keys = self.options.roll, SignatureCache()
        graph = run_passes(
            graph, drop_snapshots, dce, *loops(self.target, roll, keys), *layers(self.target, roll, keys)
        )
        if not self.options.include_generators:
            # Random numbers become constants before constants are folded, so that what depends on these alone
            # is folded, too.
            graph = run_passes(graph, partial(bake_generators, copy=self.frontend.reference.COPY))
            if (state := graph.randomness.recorded_from) is not None:
                graph = graph.derive(randomness=replace(graph.randomness, recorded_from=None))
                graph = run_passes(
                    graph, partial(repeat_draws, state=state, calls=self.frontend.reference.RANDOM_STATE)
                )
        if self.frontend.dialect is not None and (
            self.options.array_caching or not self.options.include_generators
        ):
            graph = run_passes(graph, partial(constant_folding, evaluate=self._evaluate))
        return run_passes(graph, cse, dce, simplify_guards)

    def simplify_canonical(self, graph: IRGraph) -> IRGraph:
        return run_passes(
            graph, *canonical_passes(self.target, self.options.roll, self.frontend.raises_out_of_bounds)
        )

    def _freeze(self, recording: Any) -> IRGraph:
        require_loaded(self.name, recording.weights, recording.graph.parameters)
        live = recording.weights.live(list(recording.graph.parameters))()
        names = list(live)
        return freeze(
            recording.graph, dict(zip(names, self.frontend.reference.copied([live[name] for name in names])))
        )[0]

    def _with_user_passes(self, graph: IRGraph) -> IRGraph:
        for each in self.options.passes:
            require_function("with_passes", each)
            found: Any = each(graph)
            if not (isinstance(found, tuple) and found and isinstance(found[0], IRGraph)):
                raise InvalidOption(
                    f"the pass {getattr(each, '__name__', each)} gives {short_repr(found)}, and has to give "
                    "(graph, whether it has changed it)"
                )
            graph = verify(found[0])
        return graph

    def source_text(self, graph: IRGraph, header: str) -> Program:
        if self.frontend.dialect is None:
            return write(graph, self.target.dialect, header)
        own = self.target if self.keeps_calls else self.backend_of(self.frontend.name)
        return write(graph, self.frontend.dialect, header, own.dialect)

    def _load_recorded(self, graph: IRGraph) -> Callable[..., Any]:
        return load(self.source_text(graph, "Steps."))

    def _evaluate(self, graph: IRGraph) -> list[Any]:
        program = self.source_text(graph, "Constants.")
        leading = (
            ({name: array for name, (_, array) in graph.constants.items()},) if program.arguments else ()
        )
        with self.frontend.reference.restoring_random_state():
            return list(load(program)(*leading))

    # ------------------------------------------------------------------------------ parameters
    def native_weights(self, recorded: VariantRecording, graph: IRGraph) -> Any:
        if not (graph.parameters or graph.effects):
            return NoWeights()
        return NativeWeights(
            recorded.weights, graph, recorded.graph, self.target.target, self._adopted, self._copied
        )


def _extra_keywords(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    if not kwargs:
        return ()
    try:
        parameters = inspect.signature(entry_method(function, function)).parameters.values()
    except (TypeError, ValueError):
        return tuple(kwargs)
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return tuple(name for name in kwargs if name not in named)


def _array(item: Any) -> Any:
    # Targets convert arrays, so Python numbers and NumPy scalars become 0-d arrays. A NumPy scalar differs
    # from an array in that it has no ``__setitem__``.
    item = np.asarray(item) if type(item) in (bool, int, float, complex) else item
    return item.__array__() if type(item).__module__ == "numpy" and not hasattr(item, "__setitem__") else item


def _classes(tree: Tree) -> set[type]:
    if not isinstance(tree, Branch):
        return set()
    return {tree.type}.union(*map(_classes, tree.children))
