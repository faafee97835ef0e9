"""Index from names to the attributes that no code has read so far, so that each attribute is visited once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class _Entry(NamedTuple):
    """An attribute whose name no code has read so far.

    number: its index in the order in which attributes were added.
    item: its value.
    in_module: True if its owner is a module.
    is_setter: True if it is a data descriptor of a class, which setting an attribute of an instance calls.
    """

    number: int
    item: Any
    in_module: bool
    is_setter: bool


class NameIndex:
    """Names that code uses, and the attributes that wait for their names to be used.

    reads: names that code reads.
    sets: names of attributes that code sets.
    fragments: parts of names that code composes. The empty fragment is a part of every name.

    :meth:`released` returns the attributes whose names were used since its last call.

    >>> index = NameIndex(["scale"])
    >>> index.add("scale", 1), index.add("shift", 2), index.add("shift_0", 3)
    (True, False, False)
    >>> index.compose(["shift"]); index.released(), index.released()
    ([2, 3], [])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.reads: set[str] = set(names)
        self.sets: set[str] = set()
        self.fragments: set[str] = set()
        # Names that contain a fragment.
        self._matched: set[str] = set()
        self._waiting: dict[str, list[_Entry]] = {}
        self._released: list[_Entry] = []
        self._added = 0

    def read(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.reads:
                self.reads.add(name)
                self._released += self._waiting.pop(name, ())

    def set(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.sets:
                self.sets.add(name)
                self._release([name], lambda entry: entry.is_setter)

    def compose(self, fragments: Iterable[str]) -> None:
        for fragment in fragments:
            if fragment in self.fragments:
                continue
            self.fragments.add(fragment)
            if fragment:
                self._release([name for name in self._waiting if fragment in name], lambda entry: True)
            else:
                # Code that goes through all attributes does so with objects and classes, not with modules.
                self._release(list(self._waiting), lambda entry: not entry.in_module)

    def is_used(self, name: str, in_module: bool = False, is_setter: bool = False) -> bool:
        """Return True if code may use an attribute of this name.

        A name counts if code reads it, if it contains a fragment, or, for a setter, if code sets it. The
        empty fragment counts for attributes of objects and classes, not of modules.
        """
        if (
            name in self.reads
            or name in self._matched
            or "" in self.fragments
            and not in_module
            or is_setter
            and name in self.sets
        ):
            return True
        if name not in self._waiting and any(fragment in name for fragment in self.fragments if fragment):
            self._matched.add(name)
            return True
        return False

    def add(self, name: str, item: Any, in_module: bool = False, is_setter: bool = False) -> bool:
        """Return True if code may use the attribute. Otherwise store ``item`` until its name is used."""
        if self.is_used(name, in_module, is_setter):
            return True
        self._added += 1
        self._waiting.setdefault(name, []).append(_Entry(self._added, item, in_module, is_setter))
        return False

    def released(self) -> list[Any]:
        released, self._released = sorted(self._released, key=lambda entry: entry.number), []
        return [entry.item for entry in released]

    def _release(self, names: Iterable[str], is_used: Callable[[_Entry], bool]) -> None:
        for name in names:
            entries = self._waiting.pop(name, [])
            self._released += filter(is_used, entries)
            if kept := [entry for entry in entries if not is_used(entry)]:
                self._waiting[name] = kept
