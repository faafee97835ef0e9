"""One recording, lowered and loaded: the flat function, when it fits, and what a call of it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..codegen import Program, load
from ..errors import CallMismatch, GuardFailed
from ..ir.graph import Graph as IRGraph
from ..tracing import Surroundings
from .matching import matcher
from .target import Target

MISS = object()


@dataclass
class Recorded:
    """What a variant was written from: enough to write it for another framework, and to check it.

    ``graph`` is in the source framework's calls; ``weights`` tells where the user's model holds its arrays, None where there is no
    model any more; ``ranges`` are the least and greatest elements of the arrays it was recorded with.
    """

    graph: IRGraph
    weights: Any = None
    ranges: tuple[tuple[float, float], ...] = ()
    counts: str = ""


@dataclass
class Variant:
    """A graph for one signature.

    ``parameters()`` gives the arrays of the moment by name. ``original_size`` is the number of calls that were recorded.
    """

    graph: IRGraph
    program: Program
    target: Target
    parameters: Callable[[], Mapping[str, Any]]
    constants: Mapping[str, Any]
    surroundings: Surroundings = field(default_factory=Surroundings)
    why: str = "first call"
    compile_options: dict[str, Any] | None = None
    recording: Recorded | None = None

    def __post_init__(self) -> None:
        flat = load(self.program)
        self.flat = flat
        self.function = flat if self.compile_options is None else self.target.compile(flat, self.compile_options)
        self.match = matcher(self.graph, self.target)
        self._plain = not (self.graph.effects or self.program.checks)
        self._leading = self._leading_arguments()
        self._written = self.graph.notes.get("written_inputs", ())
        self.is_random = "key" in self.graph.notes
        self.last_failure = ""

    @property
    def source(self) -> str:
        """The generated source."""
        return self.program.source

    def _leading_arguments(self) -> Callable[..., tuple[Any, ...]]:
        wanted = self.program.arguments
        constants, parameters = self.constants, self.parameters

        def leading(given: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
            if wanted == ("parameters",):
                return (parameters() if given is None else given,)
            if not wanted:
                return ()
            if wanted == ("constants",):
                return (constants,)
            return (parameters() if given is None else given, constants)

        return leading

    def run(self, leaves: tuple[Any, ...], call_leaves: Callable[[], list[Any]] | None = None) -> Any:
        """The result for array leaves that matched; ``MISS`` where a guard inside does not hold: then nothing was written."""
        if self.is_random:
            leaves = (*leaves, self.target.next_key())
        if self._plain and not self._written:
            try:
                return self.function(*self._leading(), *leaves)
            except GuardFailed as failure:
                self.last_failure = str(failure)
                return MISS
        return self._run_checked(leaves, call_leaves)

    def _run_checked(self, leaves: tuple[Any, ...], call_leaves: Callable[[], list[Any]] | None) -> Any:
        before = [(leaves[i], self.target.copy(leaves[i])) for i in self._written]
        try:
            outcome = self.function(*self._leading(), *leaves)
            result, effects, checks = outcome if not self._plain else (outcome, (), ())
            failed = self._failed_check(checks)
        except GuardFailed as failure:
            failed = str(failure)
        if failed:
            self.last_failure = failed
            for array, saved in before:
                self.target.write_back(array, saved)
            return MISS
        self._apply(effects, leaves, call_leaves)
        return result

    def _failed_check(self, checks: tuple[Any, ...]) -> str:
        for guard, value in zip(self.program.checks, checks):
            seen = self.target.elements(value)
            if seen != guard.expected:
                return f"elements handed to Python were {guard.expected!r} while recording and are {seen!r} now, read by {guard.origin}"
        return ""

    def _apply(self, effects: tuple[Any, ...], leaves: tuple[Any, ...], call_leaves: Callable[[], list[Any]] | None) -> None:
        for effect, value in zip(self.graph.effects, effects):
            if effect.kind == "argument":
                self.target.write_back(call_leaves()[effect.target] if call_leaves else leaves[effect.target], value)
            elif effect.kind == "buffer":
                self.parameters()[effect.target] = value  # type: ignore[index]
            else:
                self.constants[effect.target] = value  # type: ignore[index]

    def pure(self, parameters: Mapping[str, Any], leaves: tuple[Any, ...], rng: Any = None) -> tuple[Any, dict[str, Any]]:
        """``(result, state)`` as a pure function: effects are returned, not applied."""
        if self.is_random:
            if rng is None:
                raise CallMismatch(f"{self.graph.name} draws random numbers: pass a key as rng=")
            leaves = (*leaves, rng)
        outcome = self.flat(*self._leading(parameters), *leaves)
        if self._plain:
            return outcome, {}
        result, effects, checks = outcome
        return self.target.checked(result, checks, self.program.checks), {e.target: value for e, value in zip(self.graph.effects, effects)}
