"""Search for the hypotheses under which a function can be recorded (``search_recording``).

A hypothesis is, for example, that numbers can become symbols.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, Union

from ..errors import TracingError
from .control_flow.regions import lists
from .faults import is_fault
from .request import AbandonedWay, Recording, log_abandoned_way

H = TypeVar("H")
Way = TypeVar("Way", bound=Callable[..., Any])
# Other threads draw random numbers too, so an attempt may be disturbed several times.
_MOST_DISTURBED = 3


@dataclass(frozen=True)
class Refutation(Generic[H]):
    """Result of a recording attempt that found one of its hypotheses to be wrong.

    hypotheses: the hypotheses of the next attempt.
    problem: the exception that refuted the hypothesis; None if there was none.
    way: description of what is given up.
    """

    hypotheses: H
    problem: Exception | None = None
    way: str = ""


Attempt = Callable[[H], Union[Recording, Refutation[H]]]
GiveUp = Callable[[H, Exception], Union[H, None]]
"""Function that returns the hypotheses of the next attempt after one that raised an exception.

It returns None if it has nothing to give up, and may raise the exception if no other attempt can help.
"""


def gives_up(words: str) -> Callable[[Way], Way]:
    def mark(function: Way) -> Way:
        function.way = words  # type: ignore[attr-defined]
        return function

    return mark


def search_recording(
    attempt: Attempt[H],
    hypotheses: H,
    give_up: Sequence[GiveUp[H]],
    most: int,
    too_many: Callable[[], str],
    name: str = "function",
) -> Recording:
    """Return the recording of the first attempt that neither refutes a hypothesis nor raises.

    After a ``Refutation``, its hypotheses are tried; after an exception, functions in ``give_up`` may return
    others. Raise ``TracingError`` with the text of ``too_many`` after ``most`` refutations.

    name: name of the graph in the log.

    >>> attempt = lambda number: Refutation(number + 1) if number < 3 else f"recorded with {number}"
    >>> search_recording(attempt, 1, [], 5, str)
    'recorded with 3'
    """
    # A nested recording must not change whether the outer one uses growing lists, and can give them up.
    refuted, before, left = 0, (lists.may_grow, lists.did_grow), list[AbandonedWay]()
    lists.may_grow, lists.did_grow = True, False
    try:
        while refuted < most:
            try:
                found = attempt(hypotheses)
            # The attempt runs the user's code, which may raise anything, also because of symbolic numbers.
            except Exception as problem:
                if is_fault(problem):
                    raise
                weaker = _weaker(hypotheses, problem, give_up)
                if weaker is None:
                    raise
                hypotheses, way = weaker
                left.append(log_abandoned_way(name, way, problem))
                continue
            if not isinstance(found, Refutation):
                return replace(found, gave_up=(*left, *found.gave_up)) if left else found
            hypotheses, refuted = found.hypotheses, refuted + 1
            left += (
                [log_abandoned_way(name, found.way, found.problem)]
                if found.problem is not None and found.way
                else []
            )
        raise TracingError(too_many())
    finally:
        lists.may_grow, lists.did_grow = before


def _weaker(hypotheses: H, problem: Exception, give_up: Sequence[GiveUp[H]]) -> tuple[H, str] | None:
    for one in give_up:
        weaker = one(hypotheses, problem)
        if weaker is not None:
            # A partial does not have the attributes of its function.
            return weaker, getattr(getattr(one, "func", one), "way", "recording it as before")
    return (hypotheses, "recording lists that traced loops append to as arrays") if lists.give_up() else None


class DisturbanceRetry(Generic[H]):
    """``GiveUp`` function that repeats an attempt a few times if another thread may have caused ``kind``."""

    way = "recording while another thread draws random numbers"

    def __init__(self, kind: type[Exception]) -> None:
        self._kind, self._left = kind, _MOST_DISTURBED

    def __call__(self, hypotheses: H, problem: Exception) -> H | None:
        if not isinstance(problem, self._kind):
            return None
        # Without another thread, it was the function itself that drew.
        if not self._left or threading.active_count() == 1:
            raise problem
        self._left -= 1
        return hypotheses
