"""State of a variant that programs compiled by ``torch.compile`` read.

State that the compiler does not guard on is checked by the compiled program each time it runs
(:meth:`CompilerState.still_holds`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from ...contracts import Live, Target
from ...errors import GuardFailed
from ...recording import EnvironmentGuards
from .matcher import Matching


class CompilerState:
    """Checks and weights of one variant for programs that ``torch.compile`` has compiled.

    failures: counter of failed checks, on which the compiler guards.
    """

    def __init__(
        self,
        name: str,
        target: Target,
        parameters: Live,
        environment: EnvironmentGuards,
        weights: Any,
        matching: Matching,
    ) -> None:
        self._name, self._target, self._parameters = name, target, parameters
        self._environment, self._weights, self._matching = environment, weights, matching
        self._current: dict[str, Any] = {}
        self.failures = 0
        self._numbers: dict[tuple[bool, bool | None], int] = {}

    @functools.cached_property
    def holds_simply(self) -> Callable[[], bool]:
        """Function that returns True if the environment guards that the compiler can trace hold."""
        return self._environment.simple.function()

    def begin(self, reads_weights: bool, mode: bool | None) -> int:
        """Return the number of the check that a compiled program runs; -1 if an environment guard fails now.

        reads_weights: True to store the original's current weights for :meth:`weights`.
        mode: training mode in which the environment is checked; None for the current mode.
        """
        # These functions are generated now, because they cannot be while the compiler traces.
        _ = self.holds_simply, self._matching.match
        with self._in_mode(mode):
            if not self._environment.holds():
                return -1
            if reads_weights:
                self._current = dict(self._parameters())
        key, tracer = (reads_weights, mode), self._target.tracer
        if key not in self._numbers and tracer is not None:
            self._numbers[key] = tracer.register_check(lambda: self.still_holds(*key))
        return self._numbers[key]

    # torch.compile calls the method while it compiles, and takes the result for a constant.
    begin._dynamo_marked_constant = True  # type: ignore[attr-defined]

    def weights(self) -> Mapping[str, Any]:
        live = self._parameters
        return self._current if live.read is None else live.read()

    def still_holds(self, reads_weights: bool, mode: bool | None) -> None:
        """Raise ``GuardFailed`` if a check that a compiled program relies on fails."""
        with self._in_mode(mode):
            lasting = self._environment.lasting
            # A guard that names no object still has to end the program.
            changed = "" if lasting.holds() else lasting.reason() or "an object outside the call changed"
            if reads_weights and not changed and self._parameters.read is None:
                changed = self._replaced()
        if changed:
            self.failures += 1
            raise GuardFailed(
                f"{self._name}: {changed}, as the compiler could not see; the next call is compiled anew"
            )

    def _replaced(self) -> str:
        try:
            now = self._parameters()
        # A weight has another shape or dtype now.
        except GuardFailed as problem:
            return str(problem)
        return next(
            (
                f"the weight {name} was replaced"
                for name, array in self._current.items()
                if now[name] is not array
            ),
            "",
        )

    def _in_mode(self, mode: bool | None) -> Any:
        return nullcontext() if mode is None or self._weights is None else self._weights.in_mode(mode)
