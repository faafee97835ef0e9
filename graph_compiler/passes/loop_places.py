"""Places along one axis of an array that the steps of a loop name one after the other: ``x[i + 1]``, ``x[2, i]``, ``x[:, i]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.builder import Builder
from ..ir.node import Node, Value
from ..ops.bounds import nonnegative, position
from ..sizes import Size, apply
from .open_loops import WHOLE

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A key that names, in step ``i``, the place ``i + offset`` of one axis; ``rest`` are its other items, ``position`` of them before
    that one."""

    position: int
    offset: int
    rest: Key

    @classmethod
    def of(cls, node: Node, position: int, number: Value) -> Place | None:
        """The place that a node names, where the item at ``position`` of its key is the number of the step and a constant."""
        key = node.params["key"]
        offset = _offset(key[position], number) if position < len(key) else None
        if offset is None:
            return None
        sizes = iter(node.inputs[0].shape)
        items = [item if item is None else _shortest(item, next(sizes)) for item in key]
        return cls(position, offset, (*items[:position], *items[position + 1 :], *(WHOLE for _ in sizes)))

    @property
    def axis(self) -> int:
        """The axis of the array."""
        return sum(item is not None for item in self.rest[: self.position])

    @property
    def is_row(self) -> bool:
        """Whether all other axes are selected."""
        return all(item == WHOLE for item in self.rest)

    def key(self, item: Any) -> Key:
        """The key with something else along the axis."""
        return (*self.rest[: self.position], item, *self.rest[self.position :])

    def rows(self) -> Place:
        """The place with all other axes."""
        others = sum(item is not None for item in self.rest)
        return Place(self.axis, self.offset, (WHOLE,) * others)

    def sides(self, shape: tuple[Any, ...], offset: int) -> Sides | None:
        """What lies beside the places that are a part of one axis of a row, in the row at ``offset``; None where that is not certain."""
        parts = [axis for axis, item in enumerate(self.rest) if item != WHOLE]
        if len(parts) != 1 or not isinstance(self.rest[parts[0]], tuple):
            return None
        (axis,) = parts
        (start, stop, step), size = self.rest[axis], (*shape[: self.axis], *shape[self.axis + 1 :])[axis]
        start, stop = position(start, size, 0), position(stop, size, size)
        if step != 1 or not all(map(nonnegative, (start, size - stop))):
            return None
        before, behind = (
            Place(self.position, offset, (*self.rest[:axis], (*ends, 1), *self.rest[axis + 1 :])) if ends[0] != ends[1] else None
            for ends in ((0, start), (stop, size))
        )
        return Sides(axis, before, behind)

    # ------------------------------------------------------------------------------ several places at once
    def stacked(self, build: Builder, array: Value, first: Any, length: Any) -> Value:
        """What is at ``length`` places from ``first`` on, along a first axis."""
        places = span(array.shape[self.axis], first, length)
        if self.is_row and (turned := turned_rows(build, array, self.axis)) is not None:
            rows_first: Value = build.getitem(turned, key=(places,))
            return rows_first
        found, axis = build.getitem(array, key=self.key(places)), self._selected
        rows: Value = build.permute_dims(found, axes=(axis, *range(axis), *range(axis + 1, found.ndim)))
        return rows

    def put(self, build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
        """The array with ``rows`` in the place of what :meth:`stacked` gives."""
        axis, places = self._selected, span(array.shape[self.axis], first, length)
        key, axes = self.key(places), (*range(1, axis + 1), 0, *range(axis + 1, rows.ndim))
        if self.is_row and (turned := turned_rows(build, array, self.axis)) is not None:
            whole: Value = build.permute_dims(_with_rows(build, turned, rows, first, length), axes=axes)
            return whole
        value = build.permute_dims(rows, axes=axes)
        written: Value = value if all(item == WHOLE for item in key) else build.setitem(array, value, key=key)
        return written

    @property
    def _selected(self) -> int:
        """Where the axis stands in what a slice of it selects."""
        return sum(not is_single(item) for item in self.rest[: self.position])


@dataclass(frozen=True, slots=True)
class Diagonal:
    """Places along two axes at once: ``x[i, i + 1]``, of which ``along`` is the one along the first axis. The other one is ``shift``
    further on, ``rest`` are the other items of the key, with None for both in their ``positions``."""

    along: Place
    positions: tuple[int, int]
    shift: int
    rest: Key

    @classmethod
    def of(cls, places: Sequence[Place], key: Key, ndim: int) -> Diagonal | None:
        """What two places along different axes say together; None where the key says more than that."""
        if len(places) != 2 or None in key:
            return None
        one, other = places
        rest = [*key, *(WHOLE,) * (ndim - len(key))]
        rest[one.position] = rest[other.position] = None
        return cls(one, (one.position, other.position), other.offset - one.offset, tuple(rest))

    @property
    def offset(self) -> int:
        """That of the first place."""
        return self.along.offset

    def stacked(self, build: Builder, array: Value, first: Any, length: Any) -> Value:
        """What is at ``length`` places from ``first`` on, along a first axis."""
        key = list(self.rest)
        for axis, start in zip(self.positions, (first, first + self.shift)):
            key[axis] = span(array.shape[axis], start, length)
        found = build.getitem(array, key=tuple(key))
        axis1, axis2 = (sum(not is_single(item) for item in key[:axis]) for axis in self.positions)
        numbers = build.diagonal(found, offset=0, axis1=axis1, axis2=axis2)
        rows: Value = build.permute_dims(numbers, axes=(numbers.ndim - 1, *range(numbers.ndim - 1)))
        return rows


@dataclass(frozen=True, slots=True)
class Sides:
    """The places before and behind a part of a row, along one of its axes."""

    axis: int
    before: Place | None
    behind: Place | None

    @property
    def places(self) -> tuple[Place, ...]:
        """Those that there are."""
        return tuple(place for place in (self.before, self.behind) if place is not None)

    def row(self, build: Builder, part: Value, find: Callable[[Place], Value]) -> Value:
        """The row that a part belongs to, with what ``find`` gives for the places beside it."""
        before, behind = ([find(place)] if place is not None else [] for place in (self.before, self.behind))
        row: Value = build.concat(*before, part, *behind, axis=self.axis) if self.places else part
        return row


def turned_rows(build: Builder, array: Value, axis: int) -> Value | None:
    """An array with another axis in front, where it was made of one that has, or is a constant with such rows in it; None of others,
    which would be copied."""
    node = build.maker(array) if axis else None
    if node is None:
        return None
    if node.op == "permute_dims":
        return node.inputs[0] if is_turned(node, axis) else None
    if node.op in ("zeros", "full"):
        shape = (array.shape[axis], *array.shape[:axis], *array.shape[axis + 1 :])
        constant: Value = getattr(build, node.op)(**{**node.params, "shape": shape})
        return constant
    key = node.params["key"] if node.op == "setitem" and len(node.params["key"]) == array.ndim else (None,)
    if None in key or not is_single(key[axis]) or (before := turned_rows(build, node.inputs[0], axis)) is None:
        return None
    written: Value = build.setitem(before, node.inputs[1], key=(key[axis], *key[:axis], *key[axis + 1 :]))
    return written


def _with_rows(build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
    """An array with other rows from ``first`` on, between those that stay: so nothing is written twice."""
    size, behind = array.shape[0], first + length
    if span(size, first, length) == WHOLE:
        return rows
    before = [build.getitem(array, key=((0, first, 1),))] if first != 0 else []
    after = [build.getitem(array, key=((behind, size, 1),))] if behind != size else []
    whole: Value = build.concat(*before, rows, *after, axis=0)
    return whole if whole.shape == array.shape else build.setitem(array, rows, key=((first, behind, 1),))


def is_turned(node: Node | None, axis: int) -> bool:
    """Whether an array was made by putting the first axis of another one here."""
    return (
        node is not None
        and node.op == "permute_dims"
        and node.params["axes"] == (*range(1, axis + 1), 0, *range(axis + 1, node.outputs[0].ndim))
    )


def positions(node: Node, number: Value) -> Iterator[int]:
    """Where the key of a node has the number of a step and a constant."""
    if node.op in ("getitem", "setitem"):
        yield from (position for position, item in enumerate(node.params["key"]) if _offset(item, number) is not None)


def _shortest(item: Any, size: Any) -> Any:
    """An item of a key; the whole axis where it selects that."""
    if is_single(item) or item[2] != 1:
        return item
    first = position(item[0], size, 0)
    return WHOLE if span(size, first, position(item[1], size, size) - first) == WHOLE else item


def is_single(item: Any) -> bool:
    """Whether an item of a key takes one element of its axis."""
    return item is not None and not isinstance(item, tuple)


def span(size: Any, first: Any, length: Any) -> tuple[Any, Any, int]:
    """So many places of an axis: the whole one where that is certain. Loops over no rows have a length of ``max(size, 0)``."""
    return WHOLE if first == 0 and length in (size, apply("max", size, 0)) else (first, first + length, 1)


def _offset(item: Any, number: Value) -> int | None:
    read = [symbol for symbol in item.symbols() if symbol.source is number] if isinstance(item, Size) else []
    offset = item - Size.of(read[0]) if len(read) == 1 else None
    return offset if type(offset) is int else None
