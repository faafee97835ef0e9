"""Arrays that may be one: what a branch or loop gives, and what it was given or may give as it is."""

from __future__ import annotations

import gc
from collections.abc import Iterable

from ...errors import TracingError
from ...ir.node import Origin, Value
from ..recorder import Recorder


class TiedArrays:
    """The owners of memory of which a recording does not know whether they are one: Python may write to several of them at once.

    A node gives arrays of its own. Where Python has two names for one array, a write to one of them is seen by the other: that is refused
    as long as both live.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._others: dict[Value, set[Value]] = {}
        self._frozen: set[Value] = set()

    @property
    def are_any(self) -> bool:
        """Whether there are such arrays."""
        return bool(self._others or self._frozen)

    def is_frozen(self, owner: Value) -> bool:
        """Whether nobody writes to it."""
        return owner in self._frozen

    def is_apart(self, value: Value) -> bool:
        """Whether it can be no other one."""
        owner = self.recorder.base_of(value)
        return not self._others.get(owner) and owner not in self._frozen

    def freeze(self, value: Value) -> None:
        """It stands for arrays that may be one: nobody writes to it."""
        self._frozen.add(self.recorder.base_of(value))

    def tie(self, values: Iterable[Value]) -> None:
        """Each of these may be any other."""
        group = set(map(self.recorder.base_of, values))
        for value in group:
            self._others.setdefault(value, set()).update(group - {value})

    def with_tied(self, owners: Iterable[Value]) -> set[Value]:
        """These, and all that may be one of them by way of others."""
        found, left = set(), set(owners)
        while left:
            found |= left
            left = set().union(*(self._others.get(value, ()) for value in left)) - found
        return found

    def refuse(self, base: Value, origin: Origin) -> None:
        """``TracingError`` where an array that is written to may be another one that lives."""
        others = self._others.get(base, ())
        if base in self._frozen or any(map(self._lives, others)) and (gc.collect(), any(map(self._lives, others)))[1]:
            raise TracingError(
                f"{origin}: an array is written to that a branch or loop on values gives, and that may be another array of the "
                "function, or not. Write to a copy"
            )

    def _lives(self, value: Value) -> bool:
        return self.recorder.array_of(value) is not None
