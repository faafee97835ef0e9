"""Ways to record a call, and which to try after one that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import GraphCompilerError, Signal
from ..passes import CannotPad, SizesUnknown, StepsMissing
from ..recording.faults import is_fault
from ..recording.request import AbandonedWay, log_abandoned_way
from ..recording.stage import stage
from .variant import Variant


@dataclass(frozen=True)
class RecordingPlan:
    """Options of one attempt to record a call.

    numbers: turn numbers that Python reads from arrays into symbols.
    all_steps: record all iterations of loops, not only as many as show what each iteration does.
    folds: turn recorded iterations into loops.
    """

    numbers: bool = True
    all_steps: bool = False
    folds: bool = True

    def given_up_for(self, other: RecordingPlan) -> str:
        """Describe the first thing that this plan does and ``other`` does not."""
        if self.folds and not other.folds:
            return "making loops of recorded iterations"
        if self.numbers and not other.numbers:
            return "making numbers that Python reads symbols"
        return "recording some iterations of each loop only"


UNROLLED = RecordingPlan(numbers=False, all_steps=True, folds=False)


@dataclass
class PlanRun:
    """State of an attempt to record by a plan.

    is_recorded: True once the user's code has run to its end.
    is_open: True if the recording has state, or symbols for numbers, that could be constants instead.
    has_loops: True if it has loops to fold.
    gave_up: what the recording gave up.
    """

    plan: RecordingPlan
    is_recorded: bool = False
    is_open: bool = False
    has_loops: bool = False
    gave_up: tuple[AbandonedWay, ...] = ()


def first_successful(name: str, plan: RecordingPlan, carry_out: Callable[[PlanRun], Variant]) -> Variant:
    """Return the variant of the first plan that succeeds, from `plan` on.

    ``gave_up`` of the variant lists what the failed plans tried. If no other plan can help, raise the
    error.
    """
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
    """Return the plan to try after ``problem`` ended a run; None if no other plan can help.

    Once the user's code has run, only errors of this package and signals lead to another plan.
    """
    plan = run.plan
    # After the user's code has run, other exceptions are bugs of this package.
    if run.is_recorded and not isinstance(problem, (GraphCompilerError, Signal)):
        return None
    # The recorded iterations do not show what each one does.
    if isinstance(problem, StepsMissing):
        return replace(plan, all_steps=True)
    if plan.folds and (isinstance(problem, CannotPad) or run.has_loops and isinstance(problem, SizesUnknown)):
        return UNROLLED
    return RecordingPlan(numbers=False) if plan.numbers and run.is_open else None
