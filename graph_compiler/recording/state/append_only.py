"""Lists that a function only appends to, such as a log of losses.

The graph of such a function depends neither on the items of the list nor on its length. ``ListLengths``
guesses which lists these are, and ``ListShims`` replaces them during a recording.
"""

from __future__ import annotations

import types
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ...trees import containers
from ..code.names import names_read
from ..reachability.snapshot import ObjectSnapshot
from .append_only_list import AppendOnlyList, ListRead
from .places import StatePlace

# A list that had this many different lengths may be append-only.
_ENOUGH = 2


class ListLengths:
    """Record of the lengths that lists at state places had in the recordings of a function."""

    def __init__(self) -> None:
        self._seen: defaultdict[tuple[int, Any], set[int]] = defaultdict(set)
        self._read: set[tuple[int, Any]] = set()

    def grown(self, places: Sequence[StatePlace]) -> frozenset[tuple[int, Any]]:
        """Note the lengths of the lists at ``places``; return identities of those that may be append-only."""
        if not places:
            return frozenset()
        lists = [place for place in places if place.whole and type(place.held.item) is list]
        for place in lists:
            self._seen[place.identity].add(len(place.held.item))
        return (
            frozenset(place.identity for place in lists if len(self._seen[place.identity]) >= _ENOUGH)
            - self._read
        )

    def give_up(self, places: Iterable[tuple[int, Any]]) -> None:
        self._read.update(places)


class ListShims:
    """Replacement of append-only lists by :class:`AppendOnlyList` objects, while a function is recorded.

    ``world`` holds the containers that the function can reach, and ``grown`` the identities of the places
    whose lists may be replaced.
    """

    def __init__(
        self,
        world: ObjectSnapshot,
        given: Any,
        functions: Iterable[types.FunctionType],
        grown: frozenset[tuple[int, Any]],
    ) -> None:
        self._world, self._grown = world, grown
        # Ids of lists that the function can reach in another way.
        self._others: set[int] = set()
        self._put: list[tuple[Any, Any, Any, AppendOnlyList]] = []
        for function in functions if grown else ():
            # ``type`` of a shim is not ``list``.
            if "type" in names_read(function.__code__):
                self._grown = frozenset()
            self._others |= set(map(id, containers((function.__defaults__, function.__kwdefaults__))))
        self._others |= set(map(id, containers(given))) | world.elsewhere if grown else set()

    def put(self, place: StatePlace) -> AppendOnlyList | None:
        """Replace the list at ``place`` by a shim in the containers of the snapshot, and return the shim.

        Return None if the list may not be replaced.
        """
        item = place.held.item
        parents = [
            (held, key) for held in self._world.held for key, part in held.before.items() if part is item
        ]
        if place.identity not in self._grown or id(item) in self._others or not parents:
            return None
        made = AppendOnlyList()
        for held, key in parents:
            held.kind.put(held.item, key, made)
            self._put.append((held, key, item, made))
        return made

    def take_out(self) -> None:
        """Put the lists back, except where the function has stored another object.

        Raise ``ListRead`` at the first shim that was read.
        """
        for held, key, item, made in self._put:
            # The user's code may have caught the exception.
            if made.was_read:
                raise ListRead("it was read, and the function went on")
            if held.kind.pairs(held.item).get(key) is made:
                held.kind.put(held.item, key, item)
