"""What a variant gives for a call that it does not take."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import GuardFailed


@dataclass(frozen=True)
class Missed:
    """A call that did not run to its end: a guard inside does not hold, or the ``problem`` that was raised. Nothing was written."""

    reason: str
    problem: Exception | None = None


NO_FIT = Missed("the call does not fit")


class Undecided(GuardFailed):
    """Whether a guard on elements holds is not known while the target traces, and another variant may fit as well."""
