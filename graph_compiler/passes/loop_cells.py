"""What the steps of a loop write one after the other along an axis of a carried array, and where each step finds what it reads of it."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from ..ir.builder import Builder
from ..ir.node import Node, Value
from ..ops.bounds import length, nonnegative, position
from .forward_writes import apart
from .loop_places import Diagonal, Key, Place, Sides, is_single
from .open_loops import WHOLE, History

DEEPEST = 4
"""How many steps back a loop carries what was written."""


@dataclass(frozen=True, slots=True)
class Read:
    """Where a step finds what a node reads: in the row of a sequence (an array and its places), or in what was written so many steps
    back, with what lies at its ``sides``; ``rest`` is what is selected of it."""

    source: tuple[Value, Place | Diagonal] | int
    rest: Key = ()
    sides: Sides | None = None

    def of_row(self, ndim: int, sequences: Container[Any]) -> Read:
        """The same part of a row, taken of the row where that is a sequence as well; numbers at one place of all rows stay, which may be
        computed for all rows."""
        if isinstance(self.source, int):
            return self
        array, place = self.source
        along = place.along if isinstance(place, Diagonal) else place
        if along.is_row or (along is place and not ndim) or (array, along.rows()) not in sequences:
            return self
        return Read((array, along.rows()), along.rest)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells that the steps write: all of ``target``, of which each step makes the next one.

    A cell is written as a whole. Of rows that are written part by part XLA writes one part in place while it computes another from what
    was there (jaxlib 0.10, on CPUs)."""

    history: History
    target: Place
    reads: dict[Node, Read]

    @property
    def depth(self) -> int:
        """How many cells are carried."""
        return max((read.source for read in self.reads.values() if isinstance(read.source, int)), default=0)


@dataclass(frozen=True, slots=True)
class LastCell:
    """The cell at ``index`` of what a loop leaves of an array, which the loop carries: what is read there needs no other cell."""

    target: Place
    given: Value
    cell: Value
    index: Any

    def read(self, build: Builder, node: Node) -> Value | None:
        """What a node reads behind the loop; None where that is not certain to be in the row of this cell."""
        key, axis, shape = node.params["key"], self.target.axis, self.given.shape
        if None in key or axis >= len(key) or not is_single(key[axis]) or position(key[axis], shape[axis], 0) != self.index:
            return None
        sides = self.target.sides(shape, self.target.offset)
        if not (self.target.is_row or sides) or not all(map(nonnegative, (self.index, shape[axis] - 1 - self.index))):
            return None
        row = sides.row(build, self.cell, lambda place: build.getitem(self.given, key=place.key(self.index))) if sides else self.cell
        rest = (*key[:axis], *key[axis + 1 :])
        found: Value = build.getitem(row, key=rest) if any(item != WHOLE for item in rest) else row
        return found


def cells_of(history: History, given: Value, places: dict[Node, Place], is_down: bool, is_still: Callable[[Any], bool]) -> Cells | None:
    """The cells of a carried array whose reads and writes are at these places, all along one axis; None where a step reads what is neither
    as it was before the loop nor a cell of this step or one shortly before it."""
    (target, *others) = dict.fromkeys(places[node] for node in history.writes)
    if others or not is_still(target.rest):
        return None
    finding = _Finding(history, given, target, is_down, is_still)
    reads = {node: read for node in history.reads if (read := finding.read(node, places[node])) is not None}
    return Cells(history, target, reads) if len(reads) == len(history.reads) else None


@dataclass(frozen=True, slots=True)
class _Finding:
    history: History
    given: Value
    target: Place
    is_down: bool
    is_still: Callable[[Any], bool]

    def read(self, node: Node, place: Place) -> Read | None:
        ahead = (place.offset - self.target.offset) * (-1 if self.is_down else 1)
        if ahead > 0 or (ahead == 0 and node.inputs[0] is self.history.array) or self._is_beside(place):
            return row(self.given, place, self.is_still)
        if -ahead > DEEPEST:
            return None
        if self.target.is_row:
            return Read(-ahead, () if place.is_row else place.rest)
        if place.rest == self.target.rest:
            return Read(-ahead)
        sides = self.target.sides(self.given.shape, place.offset)
        return Read(-ahead, place.rest, sides) if sides is not None else None

    def _is_beside(self, place: Place) -> bool:
        """Whether no step writes there."""
        shape, axis = self.given.shape, place.axis
        return apart(place.rest, self.target.rest, (*shape[:axis], *shape[axis + 1 :]))


def row(array: Value, place: Place, is_still: Callable[[Any], bool]) -> Read:
    """The row of a sequence that a place is: of the places alone where they are narrow and the same in all steps, else of whole rows."""
    others = iter((*array.shape[: place.axis], *array.shape[place.axis + 1 :]))
    is_narrow = any(_is_narrow(item, next(others)) for item in place.rest if item is not None) and is_still(place.rest)
    if is_narrow or place.is_row:
        return Read((array, place))
    return Read((array, place.rows()), place.rest)


def _is_narrow(item: Any, size: Any) -> bool:
    """Whether an item of a key takes as many elements at all sizes, of an axis that has another one."""
    if is_single(item):
        return True
    start, stop, step = item
    count = length(start, stop, step, size)
    return type(count) is int and count != size
