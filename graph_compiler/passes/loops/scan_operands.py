"""Turn rows that iterations read and write in order into sequences and stacked outputs of a ``scan``.

``x[i]`` in iteration ``i`` reads a row of a captured array, and ``y[i] = ...`` writes a row of a carried
array. As sequences and outputs, the arrays are not carried. Of the rows that earlier iterations wrote, the
loop carries those that it reads (``y[i - 1]``). The pass is for targets whose loop index is an array.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Body, Builder
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.axes import FULL_SLICE
from ...ops.manipulation import keyed_shape
from ...ops.registry import ArraySpec
from ...ops.rules import length, nonnegative, position
from ..driver import Pass
from .index_keys import DiagonalKey, Key, LoopIndexKey, RowSides, is_axis_first, is_single, positions
from .invariant_code_motion import ArrayHistory, InlinedLoop
from .scalar_replacement import are_keys_disjoint, broadcast_value, forward_and_drop

DEEPEST = 4
"""Most iterations between the write of a row and a read of it that the loop carries the row for."""


@dataclass(frozen=True, slots=True)
class RowRead:
    """Source of the elements that a node reads in an iteration.

    source: a sequence (an array and its key), or the number of iterations since the row was written.
    rest: key that selects the elements from the row.
    sides: keys of the parts of the row that were not written, if a slice of it was and the read needs more.
    """

    source: tuple[Value, LoopIndexKey | DiagonalKey] | int
    rest: Key = ()
    sides: RowSides | None = None

    def of_row(self, ndim: int, sequences: Container[Any]) -> RowRead:
        """Return ``self``, or the same read from a sequence of full rows in ``sequences``."""
        # Except on diagonals, a scalar keeps a sequence of its own, because scalars may be computed for all
        # rows at once.
        if isinstance(self.source, int):
            return self
        array, place = self.source
        along = place.along if isinstance(place, DiagonalKey) else place
        if along.is_row or (along is place and not ndim) or (array, along.rows()) not in sequences:
            return self
        return RowRead((array, along.rows()), along.rest)


@dataclass(frozen=True, slots=True)
class CarriedCells:
    """Rows, or equal parts of rows, that the iterations write to a carried array, one per iteration.

    target: the key of a cell.
    reads: the source of each read.
    """

    history: ArrayHistory
    target: LoopIndexKey
    reads: dict[Node, RowRead]

    @property
    def depth(self) -> int:
        """Number of cells in the carry: the most iterations that a read looks back."""
        return max((read.source for read in self.reads.values() if isinstance(read.source, int)), default=0)


@dataclass(frozen=True, slots=True)
class LastCell:
    """Newest cell in the final carry of a loop, for reads of it after the loop.

    target: the key of a cell.
    given: the array before the loop.
    index: index of the cell along the axis of the cells.
    """

    target: LoopIndexKey
    given: Value
    cell: Value
    index: Any

    def read(self, build: Builder, node: Node) -> Value | None:
        """Return what ``node`` reads after the loop, computed from the cell, or None."""
        key, axis, shape = node.params["key"], self.target.axis, self.given.shape
        if (
            None in key
            or axis >= len(key)
            or not is_single(key[axis])
            or position(key[axis], shape[axis], 0) != self.index
        ):
            return None
        sides = self.target.sides(shape, self.target.offset)
        if not (self.target.is_row or sides) or not all(
            map(nonnegative, (self.index, shape[axis] - 1 - self.index))
        ):
            return None
        row = (
            sides.row(build, self.cell, lambda place: build.getitem(self.given, key=place.key(self.index)))
            if sides
            else self.cell
        )
        rest = (*key[:axis], *key[axis + 1 :])
        found: Value = build.getitem(row, key=rest) if any(item != FULL_SLICE for item in rest) else row
        return found


def find_cells(
    history: ArrayHistory,
    given: Value,
    places: dict[Node, LoopIndexKey],
    is_down: bool,
    is_still: Callable[[Any], bool],
) -> CarriedCells | None:
    """Return the cells that the iterations write to an array of the carry, or None if they are not supported.

    given: the array before the loop.
    places: the key of each read and write.
    is_down: True if the loop index descends.
    is_still(key): returns True if a key is the same in each iteration.
    """
    (target, *others) = dict.fromkeys(places[node] for node in history.writes)
    if others or not is_still(target.rest):
        return None
    finding = _CellReader(history, given, target, is_down, is_still)
    reads = {node: read for node in history.reads if (read := finding.read(node, places[node])) is not None}
    return CarriedCells(history, target, reads) if len(reads) == len(history.reads) else None


@dataclass(frozen=True, slots=True)
class _CellReader:
    history: ArrayHistory
    given: Value
    target: LoopIndexKey
    is_down: bool
    is_still: Callable[[Any], bool]

    def read(self, node: Node, place: LoopIndexKey) -> RowRead | None:
        ahead = (place.offset - self.target.offset) * (-1 if self.is_down else 1)
        # These elements are not written before they are read, so the array from before the loop has them.
        if ahead > 0 or (ahead == 0 and node.inputs[0] is self.history.array) or self._is_beside(place):
            return row_read(self.given, place, self.is_still)
        if -ahead > DEEPEST:
            return None
        if self.target.is_row:
            return RowRead(-ahead, () if place.is_row else place.rest)
        if place.rest == self.target.rest:
            return RowRead(-ahead)
        sides = self.target.sides(self.given.shape, place.offset)
        return RowRead(-ahead, place.rest, sides) if sides is not None else None

    def _is_beside(self, place: LoopIndexKey) -> bool:
        shape, axis = self.given.shape, place.axis
        return are_keys_disjoint(place.rest, self.target.rest, (*shape[:axis], *shape[axis + 1 :]))


def row_read(array: Value, place: LoopIndexKey, is_still: Callable[[Any], bool]) -> RowRead:
    """Return a read of ``array`` at ``place`` as a row of a sequence."""
    others = iter((*array.shape[: place.axis], *array.shape[place.axis + 1 :]))
    is_narrow = any(_is_narrow(item, next(others)) for item in place.rest if item is not None) and is_still(
        place.rest
    )
    if is_narrow or place.is_row:
        return RowRead((array, place))
    return RowRead((array, place.rows()), place.rest)


def _is_narrow(item: Any, size: Any) -> bool:
    if is_single(item):
        return True
    start, stop, step = item
    count = length(start, stop, step, size)
    return type(count) is int and count != size


_Sequence = tuple[Value, "LoopIndexKey | DiagonalKey"]
"""An array, and the key with which a loop reads it."""


def _use_row_operands(block: Block) -> Block:
    rewriter = Rewriter(block)
    lasts: dict[Value, LastCell] = {}
    for node in map(rewriter.rewritten, block.nodes):
        loop = _RowLoop.of(node, rewriter) if node.op == "scan" and not node.params["reverse"] else None
        if loop is not None and loop.finds():
            rewriter.replace(node.outputs, loop.written(Builder.into(rewriter, node.origin)))
            lasts.update(loop.lasts)
            continue
        last = lasts.get(node.inputs[0]) if node.op == "getitem" else None
        found = None if last is None else last.read(Builder.into(rewriter, node.origin), node)
        if found is None:
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, (found,))
    # The rewritten loops write and read many rows at once, and these writes can often be forwarded.
    return forward_and_drop(rewriter.finish())


rows_to_operands = Pass("rows_to_operands", _use_row_operands, "deep", ("scan",))
"""Pass that turns rows that are read and written in order into sequences and outputs of loops."""


@dataclass
class _LoopCounter:
    """Sequence of a ``scan`` whose rows are the loop indices.

    place: position among the sequences.
    low: smallest loop index.
    is_down: True if the loop index descends to ``low``.
    """

    place: int
    low: Any
    is_down: bool

    def turned(self, build: Builder, numbers: Value, length: Any) -> Value:
        if not self.is_down:
            return numbers
        low = _maker_of(build.maker, numbers).params["stop"] + 1
        upward: Value = build.arange(start=low, stop=low + length, dtype=numbers.dtype)
        return upward


def _counter(node: Node, rewriter: Rewriter) -> _LoopCounter | None:
    """Return a sequence that counts iterations of a ``scan`` up or down by 1, or None if none is found."""
    carried, count = node.params["carried"], node.params["sequences"]
    made = [rewriter.maker(value) for value in node.inputs[carried : carried + count]]
    steps = [each.params["step"] if each is not None and each.op == "arange" else None for each in made]
    # A reversed loop visits all of its sequences backwards, and would stack outputs in the other order.
    is_down = -1 in steps and all(step == -1 for step in steps) and len(node.outputs) == carried
    wanted = -1 if is_down else 1
    if wanted not in steps:
        return None
    place = steps.index(wanted)
    numbers = _maker_of(rewriter.maker, node.inputs[carried + place])
    return _LoopCounter(place, numbers.params["stop"] + 1 if is_down else numbers.params["start"], is_down)


def _maker_of(maker: Callable[[Value], Node | None], value: Value) -> Node:
    node = maker(value)
    assert node is not None
    return node


class _RowLoop(InlinedLoop):
    def __init__(self, node: Node, counter: _LoopCounter, maker: Callable[[Value], Node | None]) -> None:
        super().__init__(node)
        self.counter, self.maker = counter, maker
        self.cells = {
            place: found for place in range(self.carried) if (found := self._cells(place)) is not None
        }
        self.reads = {node: read for cells in self.cells.values() for node, read in cells.reads.items()}
        # The last cell of each result that the loop also carries. Filled by `written`.
        self.lasts: dict[Value, LastCell] = {}
        self.reads.update(
            {
                node: read
                for node in self.nodes
                if node not in self.reads and (read := self._outside(node)) is not None
            }
        )
        whole = {read.source for read in self.reads.values()}
        self.reads = {node: read.of_row(node.outputs[0].ndim, whole) for node, read in self.reads.items()}

    @classmethod
    def of(cls, node: Node, rewriter: Rewriter) -> _RowLoop | None:
        counter = _counter(node, rewriter)
        if counter is None:
            return None
        number = node.regions[0].block.inputs[node.params["carried"] + counter.place]
        return (
            cls(node, counter, rewriter.maker)
            if any([*positions(each, number)] for each in node.regions[0].block.nodes)
            else None
        )

    def finds(self) -> bool:
        return bool(self.cells or self.reads)

    # ------------------------------------------------------------------------------ analysis
    @property
    def number(self) -> Value:
        return self.rows[self.counter.place]

    def _cells(self, index: int) -> CarriedCells | None:
        history = self.history(index)
        if history is None:
            return None
        nodes = (*history.writes, *history.reads)
        for written in positions(history.writes[0], self.number):
            places = {node: place for node in nodes if (place := self._place(node, written)) is not None}
            if len(places) == len(nodes) and len({place.axis for place in places.values()}) == 1:
                found = find_cells(history, self.given[index], places, self.counter.is_down, self.is_still)
                if found is not None:
                    return found
        return None

    def _place(self, node: Node, position: int) -> LoopIndexKey | None:
        place = LoopIndexKey.of(node, position, self.number)
        return place if place is not None and nonnegative(self.counter.low + place.offset) else None

    def _outside(self, node: Node) -> RowRead | None:
        """Return the read of a sequence that replaces ``node``; None if ``node`` stays."""
        if node.op != "getitem" or node.inputs[0] in self.made:
            return None
        found = [self._place(node, position) for position in positions(node, self.number)]
        places = [place for place in found if place is not None]
        diagonal = DiagonalKey.of(places, node.params["key"], node.inputs[0].ndim)
        if diagonal is not None and self.is_still(diagonal.rest):
            return RowRead((node.inputs[0], diagonal))
        return next(
            (
                row_read(node.inputs[0], place, self.is_still)
                for place in places
                if self._is_near(node.inputs[0], place)
            ),
            None,
        )

    def _is_near(self, array: Value, place: LoopIndexKey) -> bool:
        is_element = all(map(is_single, place.rest)) and self.is_still(place.rest)
        return (
            place.axis == 0 or is_element or (place.is_row and is_axis_first(self.maker(array), place.axis))
        )

    # ------------------------------------------------------------------------------ rewriting
    def written(self, build: Builder) -> tuple[Value, ...]:
        wanted = dict.fromkeys(
            read.source for read in self.reads.values() if not isinstance(read.source, int)
        )
        wanted.update(
            dict.fromkeys(
                beside for index, cells in self.cells.items() for beside in self._rest_of_rows(index, cells)
            )
        )
        sequences = {
            read: read[1].stacked(build, read[0], self._first(read[1]), self.length) for read in wanted
        }
        rows = {
            read: Value(read[0].name, ArraySpec(made.shape[1:], made.dtype))
            for read, made in sequences.items()
        }
        before = {
            index: [self._before(build, index, steps + 1) for steps in range(cells.depth)]
            for index, cells in self.cells.items()
        }
        held = {
            index: [Value(self.state[index].name, item.spec) for item in items]
            for index, items in before.items()
        }
        nodes, outputs = _RowLoopBody(self, rows, held).written()
        kept = [index for index in range(self.carried) if index not in self.cells]
        numbers = self._numbers(nodes, outputs, build)
        inputs = [*(self.state[index] for index in kept), *_flatten(held), *numbers, *rows.values()]
        operands = [
            *(self.given[index] for index in kept),
            *_flatten(before),
            *numbers.values(),
            *sequences.values(),
        ]
        params = {
            "carried": len(kept) + len(_flatten(held)),
            "sequences": len(numbers) + len(rows),
            "reverse": self.counter.is_down,
        }
        body = Body(self.node.regions[0].name, inputs, nodes, outputs)
        results = build.run("scan", operands, [body], **{**self.node.params, **params})
        finals = self._finals(build, dict(zip(kept, results)), results[params["carried"] :])
        held_on = iter(results[len(kept) : params["carried"]])
        for index, items in before.items():
            cells = [next(held_on) for _ in items]
            if cells:
                self.lasts[finals[index]] = LastCell(
                    self.cells[index].target, self.given[index], cells[0], self._last(index)
                )
        return finals

    def _last(self, index: int) -> Any:
        first = self._first(self.cells[index].target)
        return first if self.counter.is_down else first + self.length - 1

    def _rest_of_rows(self, index: int, cells: CarriedCells) -> Iterator[_Sequence]:
        for read in cells.reads.values():
            if read.sides is not None:
                yield from ((self.given[index], place) for place in read.sides.places)

    def _first(self, place: LoopIndexKey | DiagonalKey) -> Any:
        return self.counter.low + place.offset

    def _before(self, build: Builder, index: int, steps: int) -> Value:
        """Return the cell ``steps`` iterations before the first iteration's, or zeros if it is missing."""
        target, array = self.cells[index].target, self.given[index]
        first = self._first(target)
        place = first + self.length - 1 + steps if self.counter.is_down else first - steps
        # If the loop has an iteration, the row before the first one exists.
        if nonnegative(self.length - 1):
            found: Value = build.getitem(array, key=target.key(place))
            return found
        cells = target.stacked(build, array, place, 1)
        zeros = build.zeros(shape=(1, *cells.shape[1:]), dtype=array.dtype)
        cell: Value = build.getitem(build.concat(cells, zeros, axis=0), key=(0,))
        return cell

    def _numbers(self, nodes: Sequence[Node], outputs: Sequence[Any], build: Builder) -> dict[Value, Value]:
        read = {value for node in nodes for value in node.uses}.union(values_in(outputs))
        given = self.node.inputs[self.carried :]
        return {
            row: self.counter.turned(build, value, self.length)
            for row, value in zip(self.rows, given)
            if row in read
        }

    def _finals(
        self, build: Builder, kept: Mapping[int, Value], outputs: Sequence[Value]
    ) -> tuple[Value, ...]:
        others = outputs[: len(outputs) - len(self.cells)]
        found = dict(kept)
        for (index, cells), made in zip(self.cells.items(), outputs[len(others) :]):
            made.name = self.node.outputs[index].name
            found[index] = cells.target.put(
                build, self.given[index], made, self._first(cells.target), self.length
            )
        results = (*(found[index] for index in range(self.carried)), *others)
        for made, old in zip(results, self.node.outputs):
            made.name = old.name
        return results


def _flatten(items: Mapping[int, Sequence[Value]]) -> list[Value]:
    return [item for several in items.values() for item in several]


class _RowLoopBody:
    """Builder of the body of the rewritten loop.

    rows: row of each sequence in an iteration.
    held: cells of each array in the carry, the newest first.
    of: index in the carry of the array that a node reads or writes.
    versions: the cell that a write writes, by the result of the write.
    """

    def __init__(
        self, loop: _RowLoop, rows: Mapping[_Sequence, Value], held: Mapping[int, Sequence[Value]]
    ) -> None:
        self.loop, self.rows, self.held = loop, rows, held
        self.inner = Rewriter(Block((), tuple(loop.nodes), tuple(loop.outputs)))
        self.of = {
            node: index
            for index, cells in loop.cells.items()
            for node in (*cells.history.writes, *cells.history.reads)
        }
        self.versions: dict[Value, Value] = {}

    def written(self) -> tuple[Sequence[Node], Sequence[Any]]:
        for node in self.loop.nodes:
            if node in self.loop.reads:
                self.inner.replace(node.outputs, (self._read(Builder.into(self.inner, node.origin), node),))
            elif node in self.of:
                value = self.inner.mapped(node.inputs[1])
                spec = _spec(self.loop.cells[self.of[node]])
                self.versions[node.outputs[0]] = broadcast_value(
                    Builder.into(self.inner, node.origin), value, spec
                )
            else:
                self.inner.append(self.inner.rewritten(node))
        outputs = list(
            map(
                self.inner.mapped,
                (item for index, item in enumerate(self.loop.outputs) if index not in self.loop.cells),
            )
        )
        made = {index: self.versions[self.loop.outputs[index]] for index in self.loop.cells}
        held = {index: [made[index], *items][: len(items)] for index, items in self.held.items()}
        kept = self.loop.carried - len(made)
        return self.inner.nodes, [*outputs[:kept], *_flatten(held), *outputs[kept:], *made.values()]

    def _read(self, build: Builder, node: Node) -> Value:
        read = self.loop.reads[node]
        rest = self.inner.mapped(read.rest)
        if not isinstance(read.source, int):
            source = self.rows[read.source]
        elif read.source:
            source = self.held[self.of[node]][read.source - 1]
        else:
            source = self.versions[node.inputs[0]]
        if read.sides is not None:
            given = self.loop.given[self.of[node]]
            source = read.sides.row(build, source, lambda place: self.rows[given, place])
        found: Value = build.getitem(source, key=rest) if any(item != FULL_SLICE for item in rest) else source
        return found


def _spec(cells: CarriedCells) -> ArraySpec:
    array = cells.history.array
    return ArraySpec(keyed_shape(array.shape, cells.target.key(0)), array.dtype)
