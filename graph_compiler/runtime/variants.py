"""Recording of calls that fit no variant of a graph."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from ..errors import CallMismatch, GraphCompilerError, GuardFailed, TargetRefused
from ..recording.faults import is_fault
from ..recording.lock import is_mine, recording_lock
from ..recording.patches.host_random import host_state_kept
from ..recording.request import AbandonedWay, log_abandoned_way
from ..trees import iterate_structure
from .boundary import public
from .calling.binding import calls_in_recorded_order
from .calling.following import leave_graph, tracer_of
from .calling.matcher import NO_FIT, CallMiss
from .calling.pure import call_purely
from .calling.widening import with_recorded_types
from .options import check_options
from .progress import recording_message, show_conversion
from .refusals import raise_refused
from .statements_traced import LONG, TracedStatementVariants, is_unrolled
from .variant import Variant
from .weights.meta_weights import hold_back, missing_weights, require_weights

if TYPE_CHECKING:
    from .calling.binding import Call
    from .graph import Graph
    from .over_limit import VariantLimit
    from .pipeline import Pipeline

log = logging.getLogger("graph_compiler")


class RecordingMethods:
    """Mixin of :class:`Graph` with the methods that record.

    Calls that fit a variant do not wait for a recording, unless they share state with the code that it
    runs.
    """

    name: str
    pipeline: Pipeline
    _variants: list[Variant]
    _refused: deque[str]
    _gave_up: deque[AbandonedWay]
    _limit: VariantLimit
    _on_miss: str
    _statements_traced: TracedStatementVariants | None
    # Held by the thread that records and runs for the first time.
    _lock: threading.RLock

    @property
    def _graph(self) -> Graph:
        return cast("Graph", self)

    def _miss(self, known: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call that fits none of the first ``known`` variants.

        Rebind it to the forms of other variants and try these. Then run the original if the limit of
        variants is reached and permits that. Then try the variants that other threads have added, and at
        last record a variant, or raise ``GuardFailed`` with ``on_miss="error"``.
        """
        # Nothing can be recorded while the compiler traces.
        if (tracer := tracer_of(self._graph)) is not None and tracer.is_tracing():
            leave_graph(self._graph, tracer)
        for variant, call in self._other_calls(args, kwargs):
            result = variant.attempt(*call)
            if not isinstance(result, CallMiss):
                return result
        # The original runs without the lock of the recording, so such calls do not wait for one.
        if self._lets_original_run(args, kwargs):
            return self._run_original(args, kwargs)
        args, kwargs = self._graph._alternative_calls.with_recorded_form(self._variants, args, kwargs)
        with self._recording_guard():
            result = self._retry(known, args, kwargs)
            return self._record_or_run(args, kwargs) if isinstance(result, CallMiss) else result

    def _other_calls(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Variant, Call]]:
        """Yield variants recorded in another form or key order, each with the call rebound to that."""
        yield from self._graph._alternative_calls.others(self._variants, args, kwargs)
        if self._variants and not self.pipeline.same_framework:
            yield from calls_in_recorded_order(self._variants, args, kwargs)

    def _recording_guard(self) -> AbstractContextManager[Any]:
        return nullcontext() if is_mine() else self._lock

    def _retry(self, known: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Attempt the variants after the first ``known``, or all variants if the process has other threads.

        Return ``NO_FIT`` if none fits. The recordings of other threads are waited for, because they
        temporarily change what functions see.
        """
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
        return self._on_miss != "error" and self._limit.lets_original_run(self._graph, args, kwargs)

    def _run_original(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with ExitStack() as locks:
            self._enter_state_locks(locks)
            return self._limit.run_original(self._graph, args, kwargs)

    def _run_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """Return ``(result,)`` of a call that the target traces with unknown sizes or values; else None.

        Guards become operations of the traced function. Return None also if no variant fits. Raise
        ``CallMismatch`` if the call changes state.
        """
        target = self._variants[0].target if self._variants else None
        if target is None or target.size_of is None and (target.either is None or len(self._variants) == 1):
            return None
        if not any(map(target.is_traced, iterate_structure((args, kwargs)))):
            return None
        try:
            result, state = call_purely(
                self._graph, self._graph.parameters, args, kwargs, None, None, in_place=True
            )
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
            # This is an exception of the user's own code, which may be of any class. The original makes some
            # of its changes before it raises, so it is run once more to make them.
            except Exception as problem:
                if not is_fault(problem):
                    self.pipeline.fail_as_original(args, kwargs)
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
        """Record a variant. State locks of it and of all other variants are held until ``locks`` closes."""
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
                "add_variant(args, kwargs), or allow on_miss='retrace'"
            )
        if self._limit.is_reached(self._graph):
            self._limit.raise_too_many_variants(self._graph, why, args, kwargs)

    def _first_result(self, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves = variant.match(args, kwargs)
        if leaves is None:
            from .calling.mismatch import why_missed

            why = why_missed(variant, args, kwargs)
            raise CallMismatch(
                f"{self.name}: the call does not fit the graph just recorded from it ({why}); an argument "
                "may change while it is read"
            )
        result = variant.run(leaves, args, kwargs)
        if isinstance(result, CallMiss):
            if result.problem is not None:
                raise_refused(variant, result.problem)
            raise GuardFailed(
                f"{self.name}: a guard fails on the very call that was recorded: {result.reason}. Where each "
                "step of a loop has other elements, they cannot decide in Python: compute with the array "
                "instead (where, cond)"
            )
        return result

    @public
    def add_variant(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str = "asked for") -> Variant:
        """Record the original with these arguments, and return the new variant.

        The original runs; the graph does not.

        Args:
            args: Positional arguments.
            kwargs: Keyword arguments.
            why: Reason that :meth:`explain` shows.
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
        """Record a variant without adding it to the graph.

        folds: make loops of recorded iterations; if False, record loops unrolled.
        is_called: True for a call that missed. If the graph has variants, its statements may then be
            traced.
        """
        self.pipeline = self.pipeline.settled(args, kwargs)
        args, kwargs = with_recorded_types(self._variants, args, kwargs)
        started = time.perf_counter()
        with (
            recording_lock,
            host_state_kept(),
            self.pipeline.frontend.unrecorded(),
            show_conversion(self.name),
        ):
            traced = (
                self._with_statements_traced(args, kwargs, why)
                if is_called and folds and self._variants
                else None
            )
            variant = traced or (self.pipeline if folds else self.pipeline.record_unrolled)(args, kwargs, why)
            nodes = (
                variant.recording.graph.nodes
                if folds and not self._variants and variant.recording is not None
                else ()
            )
            if len(nodes) > LONG and is_unrolled(self.pipeline.function, nodes):
                variant = self._with_statements_traced(args, kwargs, why) or variant
            if self.pipeline.options.verify:
                # A model without weights computes nothing that could be compared.
                hold_back(variant)
                require_weights([variant])
                from .verify.verify import verify_variant

                verify_variant(self._graph, variant, args, kwargs)
        if log.isEnabledFor(logging.INFO):
            known, taken = len(self._variants), time.perf_counter() - started
            log.info(
                recording_message(
                    self.name, self.pipeline.frontend.name, known, self._limit.options[0], variant, taken
                )
            )
        return variant

    def _with_statements_traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str
    ) -> Variant | None:
        self._statements_traced = self._statements_traced or TracedStatementVariants(self._graph)
        return self._statements_traced.variant(args, kwargs, why)

    def _note_given_up(self, way: str, problem: Exception) -> None:
        self._gave_up.append(log_abandoned_way(self.name, way, problem))

    def _adopt(self, variant: Variant) -> Variant:
        """Add `variant` to the graph, drop variants that it covers, and return it.

        If the model's weights are missing, calls of the variant raise ``WeightsMissing`` until they are
        loaded.
        """
        hold_back(variant)
        variant.siblings = self._variants
        if self._statements_traced is not None:
            self._variants[:] = self._statements_traced.without_covered(variant, self._variants)
        self._variants.append(variant)
        return variant

    def _why_missed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any] | None = None
    ) -> str:
        from .calling.mismatch import why_missed

        return (
            "; ".join(
                f"variant {i}: {why_missed(variant, args, kwargs, given)}"
                for i, variant in enumerate(self._variants)
            )
            or "first call"
        )
