"""One recording by as many attempts as it takes: each goes by hypotheses, and what an attempt refutes the next one does without.

A frontend gives the attempt and what it may give up, the weakest hypothesis first; the loop is here alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, Union

from ..errors import TracingError
from .control_flow.regions import lists
from .request import Recording

H = TypeVar("H")
_MOST_DISTURBED = 3  # attempts again, for other threads draw random numbers, too


@dataclass(frozen=True)
class Refuted(Generic[H]):
    """An attempt ended, and has shown what it took for granted to be otherwise; the next one goes by ``hypotheses``."""

    hypotheses: H


Attempt = Callable[[H], Union[Recording, Refuted[H]]]
GiveUp = Callable[[H, Exception], Union[H, None]]
"""The hypotheses of the next attempt after one that raised an exception; None where there is nothing of this kind to give up. It may raise
the exception itself where no other attempt can help."""


def recorded(attempt: Attempt[H], hypotheses: H, give_up: Sequence[GiveUp[H]], most: int, too_many: Callable[[], str]) -> Recording:
    """The recording of the first attempt that refutes nothing.

    After an exception the first of ``give_up`` that has something left says how to go on; where none has, the exception is raised.
    ``TracingError`` with the words of ``too_many`` after ``most`` attempts that were refuted.

    >>> recorded(lambda number: Refuted(number + 1) if number < 3 else f"recorded with {number}", 1, [], 5, str)
    'recorded with 3'
    """
    refuted, before = 0, lists.may_grow
    lists.may_grow, lists.did_grow = True, False
    try:
        while refuted < most:
            try:
                found = attempt(hypotheses)
            except Exception as problem:
                next_ones = (given for one in give_up if (given := one(hypotheses, problem)) is not None)
                given_up = next(next_ones, hypotheses if lists.give_up() else None)
                if given_up is None:
                    raise
                hypotheses = given_up
                continue
            if not isinstance(found, Refuted):
                return found
            hypotheses, refuted = found.hypotheses, refuted + 1
        raise TracingError(too_many())
    finally:
        lists.may_grow = before


class Undisturbed(Generic[H]):
    """Gives up nothing: tries again where random numbers were drawn unseen (``kind``), and another thread may have been the one."""

    def __init__(self, kind: type[Exception]) -> None:
        self._kind, self._left = kind, _MOST_DISTURBED

    def __call__(self, hypotheses: H, problem: Exception) -> H | None:
        if not isinstance(problem, self._kind):
            return None
        if not self._left or threading.active_count() == 1:
            raise problem
        self._left -= 1
        return hypotheses
