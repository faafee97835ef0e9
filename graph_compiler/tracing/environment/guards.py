"""What a recording relies on beside the arguments of a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from .conjunction import Condition, Derived, EnvironmentGuard, condition, first_broken
from .versions import VersionsOf

_SIMPLE = (bool, int, float, str, type(None))


class EnvironmentGuards:
    """Facts that are checked before each call, and told in words where one no longer holds.

    ``versions_of`` gives what tells whether dicts have changed, where the framework or Python counts their changes.

    >>> settings = {"scale": 2}
    >>> environment = EnvironmentGuards([EnvironmentGuard("{}['scale'] == 2", (settings,), "the scale", of=settings)])
    >>> environment.holds(), settings.update(scale=3), environment.holds(), environment.reason()
    (True, None, False, 'the scale changed since')
    """

    def __init__(
        self, facts: Iterable[EnvironmentGuard] = (), versions_of: VersionsOf | None = None, derived: Sequence[Derived] = ()
    ) -> None:
        self.derived = tuple(derived)
        self._facts, self._versions_of = list(facts), versions_of

    @functools.cached_property
    def condition(self) -> Condition:
        """The conjunction of all facts. If it holds, everything that is derived from them is up to date."""
        return condition(self._facts, self._versions_of, self.derived)

    @functools.cached_property
    def holds(self) -> Callable[[], bool]:
        """Whether :attr:`condition` holds."""
        return self.condition.function()

    @functools.cached_property
    def simple(self) -> Condition:
        """Those facts that compare an entry of a dict with a number, a flag or a text, which a compiler of the framework can guard by
        itself."""
        return condition(fact for fact in self._facts if fact.of is not None and type(fact.items[-1]) in _SIMPLE)

    @functools.cached_property
    def lasting(self) -> EnvironmentGuards:
        """Without modes of the thread (``is_thread_mode``), which a compiled program guards by itself, and sets otherwise while it runs."""
        return EnvironmentGuards([fact for fact in self._facts if not fact.is_thread_mode], self._versions_of)

    def with_derived(self, derived: Derived) -> EnvironmentGuards:
        """The same facts; what depends on the same dicts is refreshed with them."""
        return EnvironmentGuards(self._facts, self._versions_of, (derived,))

    def reason(self) -> str:
        """The first thing that is not as it was, in words; empty where there is none."""
        what = first_broken(self._facts)
        return f"{what} changed since" if what else ""
