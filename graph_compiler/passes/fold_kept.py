"""What variables that later code may read hold behind a recorded loop whose steps did not make it: arrays and lengths from before the loop,
which a step may have named anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.node import Value
from ..ir.recorded_loop import Held, Mark, Path, RecordedLoop
from ..sizes import Size
from .fold_places import Places
from .fold_values import value_at


class Kept:
    """The variables that code behind a loop may read, at ``marks``."""

    def __init__(self, places: Places, loop: RecordedLoop, marks: Sequence[Mark]) -> None:
        self.places, self.marks = places, marks
        self.after = {path for path in (*marks[0].state, *marks[1].state) if path[0] in loop.after}
        last = {path: value_at(marks[-1], path) for path in self.after}
        self.old = {path: value for path, value in last.items() if value is not None and places.is_before(value, marks[0])}
        """Those that hold arrays from before the loop at its end."""

    def are_certain(self, first: int) -> bool:
        """Whether arrays from before the loop are the same at each mark from the ``first`` on, so after however many steps."""
        return all(value_at(mark, path) is value for path, value in self.old.items() for mark in self.marks[first:])

    def need_a_step(self) -> bool:
        """Whether they hold, before the first step, something else than behind one, and the loop does not carry it."""
        return any(self._held(0, path) != self._held(1, path) or self._is_shared_without_one(path) for path in self.after)

    def _is_shared_without_one(self, path: Path) -> bool:
        """Whether a variable, which holds an array of the steps behind the loop, would hold one that has another name there without a step,
        and what is written to one of the two is seen in the other: a graph carries arrays, not their memory."""
        first, last, end = value_at(self.marks[0], path), value_at(self.marks[-1], path), self.marks[-1]
        if first is None or last is None or path in self.old:
            return False
        return self.places.sees_writes(first, last, end) or self.places.sees_writes(last, first, end)

    def _held(self, place: int, path: Path) -> tuple[Any, str | Value | None]:
        """What a variable holds at a mark; of arrays that the steps make, their kind alone."""
        held = self.marks[place].state.get(path, Held(None))
        if isinstance(held.item, Size):
            return held.kind, held.item.text(lambda symbol: f"{symbol.kind} {symbol.axis} {id(symbol.source)}")
        return held.kind, held.item if path in self.old else None
