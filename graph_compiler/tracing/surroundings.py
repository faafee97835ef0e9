"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from .conjunction import Fact, Follower, Version, conjunction, first_broken


class Surroundings:
    """Facts that are checked before each call, and told in words where one no longer holds.

    ``version`` gives the version of a dict, where the framework or Python counts its changes.

    >>> settings = {"scale": 2}
    >>> surroundings = Surroundings([Fact("{}['scale'] == 2", (settings,), "the scale", of=settings)])
    >>> surroundings.holds(), settings.update(scale=3), surroundings.holds(), surroundings.reason()
    (True, None, False, 'the scale changed since')
    """

    def __init__(self, facts: Iterable[Fact] = (), version: Version | None = None, followers: Sequence[Follower] = ()) -> None:
        self.followers = tuple(followers)
        self._facts, self._version = list(facts), version

    @functools.cached_property
    def holds(self) -> Callable[[], bool]:
        """Whether everything is as it was; then what follows it is up to date."""
        return conjunction(self._facts, self._version, self.followers)

    def followed_by(self, follower: Follower) -> Surroundings:
        """The same facts; what depends on the same dicts is refreshed with them."""
        return Surroundings(self._facts, self._version, (follower,))

    def reason(self) -> str:
        """The first thing that is not as it was, in words; empty where there is none."""
        what = first_broken(self._facts)
        return f"{what} changed since" if what else ""
