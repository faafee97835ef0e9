"""Calls of a graph inside ``torch.compile``, written in code that Dynamo can trace.

The compiler guards on the call and on what traced code reads here. Everything else that a recording relies on
is checked by the compiled program each time it runs (``still_holds``).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ...errors import GuardFailed

if TYPE_CHECKING:
    from ...contracts import Tracer
    from ..graph import Graph
    from ..variant import Variant


class CompilerState:
    """State of one variant that compiled programs read.

    failures: number of failed checks. Compiled programs read it, so a failed check makes the compiler
        compile again.
    holds_simply(): True if the environment guards that the compiler can trace hold.
    """

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._current: dict[str, Any] = {}
        self.failures = 0
        self._numbers: dict[tuple[bool, bool | None], int] = {}
        self.holds_simply = variant.environment.simple.function()

    def begin(self, reads_weights: bool, mode: bool | None) -> int:
        """Return the number under which a compiled program runs :meth:`still_holds` with these arguments.

        Return -1 if the variant's environment does not hold. If `reads_weights` is True, also store the
        original's current weights for :meth:`weights`. `mode` is the training mode to check the
        environment in; None leaves it.
        """
        variant = self._variant
        with self._in_mode(mode):
            if not variant.environment.holds():
                return -1
            if reads_weights:
                self._current = dict(variant.parameters())
        key, tracer = (reads_weights, mode), variant.target.tracer
        if key not in self._numbers and tracer is not None:
            self._numbers[key] = tracer.register_check(lambda: self.still_holds(*key))
        return self._numbers[key]

    def weights(self) -> Mapping[str, Any]:
        live = self._variant.parameters
        return self._current if live.read is None else live.read()

    def still_holds(self, reads_weights: bool, mode: bool | None) -> None:
        """Raise ``GuardFailed`` and count a failure if the recording is no longer valid.

        It is invalid if the environment has changed, or if `reads_weights` is True and a weight was
        replaced since :meth:`begin`.
        """
        variant, live = self._variant, self._variant.parameters
        with self._in_mode(mode):
            changed = "" if variant.environment.lasting.holds() else variant.environment.reason()
            if reads_weights and not changed and live.read is None:
                changed = self._replaced()
        if changed:
            self.failures += 1
            raise GuardFailed(
                f"{variant.graph.name}: {changed}, as the compiler could not see; the next call is compiled "
                "anew"
            )

    def _replaced(self) -> str:
        now = self._variant.parameters()
        return next(
            (
                f"the weight {name} was replaced"
                for name, array in self._current.items()
                if now[name] is not array
            ),
            "",
        )

    def _in_mode(self, mode: bool | None) -> Any:
        recording = self._variant.recording
        weights: Any = None if recording is None else recording.weights
        return nullcontext() if mode is None or weights is None else weights.in_mode(mode)


def attempt_traced(variant: Variant, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Run :meth:`Variant.attempt` in code that the compiler can trace.

    Return the result, or ``NO_FIT`` if the call does not fit. New values of buffers are stored in the
    original.
    """
    from .matcher import NO_FIT

    found = run_traced(variant, args, kwargs, None, None)
    if found is None:
        return NO_FIT
    result, state = found
    for name, value in state.items():
        variant.store(name, value)
    return result


def run_traced(
    variant: Variant,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    weights: Mapping[str, Any] | None,
    mode: bool | None,
) -> tuple[Any, dict[str, Any]] | None:
    """Return ``(result, state)`` with these weights, or with the original's if ``weights`` is None.

    Return None if the variant's environment does not hold in training mode `mode`, or the call does not
    fit.
    """
    number = variant.begin_following(weights is None, mode)
    state: Any = variant.compiler_state
    # ``failures`` is never negative. The compiler guards on the number that it reads here, so it compiles
    # again after a failed check.
    if number < 0 or state.failures < 0 or (mode is None and not state.holds_simply()):
        return None
    leaves = variant.match(args, kwargs)
    if leaves is None:
        return None
    tracer: Any = variant.target.tracer
    tracer.require_when_run(number, leaves)
    return variant.pure(state.weights() if weights is None else weights, leaves)


def run_any_traced(
    graph: Graph,
    weights: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    mode: bool | None,
) -> tuple[Any, dict[str, Any]] | None:
    for variant in graph.variants:
        found = run_traced(variant, args, kwargs, weights, mode)
        if found is not None:
            return found
    leave_graph(graph, tracer_of(graph))
    return None


def tracer_of(graph: Graph) -> Tracer | None:
    target = getattr(graph.pipeline, "target", None)
    return None if target is None else target.target.tracer


def leave_graph(graph: Graph, tracer: Any) -> None:
    """Force a graph break, so that the call runs uncompiled.

    The compiler raises instead if it allows no graph break.
    """
    graph._hide_calls()
    tracer.graph_break(
        f"{graph.name}: no recorded variant fits this call. Call it once with such arguments before it is "
        "compiled, so that one is recorded"
    )
