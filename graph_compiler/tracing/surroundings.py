"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .conjunction import Fact, Version, conjunction, first_broken


class Surroundings:
    """Facts that are checked before each call, and told in words where one no longer holds.

    ``version`` gives the version of a dict, where the framework or Python counts its changes.

    >>> settings = {"scale": 2}
    >>> surroundings = Surroundings([Fact("{}['scale'] == 2", (settings,), "the scale", of=settings)])
    >>> surroundings.holds(), settings.update(scale=3), surroundings.holds(), surroundings.reason()
    (True, None, False, 'the scale changed since')
    """

    def __init__(self, facts: Iterable[Fact] = (), version: Version | None = None) -> None:
        self._facts = list(facts)
        self.holds: Callable[[], bool] = conjunction(self._facts, version)

    def reason(self) -> str:
        """The first thing that is not as it was, in words; empty where there is none."""
        what = first_broken(self._facts)
        return f"{what} changed since" if what else ""
