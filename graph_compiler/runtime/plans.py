"""The ways to record a call, and which is tried after one that was not possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import GraphCompilerError, Signal
from ..passes import NotWhole, SizesUnknown, StepsMissing
from ..recording.faults import is_fault
from ..recording.request import GaveUp, gave_up
from ..recording.stage import stage
from .variant import Variant


@dataclass(frozen=True)
class Plan:
    """How a call is recorded.

    numbers: whether numbers that Python reads become symbols.
    all_steps: whether all iterations of loops are recorded, not only as many as tell what each one does.
    folds: whether recorded iterations become loops.
    """

    numbers: bool = True
    all_steps: bool = False
    folds: bool = True

    def given_up_for(self, other: Plan) -> str:
        """Return what this plan has and ``other`` has not, in words."""
        if self.folds and not other.folds:
            return "making loops of recorded iterations"
        if self.numbers and not other.numbers:
            return "making numbers that Python reads symbols"
        return "recording some iterations of each loop only"


WRITTEN_OUT = Plan(numbers=False, all_steps=True, folds=False)


@dataclass
class Run:
    """One plan while it is carried out.

    is_recorded: whether the user's code has run to its end.
    is_open: whether the recording has state, or symbols for numbers, that can be constants instead.
    has_loops: whether it has loops that are folded.
    gave_up: what the recording gave up.
    """

    plan: Plan
    is_recorded: bool = False
    is_open: bool = False
    has_loops: bool = False
    gave_up: tuple[GaveUp, ...] = ()


def first_possible(name: str, plan: Plan, carry_out: Callable[[Run], Variant]) -> Variant:
    """Return the variant of the first plan that is possible.

    What the others gave up stands in its ``gave_up``.
    """
    left: list[GaveUp] = []
    while True:
        run = Run(plan)
        try:
            made = carry_out(run)
        # The user's code runs while it is recorded, and may raise anything on account of symbols in the place
        # of its numbers.
        except Exception as problem:
            other = None if is_fault(problem) else _next_plan(run, problem)
            if other is None:
                stage.note(problem)
                raise
            left.append(gave_up(name, plan.given_up_for(other), problem))
            plan = other
            continue
        made.gave_up = (*left, *run.gave_up)
        return made


def _next_plan(run: Run, problem: Exception) -> Plan | None:
    """Return how the call is recorded after ``problem`` has ended a plan; None if no other plan can help.

    Once the user's code has run, only errors that say that this way is not possible count.
    """
    plan = run.plan
    if run.is_recorded and not isinstance(problem, (GraphCompilerError, Signal)):
        return None
    if isinstance(problem, StepsMissing):
        return replace(plan, all_steps=True)
    if plan.folds and (isinstance(problem, NotWhole) or run.has_loops and isinstance(problem, SizesUnknown)):
        return WRITTEN_OUT
    return Plan(numbers=False) if plan.numbers and run.is_open else None
