"""``Variant``: one recording as a loaded, compiled function, with its matcher and the effects of a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..codegen import Program
from ..contracts import Live, Target
from ..errors import CallMismatch, GuardFailed
from ..ir.assumption import same_elements
from ..ir.graph import Graph as IRGraph
from ..ir.graph import Guard
from ..ir.node import count_all, draws
from ..ir.quotation import shortened
from ..recording import EnvironmentGuards
from ..recording.faults import is_fault
from ..recording.request import AbandonedWay
from ..recording.state.places import ExternalState, StateLock
from ..trees import leaves_at, unflatten
from .boundary import lines_of, with_expression
from .calling.compiler_state import CompilerState
from .calling.matcher import (
    DOUBT,
    NO_FIT,
    Attempt,
    CallMiss,
    Matching,
    UndecidedValues,
    dispatcher,
    dispatcher_ahead,
)
from .effects import Effects, UserObjects, WrittenArrays
from .executable import Compilation, Executable
from .foreign_state import owners_of
from .traits import numbers_of, plain_number

# --------------------------------------------------------------------------------------------------- recorded
# Recording that a variant was written from.


@dataclass
class VariantRecording:
    """Data for writing a variant for another framework and for verifying it.

    graph: the recorded graph, in calls of the source framework or in canonical operations.
    weights: access to the arrays of the user's model.
    ranges: minimum and maximum of each recorded array argument; may be empty.
    counts: beginning of a sentence in the source, such as ``"3 calls recorded, "``; may be empty.
    """

    graph: IRGraph
    weights: Any = None
    ranges: tuple[tuple[float, float], ...] = ()
    counts: str = ""


# ---------------------------------------------------------------------------------------------------- variant
_NONE: Mapping[str, Any] = {}
# Statement of generated code for a call that does not fit.
_MISFIT = "return no_fit"


@dataclass(repr=False)
class Variant:
    """Recording, written and loaded for one target, with the conditions under which a call may run it.

    graph: the graph that was written.
    program: source of the flat function, which takes the arrays and numbers in a call one by one.
    target: the framework that the graph is written for.
    parameters(): returns the weights and buffers by name, as arrays of the target.
    constants: captured arrays by name.
    environment: guards on objects outside the arguments.
    why: reason for the recording, shown by ``explain``.
    compilation: options for the target's compiler.
    recording: the recorded graph and access to the model's arrays, or None.
    objects: access to the user's objects.
    folds_loops: True if the recording has loops made of recorded iterations.
    gave_up: ways to record that were tried before and failed.
    """

    graph: IRGraph
    program: Program
    target: Target
    parameters: Live
    constants: Mapping[str, Any]
    environment: EnvironmentGuards = field(default_factory=EnvironmentGuards)
    why: str = "first call"
    compilation: Compilation = field(default_factory=Compilation)
    recording: VariantRecording | None = None
    objects: UserObjects = field(default_factory=UserObjects)
    folds_loops: bool = False
    gave_up: tuple[AbandonedWay, ...] = ()

    def __post_init__(self) -> None:
        self.program = self.compilation.with_rounding(self.target, self.program)
        self.written = WrittenArrays(self.graph, self.program, self.target, self.objects)
        self.effects = Effects(self.graph, self.target, self.constants, self.objects)
        self.executable = Executable(
            self.graph,
            self.program,
            self.target,
            self.parameters,
            self.constants,
            self.compilation,
            is_writing=bool(self.written.keys),
            is_derived=cast(Any, self.parameters) in self.environment.derived,
            keeps_calls=self.objects.keeps_calls,
        )
        held = None if self.objects.write_back is None else self.objects.write_back.convert
        self.matching = Matching(self.graph, self.target, held, self.objects.is_foreign)
        self.state: ExternalState | None = self.graph.state.places
        self._tracer = self.target.tracer
        weights = self.recording.weights if self.recording else None
        # State that programs of the target's compiler read.
        self.compiler_state = CompilerState(
            self.graph.name, self.target, self.parameters, self.environment, weights, self.matching
        )
        self._numbers = [
            *self.graph.number_outputs,
            *([] if self.executable.compile_options is None else numbers_of(self.graph)),
        ]
        # Writes that may have to be undone need the same steps as effects.
        self._changes = self.effects.any or self.written.are_restored
        self.is_random = self.graph.randomness.key is not None
        # All variants of the graph that this variant belongs to.
        self.siblings: Sequence[Variant] = ()
        # True if the flat function draws from a generator that the framework holds.
        self._draws = draws(self.graph.nodes)
        # Returns the text about the last failure. Most failures lead to another variant, and none needs it.
        self.last_failure: Callable[[], str] = str
        # Such a variant keeps no state and returns what the flat function returns, so one generated function
        # runs it.
        self._only_computes = not any(
            (
                self.is_random,
                self._draws,
                self._changes,
                self.written.are_watched,
                self.state,
                self._numbers,
            )
        )
        owners = owners_of(self.graph, self.written.keys, weights, self.constants)
        # Calls of a graph without state wait for nobody.
        self.state_lock = StateLock(owners) if owners else None

    def _dispatcher(self) -> Attempt:
        found = self.matching.code(_MISFIT, _MISFIT)
        bound = {
            "no_fit": NO_FIT,
            "failed": self._failed,
            "checked": self._checked,
            "followed": functools.partial(attempt_traced, self),
        }
        calling = self.executable.call_code(found.names, self._result_code, bound)
        is_followed = None if self._tracer is None else self._tracer.is_tracing
        return dispatcher(self.environment.condition, found, calling, is_followed)

    def _dispatcher_ahead(self) -> Attempt:
        """Return the function that replaces :meth:`attempt` once a call has fitted."""
        executable, runs_asynchronously = self.executable, self.target.runs_asynchronously
        found = self.matching.code(_MISFIT, DOUBT)
        if (
            runs_asynchronously is None
            or self._tracer is not None
            or executable.compile_options is None
            # Derived weights are current only after the condition of the environment was evaluated.
            or executable.is_derived
            or not (found.on_elements or executable.are_watched)
            # Each process has to run such a function equally often.
            or any(node.depends_on_devices for node in self.graph.nodes)
        ):
            return self._attempt
        bound = {
            "no_fit": NO_FIT,
            "checked": self._checked,
            "runs_asynchronously": runs_asynchronously,
            "attempt_in_order": self._attempt,
            "attempt_after_doubt": self._attempt_after_doubt,
            "attempt_after_problem": self._attempt_after_problem,
        }
        calling = executable.call_code(found.names, self._result_code, bound)
        return dispatcher_ahead(self.environment.condition, found, calling)

    @property
    def _result_code(self) -> str:
        return "checked(outcome)" if self.program.checks else "outcome"

    def _attempt_after_doubt(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        # A check that failed once may fail often, and each time a run would be wasted.
        self.attempt = self._attempt  # type: ignore[assignment,method-assign]
        return self._attempt(args, kwargs)

    def _attempt_after_problem(
        self, problem: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        result = self._attempt_after_doubt(args, kwargs)
        # In order, the call may fit another variant or raise the exception that users expect. If it succeeds,
        # only what ran ahead can be at fault.
        if not isinstance(result, CallMiss) and is_fault(problem):
            raise problem
        return result

    def _checked(self, outcome: Any) -> Any:
        return self._guarded(outcome[0], outcome[2])

    def __repr__(self) -> str:
        inputs = ", ".join(
            f"{value.name} {value.dtype}{list(value.spec.hints)}" for value in self.graph.inputs
        )
        return (
            f"<variant of {self.graph.name} for {self.target.name}: {inputs or 'no arrays'}; "
            f"{count_all(self.graph.nodes)} operations>"
        )

    @property
    def source(self) -> str:
        return self.program.source

    def written_buffers(self) -> set[str]:
        effects = {effect.target for effect in self.graph.effects if effect.kind == "buffer"}
        return effects.union(name for kind, name in self.written.keys if kind == "parameters")

    def attempt(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of a call, or :class:`CallMiss` if it did not complete.

        A generated function may replace this method on the instance.
        """
        if self._tracer is not None and self._tracer.is_tracing():
            return attempt_traced(self, args, kwargs)
        if self.state_lock is not None:
            with self.state_lock:
                return self._attempt(args, kwargs)
        result = self._attempt(args, kwargs)
        if self._only_computes and not isinstance(result, CallMiss):
            # From now on calls go to the generated function directly.
            self.attempt = self._dispatcher_ahead()  # type: ignore[assignment,method-assign]
        return result

    @functools.cached_property
    def _attempt(self) -> Attempt:
        return self._dispatcher() if self._only_computes else self._attempt_in_steps

    def _attempt_in_steps(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        leaves = self.matching.match(args, kwargs) if self.environment.holds() else None
        return NO_FIT if leaves is None else self.run(leaves, args, kwargs)

    def run(
        self, leaves: tuple[Any, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] = _NONE
    ) -> Any:
        """Run the variant with matched ``leaves``, and return the result or :class:`CallMiss`."""
        if self.is_random:
            leaves = (*leaves, self.target.next_key(leaves))
        rewind = self.target.random_state_restorer(leaves) if self._draws else _nothing
        result = self._run_and_apply(leaves, args, kwargs) if self._changes else self._run_pure(leaves)
        # The next attempt must draw the same random numbers.
        if isinstance(result, CallMiss):
            rewind()
            self.matching.rewind()
        return result

    def _run_pure(self, leaves: tuple[Any, ...]) -> Any:
        unwritten: Callable[[], bool] | None = None
        executable = self.executable
        try:
            leading = executable.leading()
            unwritten = self.written.watched(leading, leaves)
            outcome = executable.run(leading, leaves)
            if not executable.returns_more:
                return self.as_numbers(outcome) if self._numbers else outcome
            result = self._checked(outcome)
            return self.as_numbers(result) if self._numbers else result
        # Generated code calls the target, which may raise anything.
        except Exception as problem:
            return self._failed(problem, unwritten)

    def _run_and_apply(
        self, leaves: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        executable, effects = self.executable, self.effects
        try:
            # This raises if a weight was replaced by one of another shape.
            leading = executable.leading()
        except GuardFailed as problem:
            return self._failed(problem)
        held = self.state.held() if self.state else ()
        before = self.written.saved(leading, leaves)
        unwritten = self.written.watched(leading, leaves)
        try:
            outcome = executable.run(leading, leaves)
            result, values, checks = executable.parts(outcome)
            result = self._guarded(result, checks)
        # Generated code calls the target, which may raise anything.
        except Exception as problem:
            for put_back in reversed(before):
                put_back()
            return self._failed(problem, unwritten)
        effects.write(values, args, kwargs, held)
        result = self.as_numbers(result) if self._numbers else result
        return effects.update(result, (args, kwargs, held))

    def as_numbers(self, result: Any) -> Any:
        if not self._numbers:
            return result
        leaves = list(leaves_at(self.graph.output_tree, result))
        for place in self._numbers:
            leaves[place] = plain_number(self.target, leaves[place])
        return unflatten(self.objects.output_tree(self.graph), leaves)

    def _failed(self, problem: Exception, unwritten: Callable[[], bool] | None = None) -> Any:
        """Return ``CallMiss`` for ``problem``, an exception of the generated function, and store its text.

        Raise ``problem`` if no other variant may be tried after it.

        unwritten(): returns True if the function has changed no array; None if that cannot be detected.
        """
        if isinstance(problem, GuardFailed):
            self.last_failure = _message_of(problem, self.program)
            return CallMiss(self.last_failure)
        has_written = self.written.may_remain and not (unwritten is not None and unwritten())
        if has_written or self.target.is_signal(problem) or is_fault(problem):
            raise problem
        text = f"it fails with {type(problem).__name__}: {problem}"
        # The exception is not stored on the variant, because its traceback holds the arrays of the call.
        self.last_failure = lambda: text
        return CallMiss(self.last_failure, problem)

    def _guarded(self, result: Any, checks: tuple[Any, ...]) -> Any:
        """Return ``result`` after checking the guards on values, here or in the program that is traced.

        Raise ``UndecidedValues`` if the traced program can select between this variant and others.
        """
        if any(map(self.target.is_traced, checks)):
            # Another variant may fit. The caller selects between them in the traced program.
            if len(self.siblings) > 1 and self._only_computes and self.target.branch is not None:
                raise UndecidedValues(
                    f"elements that decide are not known while {self.target.name} traces the call"
                )
            return self.target.require_guards(result, checks, self.program.checks)
        self._check(checks)
        return result

    def _check(self, checks: tuple[Any, ...]) -> None:
        for guard, value in zip(self.program.checks, checks):
            seen, expected = self.target.elements(value), guard.expected
            # Most checks are booleans, for which identity suffices.
            if seen is not expected and not same_elements(seen, expected, guard.rounding):
                raise _ElementsDiffer(guard, seen)

    def pure(
        self,
        parameters: Mapping[str, Any],
        leaves: tuple[Any, ...],
        rng: Any = None,
        held: tuple[Any, ...] = (),
    ) -> tuple[Any, dict[str, Any]]:
        whole, checks = self.unchecked(parameters, leaves, rng, held)
        return self.target.require_guards(whole, checks, self.program.checks) if checks else whole

    def unchecked(
        self,
        parameters: Mapping[str, Any],
        leaves: tuple[Any, ...],
        rng: Any = None,
        held: tuple[Any, ...] = (),
        compiled: bool = False,
        in_place: bool = True,
    ) -> tuple[tuple[Any, dict[str, Any]], tuple[Any, ...]]:
        """Run the graph on ``parameters`` and matched leaves, and return ``((result, state), checks)``.

        ``state`` has new values by name or index. ``checks`` are the values of the guards, which the caller
        has to compare with the expected ones.

        held: the objects that hold state outside the arguments, before the call.
        compiled: run the function as the target's compiler has compiled it.
        in_place: let the function write to passed arrays and constants; False copies them first.
        """
        if self.is_random:
            if rng is None:
                raise CallMismatch(
                    f"{self.graph.name} draws random numbers: pass a key, rng={self.target.a_key}, another "
                    "at each call"
                )
            if not self.target.is_key(rng):
                raise CallMismatch(
                    f"{self.graph.name} draws random numbers: rng= has to be a key, such as "
                    f"{self.target.a_key}, and is {shortened(repr(rng))}"
                )
            leaves = (*leaves, rng)
        self.executable.require_shapes(parameters)
        leading, is_apart = self.executable.leading(parameters), bool(self.written.keys) and not in_place
        leading, leaves, copies = self.written.copied(leading, leaves) if is_apart else (leading, leaves, {})
        result, effects, checks = self.executable.parts(self.executable.evaluate(leading, leaves, compiled))
        written = self.written.in_places if is_apart else ()
        result, state = self.effects.named(result, effects, leaves, held, written)
        return (result, {**copies, **state}), checks


def _nothing() -> None: ...


class _ElementsDiffer(GuardFailed):
    """Error of a call whose elements do not meet a guard. Its message is written when it is shown."""

    def __init__(self, guard: Guard, seen: Any) -> None:
        self.message: Callable[[], str] = functools.partial(guard.difference, seen)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message()


def _message_of(problem: GuardFailed, program: Program) -> Callable[[], str]:
    if isinstance(problem, _ElementsDiffer):
        return problem.message
    text, lines = str(problem), lines_of(program, problem)
    return lambda: with_expression(program, text, lines)


# --------------------------------------------------------------------------------------------- torch.compile
# Calls of a variant inside of ``torch.compile``, in code that Dynamo can trace.


def attempt_traced(variant: Variant, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    found = run_traced(variant, args, kwargs, None, None)
    if found is None:
        return NO_FIT
    result, state = found
    for name, value in state.items():
        variant.objects.store(name, value)
    return result


def run_traced(
    variant: Variant,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    weights: Mapping[str, Any] | None,
    mode: bool | None,
) -> tuple[Any, dict[str, Any]] | None:
    """Return ``(result, state)`` of a call that a compiler traces; None if it does not fit ``variant`` now.

    None as ``weights`` or ``mode`` means those of the original.
    """
    state = variant.compiler_state
    number = state.begin(weights is None, mode)
    # ``failures`` is never negative. The compiler guards on the number that it reads here, so it compiles
    # again after a failed check.
    if number < 0 or state.failures < 0 or (mode is None and not state.holds_simply()):
        return None
    leaves = variant.matching.match(args, kwargs)
    if leaves is None:
        return None
    tracer: Any = variant.target.tracer
    tracer.require_when_run(number, leaves)
    return variant.pure(state.weights() if weights is None else weights, leaves)
