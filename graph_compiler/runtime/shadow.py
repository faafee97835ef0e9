"""The state of graphs for another framework: kept apart from the user's objects, which go on holding arrays of their own framework."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import is_
from typing import Any

from ..tracing.places import Place
from ..trees import Fixed


@dataclass
class _Kept:
    """What a place holds for the graph, and what it held for the user when the graph last left it."""

    place: Place
    own: Any
    users: Any


class Shadow:
    """What the places hold for a graph. While ``applied`` the objects hold it, and what is in them afterwards is kept for the next time.

    What the user puts into a place between calls counts for both.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, Any], _Kept] = {}

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, places: Iterable[Place]) -> None:
        """More places; at first a graph finds there what the user's objects hold."""
        for place in places:
            held = place.saved()
            self._kept.setdefault(place.identity, _Kept(place, held, held))

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The places hold the graph's state inside of the block."""
        entered = list(self._kept.values())
        for kept in entered:
            now = kept.place.saved()
            kept.own, kept.users = (kept.own if _same(now, kept.users) else now), now
        for kept in entered:
            kept.place.write(kept.own)
        try:
            yield
        finally:
            for kept in entered:
                kept.own = kept.place.saved()
            for kept in entered:
                kept.place.write(kept.users)


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, (list, deque)) and type(now) is type(before):
        return len(now) == len(before) and all(map(is_, now, before))
    if isinstance(now, dict) and type(now) is type(before):
        return list(now) == list(before) and all(map(is_, now.values(), before.values()))
    return now is before or isinstance(now, (int, float, str, frozenset, Fixed)) and type(now) is type(before) and now == before
