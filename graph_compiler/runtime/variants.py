"""Recording of calls that fit no variant of a graph, and of general variants with traced control flow."""

from __future__ import annotations

import ast
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import CallMismatch, GraphCompilerError, GuardFailed, NotCompilable, TargetRefused
from ..ir.magnitudes import outgrows
from ..ir.node import Value, every
from ..ops.dtypes import dtype_name, is_inexact
from ..recording.code.syntax import definition_of
from ..recording.control_flow import trace
from ..recording.control_flow.conversion import is_converted
from ..recording.faults import is_fault
from ..recording.lock import is_mine, recording_lock
from ..recording.patches.host_random import host_state_kept
from ..registration import backends
from ..trees import Branch, Static, Tree, TypedLeaf, iterate_structure, leaves_at, leaves_of, unflatten
from .boundary import line_of_user, public, raise_refused
from .calling.binding import calls_in_recorded_order, positional, recording_call
from .calling.matcher import NO_FIT, CallMiss, narrows
from .calling.nested import force_graph_break, tracer_of
from .calling.pure import call_purely
from .missing_weights import gate_until_loaded, missing_weights, require_weights
from .options import check_options
from .pipeline import Pipeline
from .progress import recording_message, show_conversion
from .recorded_graph import RecordedGraph, with_recorded_types
from .variant import Variant
from .verify import Tolerance, Verification, synthetic_leaves

if TYPE_CHECKING:
    from .calling.binding import Call
    from .over_limit import VariantLimit
    from .pipeline import Pipeline


# ------------------------------------------------------------------------------------------ statements traced
# General variants of functions with loops, recorded once a second call fits no variant.
#
# A recording holds for the loop exits and branches that it took. If a second call with the same dtypes
# misses, the function is recorded with its statements converted to traced control flow (:func:`trace`). Such
# a variant can hold for all values and trip counts. It replaces the specific variants that it covers, if its
# result for the call agrees with the original's. Otherwise the function is recorded as it runs. The first
# recording is replaced in the same way if one of its lines was unrolled too often, or if elements decided
# in several iterations of a loop.

# Maximum number of attempts for one graph, without those before its first variant.
_MOST = 3
# Number of nodes recorded for one line above which its loops count as unrolled.
LONG = 128
# Number of guards on elements from one expression from which on a loop counts as decided by elements.
REPEATED = 3
_LOOPS = (ast.For, ast.While)
_NUMBERS = (bool, int, float, complex)


class TracedStatementVariants:
    """Variants of one graph that were recorded with traced control flow, with a limit on further attempts."""

    def __init__(self, graph: RecordedGraph) -> None:
        self._graph, self._added, self._left = graph, list[Variant](), _MOST

    def variant(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Variant | None:
        """Record a variant with traced control flow, or return None."""
        if not self._left or not self._is_worth_tracing(args, kwargs):
            return None
        is_first = not self._graph.variants
        self._left -= not is_first
        try:
            self._added.append(
                self._checked_against_original(self._pipeline()(args, kwargs, why), args, kwargs)
            )
        # The user's code may raise anything while its statements are traced. Then it is recorded as it runs.
        except Exception as problem:
            if is_fault(problem):
                raise
            self._graph._note_given_up("tracing statements", problem)
            self._left = 0 if isinstance(problem, GraphCompilerError) and not is_first else self._left
            return None
        return self._added[-1]

    def _checked_against_original(
        self, made: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Variant:
        """Compare ``made`` with the original for the recorded call, and return the variant to use."""
        assert made.recording is not None
        graph, recorded = self._graph, made.recording.graph
        if outgrows(
            recorded if recorded.dialect == "canonical" else graph._pipeline.frontend.lift_graph(recorded)
        ):
            raise NotCompilable("a whole number of Python may become larger than those of arrays")
        if self._loses_gradients(made):
            raise NotCompilable("a loop would be one that has no gradient")
        verification = Verification(graph.name, graph._pipeline, made, Tolerance())
        leaves = verification.leaves(args, kwargs)
        expected = verification.original(leaves, 0)
        given = leaves_at(made.graph.result_tree, expected.result)
        numbers = tuple(place for place, leaf in enumerate(given) if type(leaf) in (bool, int, float))
        if numbers:
            recording = replace(made.recording, graph=recorded.derive(number_outputs=numbers))
            made = replace(made, graph=made.graph.derive(number_outputs=numbers), recording=recording)
        if not self._as_verified(made).agrees(expected, leaves, 0):
            raise NotCompilable("a guard fails on the very call that was recorded")
        return made

    def _as_verified(self, made: Variant) -> Verification:
        name, pipeline = self._graph.name, self._graph._pipeline
        if not pipeline.keeps_calls and narrows(made.target):
            # In narrower floats, a loop may end after another number of iterations.
            pipeline = pipeline.for_framework(pipeline.frontend.name)
            made = pipeline.rewrite_variant(made)
        return Verification(name, pipeline, made, Tolerance())

    def _loses_gradients(self, made: Variant) -> bool:
        # JAX differentiates an unbounded ``while_loop`` in forward mode only.
        pipeline, is_first = self._graph._pipeline, not self._graph.variants
        if not pipeline.target.rows.forward_while or not (
            is_first or backends.get(pipeline.frontend.name).has_derivatives
        ):
            return False
        return _has_unbounded_loop(made) and not any(map(_has_unbounded_loop, self._graph.variants))

    def without_covered(self, variant: Variant, variants: Sequence[Variant]) -> list[Variant]:
        if not self._is_own(variant):
            return list(variants)
        return [one for one in variants if self._is_own(one) or not self._covers(variant, one)]

    def _is_own(self, variant: Variant) -> bool:
        return any(variant is one for one in self._added)

    def _covers(self, new: Variant, old: Variant) -> bool:
        same_types = list(map(_type_of, _arrays(new))) == list(map(_type_of, _arrays(old)))
        if (
            old.recording is None
            or not same_types
            or not _is_as_general(new.graph.input_tree, old.graph.input_tree)
        ):
            return False
        leaves = synthetic_leaves(old.recording, self._graph._pipeline.frontend.reference, {}, 0)
        return new.matching.fits(*unflatten(old.graph.input_tree, leaves))

    def _is_worth_tracing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        graph = self._graph
        if not graph._pipeline.has_original or not _has_loops(graph._pipeline.function):
            return False
        if graph._pipeline.options.traces_statements is not None or graph._pipeline.options.roll == "never":
            return False
        if not graph.variants:
            return True
        given = [
            (dtype_name(array), len(array.shape))
            for array in graph._pipeline.frontend.reference.leaves(args, kwargs)
        ]
        # Variants whose environment does not hold miss for other reasons than the call's arguments.
        known = (one for one in graph.variants if one.environment.holds())
        return any(given == [_type_of(value) for value in _arrays(one)] for one in known)

    def _pipeline(self) -> Pipeline:
        return replace(self._graph._pipeline, function=trace(self._graph._pipeline.function))


def is_specific(function: Any, variant: Variant) -> bool:
    """Return True if ``variant`` seems to have recorded the iterations of a loop one by one."""
    if not isinstance(function, FunctionType) or variant.recording is None:
        return False
    graph, file = variant.recording.graph, function.__code__.co_filename
    lines = Counter(node.origin.line for node in graph.nodes if node.origin.file == file)
    read = [guard.origin for guard in graph.guards if isinstance(guard.condition, Value)]
    asked = Counter((origin.line, origin.instruction) for origin in read if origin.file == file)
    return max(lines.values(), default=0) > LONG or max(asked.values(), default=0) >= REPEATED


def _has_unbounded_loop(variant: Variant) -> bool:
    loops = (
        node
        for node in every(variant.graph.nodes)
        if node.op == "while_loop" and node.params.get("most") is None
    )
    return any(is_inexact(value.dtype) for node in loops for value in node.outputs)


def _has_loops(function: Callable[..., Any]) -> bool:
    if not isinstance(function, FunctionType) or is_converted(function):
        return False
    definition = definition_of(function.__code__)
    return definition is not None and any(isinstance(node, _LOOPS) for node in ast.walk(definition))


def _arrays(variant: Variant) -> list[Value]:
    assert variant.recording is not None
    leaves, values = leaves_of(variant.graph.input_tree), variant.graph.inputs_of_call
    return [
        value
        for leaf, value in zip(leaves, values)
        if not isinstance(leaf, TypedLeaf) or leaf.type not in _NUMBERS
    ]


def _type_of(value: Value) -> tuple[str, int]:
    return value.dtype, len(value.shape)


def _is_as_general(new: Tree, old: Tree) -> bool:
    if isinstance(new, Branch) and isinstance(old, Branch):
        return (
            new.type is old.type
            and new.keys == old.keys
            and all(map(_is_as_general, new.children, old.children))
        )
    if isinstance(new, TypedLeaf) and isinstance(old, Static):
        return type(old.value) is new.type
    return new == old


# ---------------------------------------------------------------------------------- calls that fit no variant
log = logging.getLogger("graph_compiler")


def _fail_as_original(pipeline: Pipeline, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call the original for its side effects and exception, unless it cannot write to the user's arrays."""
    reference = pipeline.frontend.reference
    # ``saved`` is None if no array of the framework can be written to.
    if not pipeline.has_original or reference.saved is None:
        return
    given = [item for item in iterate_structure((args, kwargs)) if reference.is_array(item)]
    if all(item is one for item, one in zip(given, reference.leaves(args, kwargs))):
        pipeline.call_original(args, kwargs)


class RecordingMethods(RecordedGraph):
    """Base class of :class:`Graph` with the methods that record."""

    _limit: VariantLimit
    _statements_traced: TracedStatementVariants | None
    # Held by the thread that records and runs for the first time.
    _lock: threading.RLock

    def _miss(self, known: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call that fits none of the first ``known`` variants.

        If no other way to run it is found, record a variant.
        """
        # Nothing can be recorded while the compiler traces.
        if (tracer := tracer_of(self)) is not None and tracer.is_tracing():
            force_graph_break(self, tracer)
        for variant, call in self._other_calls(args, kwargs):
            result = variant.attempt(*call)
            if not isinstance(result, CallMiss):
                return result
        # The original runs without the lock of the recording, so such calls do not wait for one.
        if self._lets_original_run(args, kwargs):
            return self._run_original(args, kwargs)
        args, kwargs = self._alternative_calls.with_recorded_form(self._variants, args, kwargs)
        with self._recording_guard():
            result = self._retry(known, args, kwargs)
            return self._record_or_run(args, kwargs) if isinstance(result, CallMiss) else result

    def _other_calls(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Variant, Call]]:
        yield from self._alternative_calls.others(self._variants, args, kwargs)
        if self._variants and not self._pipeline.keeps_calls:
            yield from calls_in_recorded_order(self._variants, args, kwargs)

    def _recording_guard(self) -> AbstractContextManager[Any]:
        return nullcontext() if is_mine() else self._lock

    def _retry(self, known: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # With other threads, wait until none of them records, because a recording temporarily changes what
        # functions see. All variants are attempted then.
        has_others = threading.active_count() > 1
        # A process with one thread need not take the lock.
        with recording_lock if has_others else nullcontext():
            for variant in self._variants[0 if has_others else known :]:
                result = variant.attempt(args, kwargs)
                if not isinstance(result, CallMiss):
                    return result
        return NO_FIT

    def _record_or_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # Another thread may have added the last permitted variant while this one waited for the lock.
        if self._lets_original_run(args, kwargs):
            return self._run_original(args, kwargs)
        traced = self._run_traced(args, kwargs)
        return self._record_and_run(args, kwargs) if traced is None else traced[0]

    def _lets_original_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return self._on_miss != "error" and self._limit.lets_original_run(self, args, kwargs)

    def _run_original(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with ExitStack() as locks:
            self._enter_state_locks(locks)
            return self._limit.run_original(self, args, kwargs)

    def _run_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """Return ``(result,)`` of a call that the target traces, or None if the caller should record it."""
        target = self._variants[0].target if self._variants else None
        if target is None or target.size_of is None and (target.branch is None or len(self._variants) == 1):
            return None
        if not any(map(target.is_traced, iterate_structure((args, kwargs)))):
            return None
        try:
            result, state = call_purely(self, self.parameters, args, kwargs, None, None, in_place=True)
        except GuardFailed:
            # The caller records a variant that fits, or raises the reason why it cannot.
            return None
        if state:
            raise CallMismatch(
                f"{self.name}: {target.name} traces this call, which changes {', '.join(map(str, state))}: "
                "call functional, which gives what it is then"
            )
        return (result,)

    def _record_and_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        why = self._why_missed(args, kwargs)
        with ExitStack() as locks:
            try:
                self._require_may_record(why, args, kwargs)
                variant = self._record_under_locks(locks, args, kwargs, why)
            except GraphCompilerError as problem:
                self._refused.append(
                    f"{why}: {type(problem).__name__}" + (f": {problem}" if why not in str(problem) else "")
                )
                raise
            # The user's own code may raise an exception of any class. The original makes some of its changes
            # before it raises, so it is run once more to make them.
            except Exception as problem:
                if not is_fault(problem):
                    _fail_as_original(self._pipeline, args, kwargs)
                raise
            # The variant is added before the error is raised, because ``load_weights`` finds the model
            # through it.
            if missing_weights(variant):
                self._adopt(variant)
                require_weights([variant])
            try:
                result = self._first_result(variant, args, kwargs)
            except (GuardFailed, TargetRefused) as problem:
                if not variant.folds_loops:
                    raise
                self._note_given_up("making loops of recorded iterations", problem)
                # An iteration of this call may differ from those that the loop was made of, so the call is
                # recorded unrolled.
                variant = self._record_under_locks(locks, args, kwargs, why, folds=False)
                result = self._first_result(variant, args, kwargs)
            # Adopt the variant only after its first run, because other threads call what they find here.
            self._adopt(variant)
            return result

    def _record_under_locks(
        self, locks: ExitStack, args: tuple[Any, ...], kwargs: dict[str, Any], why: str, folds: bool = True
    ) -> Variant:
        """Record a variant. Hold its state lock, and those of the other variants, until ``locks`` closes."""
        with recording_lock:
            self._enter_state_locks(locks)
            made = self._record(args, kwargs, why, folds, is_called=True)
            locks.enter_context(made.state_lock or nullcontext())
            return made

    def _enter_state_locks(self, locks: ExitStack) -> None:
        for variant in self._variants:
            locks.enter_context(variant.state_lock or nullcontext())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with recording_lock, ExitStack() as locks:
            self._enter_state_locks(locks)
            yield

    def _require_may_record(self, why: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._variants and self._on_miss == "error":
            raise GuardFailed(
                f"{self.name}: this call fits no recorded variant: {why}. Record one for it with "
                f"{recording_call(args, kwargs)}, or allow on_miss='retrace'"
            )
        if self._limit.is_reached(self):
            self._limit.raise_too_many_variants(self, why, args, kwargs)

    def _first_result(self, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves = variant.matching.match(args, kwargs)
        if leaves is None:
            from .calling.mismatch import why_missed

            why = why_missed(variant, args, kwargs, names=positional(self._pipeline.function))
            raise CallMismatch(
                f"{self.name}: the call does not fit the graph just recorded from it ({why}); an argument "
                "may change while it is read"
            )
        result = variant.run(leaves, args, kwargs)
        if isinstance(result, CallMiss):
            if result.problem is not None:
                raise_refused(result.problem, variant.program, variant.target, variant.objects.keeps_calls)
            # A folded loop is recorded again, unrolled.
            original = None if variant.folds_loops else self._problem_of_original(variant, args, kwargs)
            told = "" if original is None else f". {original[0]}"
            raise GuardFailed(
                f"{self.name}: a guard fails on the very call that was recorded: {result.reason()}. Where "
                "each step of a loop has other elements, they cannot decide in Python: compute with the "
                f"array instead (where, cond){told}"
            ) from (None if original is None else original[1])
        return result

    def _problem_of_original(
        self, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[str, Exception] | None:
        """Run the original, and return ``(text, exception)`` if it raises, otherwise None.

        If the guard that failed is from an error check of a library, the library's own text says more.
        """
        call = Verification(self.name, self._pipeline, variant, Tolerance())
        try:
            call.original(call.leaves(args, kwargs), 0)
        # The original may raise anything.
        except Exception as problem:
            if is_fault(problem):
                raise
            where = line_of_user(problem) or "the original"
            return f"{where} raises {type(problem).__name__} for this call: {problem}", problem
        return None

    @public
    def add_variant(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str = "asked for") -> Variant:
        """Record the original with these arguments, and return the new variant.

        The original runs, and its state is restored. ``max_variants`` and ``on_miss`` do not apply.

        Args:
            args: Positional arguments.
            kwargs: Keyword arguments.
            why: Reason that :meth:`explain` shows.

        Raises:
            InvalidOption: ``args`` or ``kwargs`` is invalid.
            GuardFailed: The graph was loaded from a file.
            CallMismatch: The target is another framework than the original's, and traces an argument.
            TracingError: The original does something that a graph cannot hold.
            UnsupportedOperation: Calls have no translation to the target.
        """
        check_options({"args": args, "kwargs": kwargs})
        with self._recording_guard():
            return self._adopt(self._record(tuple(args or ()), dict(kwargs or {}), why))

    def _record(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        why: str,
        folds: bool = True,
        is_called: bool = False,
    ) -> Variant:
        """Record a variant, and verify it if the options say so. It is not added to the graph.

        folds: True to fold repeated iterations into loops.
        is_called: True if a call fits no variant.
        """
        self._pipeline = self._pipeline.settled(args, kwargs)
        args, kwargs = with_recorded_types(self._variants, args, kwargs)
        started = time.perf_counter()
        with (
            recording_lock,
            host_state_kept(),
            self._pipeline.frontend.unrecorded(),
            show_conversion(self.name),
        ):
            traced = (
                self._with_statements_traced(args, kwargs, why)
                if is_called and folds and self._variants
                else None
            )
            variant = traced or (self._pipeline if folds else self._pipeline.record_unrolled)(
                args, kwargs, why
            )
            if folds and not self._variants and is_specific(self._pipeline.function, variant):
                variant = self._with_statements_traced(args, kwargs, why) or variant
            if self._pipeline.options.verify:
                # A model without weights computes nothing that could be compared.
                gate_until_loaded(variant)
                require_weights([variant])
                from .verify import verify_variant

                verify_variant(self, variant, args, kwargs)
        if log.isEnabledFor(logging.INFO):
            known, taken = len(self._variants), time.perf_counter() - started
            log.info(
                recording_message(
                    self.name, self._pipeline.frontend.name, known, self._limit.options[0], variant, taken
                )
            )
        return variant

    def _with_statements_traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str
    ) -> Variant | None:
        self._statements_traced = self._statements_traced or TracedStatementVariants(self)
        return self._statements_traced.variant(args, kwargs, why)

    def _adopt(self, variant: Variant) -> Variant:
        gate_until_loaded(variant)
        variant.siblings = self._variants
        if self._statements_traced is not None:
            self._variants[:] = self._statements_traced.without_covered(variant, self._variants)
        self._variants.append(variant)
        return variant
