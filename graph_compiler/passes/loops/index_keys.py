"""Keys that contain the loop index, such as ``x[i + 1, a:b]`` and ``x[i, i]``, for all iterations at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Builder
from ...ir.node import Node, Value
from ...ops.axes import FULL_SLICE
from ...ops.rules import nonnegative, position
from ...sizes import Size, apply

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class LoopIndexKey:
    """Key that selects index ``i + offset`` of one axis, where ``i`` is the loop index.

    position: index of the item of the key that contains ``i``.
    offset: the constant added to ``i``.
    rest: the other items, with slices of all elements for the axes that the key leaves out.
    """

    position: int
    offset: int
    rest: Key

    @classmethod
    def of(cls, node: Node, position: int, number: Value) -> LoopIndexKey | None:
        """Return the key of ``node`` if its item at ``position`` is ``number`` plus a constant, or None."""
        key = node.params["key"]
        offset = _offset(key[position], number) if position < len(key) else None
        if offset is None:
            return None
        sizes = iter(node.inputs[0].shape)
        items = [item if item is None else _simplified_item(item, next(sizes)) for item in key]
        return cls(
            position, offset, (*items[:position], *items[position + 1 :], *(FULL_SLICE for _ in sizes))
        )

    @property
    def axis(self) -> int:
        return sum(item is not None for item in self.rest[: self.position])

    @property
    def is_row(self) -> bool:
        return all(item == FULL_SLICE for item in self.rest)

    def key(self, item: Any) -> Key:
        return (*self.rest[: self.position], item, *self.rest[self.position :])

    def rows(self) -> LoopIndexKey:
        others = sum(item is not None for item in self.rest)
        return LoopIndexKey(self.axis, self.offset, (FULL_SLICE,) * others)

    def sides(self, shape: tuple[Any, ...], offset: int) -> RowSides | None:
        """Return the keys of the parts of row ``i + offset`` before and after the slice of this key, or None.

        For ``x[i, a:b]`` these are ``x[i + offset, 0:a]`` and ``x[i + offset, b:size]``.
        """
        parts = [axis for axis, item in enumerate(self.rest) if item != FULL_SLICE]
        if len(parts) != 1 or not isinstance(self.rest[parts[0]], tuple):
            return None
        (axis,) = parts
        (start, stop, step), size = self.rest[axis], (*shape[: self.axis], *shape[self.axis + 1 :])[axis]
        start, stop = position(start, size, 0), position(stop, size, size)
        if step != 1 or not all(map(nonnegative, (start, size - stop))):
            return None
        before, after = (
            LoopIndexKey(self.position, offset, (*self.rest[:axis], (*ends, 1), *self.rest[axis + 1 :]))
            if ends[0] != ends[1]
            else None
            for ends in ((0, start), (stop, size))
        )
        return RowSides(axis, before, after)

    # ------------------------------------------------------------------------------ access to many rows
    def stacked(self, build: Builder, array: Value, first: Any, length: Any) -> Value:
        """Return what the key selects at ``length`` indices from ``first`` on, stacked on a new first axis.

        ``first`` is an index along :attr:`axis`, so it includes ``offset``.
        """
        places = span(array.shape[self.axis], first, length)
        if self.is_row and (turned := axis_first(build, array, self.axis)) is not None:
            rows_first: Value = build.getitem(turned, key=(places,))
            return rows_first
        found, axis = build.getitem(array, key=self.key(places)), self._selected
        rows: Value = build.permute_dims(found, axes=(axis, *range(axis), *range(axis + 1, found.ndim)))
        return rows

    def put(self, build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
        """Return ``array`` with ``rows`` written to the elements that :meth:`stacked` reads."""
        axis, places = self._selected, span(array.shape[self.axis], first, length)
        key, axes = self.key(places), (*range(1, axis + 1), 0, *range(axis + 1, rows.ndim))
        if self.is_row and (turned := axis_first(build, array, self.axis)) is not None:
            whole: Value = build.permute_dims(_with_rows(build, turned, rows, first, length), axes=axes)
            return whole
        value = build.permute_dims(rows, axes=axes)
        written: Value = (
            value if all(item == FULL_SLICE for item in key) else build.setitem(array, value, key=key)
        )
        return written

    @property
    def _selected(self) -> int:
        return sum(not is_single(item) for item in self.rest[: self.position])


@dataclass(frozen=True, slots=True)
class DiagonalKey:
    """Key with the loop index along two axes: ``x[i, i + 1]``.

    along: the key along the first of the two axes.
    positions: the two axes.
    shift: offset of the second index relative to the first.
    rest: the items of the key, one for each axis, with None at ``positions``.
    """

    along: LoopIndexKey
    positions: tuple[int, int]
    shift: int
    rest: Key

    @classmethod
    def of(cls, places: Sequence[LoopIndexKey], key: Key, ndim: int) -> DiagonalKey | None:
        if len(places) != 2 or None in key:
            return None
        one, other = places
        rest = [*key, *(FULL_SLICE,) * (ndim - len(key))]
        rest[one.position] = rest[other.position] = None
        return cls(one, (one.position, other.position), other.offset - one.offset, tuple(rest))

    @property
    def offset(self) -> int:
        return self.along.offset

    def stacked(self, build: Builder, array: Value, first: Any, length: Any) -> Value:
        key = list(self.rest)
        for axis, start in zip(self.positions, (first, first + self.shift)):
            key[axis] = span(array.shape[axis], start, length)
        found = build.getitem(array, key=tuple(key))
        axis1, axis2 = (sum(not is_single(item) for item in key[:axis]) for axis in self.positions)
        numbers = build.diagonal(found, offset=0, axis1=axis1, axis2=axis2)
        rows: Value = build.permute_dims(numbers, axes=(numbers.ndim - 1, *range(numbers.ndim - 1)))
        return rows


@dataclass(frozen=True, slots=True)
class RowSides:
    """Keys of the parts of a row before and after a slice along ``axis``.

    before: key of the part before the slice; None if that is known to be empty.
    after: key of the part after the slice; None if that is known to be empty.
    """

    axis: int
    before: LoopIndexKey | None
    after: LoopIndexKey | None

    @property
    def places(self) -> tuple[LoopIndexKey, ...]:
        return tuple(place for place in (self.before, self.after) if place is not None)

    def row(self, build: Builder, part: Value, find: Callable[[LoopIndexKey], Value]) -> Value:
        before, after = ([find(place)] if place is not None else [] for place in (self.before, self.after))
        row: Value = build.concat(*before, part, *after, axis=self.axis) if self.places else part
        return row


def axis_first(build: Builder, array: Value, axis: int) -> Value | None:
    """Return ``array`` with ``axis`` moved to the front, made without a permutation, or None."""
    node = build.maker(array) if axis else None
    if node is None:
        return None
    if node.op == "permute_dims":
        return node.inputs[0] if is_axis_first(node, axis) else None
    if node.op in ("zeros", "full"):
        shape = (array.shape[axis], *array.shape[:axis], *array.shape[axis + 1 :])
        constant: Value = getattr(build, node.op)(**{**node.params, "shape": shape})
        return constant
    key = node.params["key"] if node.op == "setitem" and len(node.params["key"]) == array.ndim else (None,)
    if None in key or not is_single(key[axis]) or (before := axis_first(build, node.inputs[0], axis)) is None:
        return None
    written: Value = build.setitem(before, node.inputs[1], key=(key[axis], *key[:axis], *key[axis + 1 :]))
    return written


def _with_rows(build: Builder, array: Value, rows: Value, first: Any, length: Any) -> Value:
    # A concatenation with the other rows is preferred to a write, so that no row is written twice.
    size, after = array.shape[0], first + length
    if span(size, first, length) == FULL_SLICE:
        return rows
    before = [build.getitem(array, key=((0, first, 1),))] if first != 0 else []
    after = [build.getitem(array, key=((after, size, 1),))] if after != size else []
    whole: Value = build.concat(*before, rows, *after, axis=0)
    return whole if whole.shape == array.shape else build.setitem(array, rows, key=((first, after, 1),))


def is_axis_first(node: Node | None, axis: int) -> bool:
    return (
        node is not None
        and node.op == "permute_dims"
        and node.params["axes"] == (*range(1, axis + 1), 0, *range(axis + 1, node.outputs[0].ndim))
    )


def positions(node: Node, number: Value) -> Iterator[int]:
    """Yield the indices of the items in the key of ``node`` that are ``number`` plus a constant."""
    if node.op in ("getitem", "setitem"):
        yield from (
            position for position, item in enumerate(node.params["key"]) if _offset(item, number) is not None
        )


def _simplified_item(item: Any, size: Any) -> Any:
    if is_single(item) or item[2] != 1:
        return item
    first = position(item[0], size, 0)
    return FULL_SLICE if span(size, first, position(item[1], size, size) - first) == FULL_SLICE else item


def is_single(item: Any) -> bool:
    return item is not None and not isinstance(item, tuple)


def span(size: Any, first: Any, length: Any) -> tuple[Any, Any, int]:
    return (
        FULL_SLICE if first == 0 and length in (size, apply("max", size, 0)) else (first, first + length, 1)
    )


def _offset(item: Any, number: Value) -> int | None:
    read = [symbol for symbol in item.symbols() if symbol.source is number] if isinstance(item, Size) else []
    offset = item - Size.of(read[0]) if len(read) == 1 else None
    return offset if type(offset) is int else None
