"""Rows that the steps of a loop read and write one after the other are its sequences and its outputs.

``x[i]`` in step ``i`` takes a row of an array that each step captures, and ``y[i] = ...`` writes a row of an array that is carried. As
sequences and outputs of a ``scan``, no step looks them up, none hands the array on, and a gradient does not add up an array in each step.
What the step before has written (``y[i - 1]``) is carried alone. For targets whose loops count in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.block import Block
from ..ir.builder import Builder
from ..ir.closing import Body
from ..ir.node import Node, Value, values_in
from ..ir.rewrite import Rewriter
from ..ops.array_api.indexing import keyed_shape
from ..ops.bounds import nonnegative
from ..ops.registry import ArraySpec
from .driver import Pass
from .forward_writes import forwarded
from .loop_cells import Cells, LastCell, Read, cells_of, row
from .loop_places import Diagonal, Place, is_single, is_turned, positions
from .open_loops import WHOLE, OpenLoop
from .still_places import filled

_Sequence = tuple[Value, "Place | Diagonal"]
"""An array, and the places of it that a loop reads."""


def _with_rows(block: Block) -> Block:
    rewriter = Rewriter(block)
    lasts: dict[Value, LastCell] = {}
    for node in map(rewriter.rewritten, block.nodes):
        loop = _Loop.of(node, rewriter) if node.op == "scan" and not node.params["reverse"] else None
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
    return forwarded(rewriter.finish())


loop_rows = Pass("loop_rows", _with_rows, "deep", ("scan",))
"""The graph with such rows as sequences and outputs of its loops."""


@dataclass
class _Counter:
    """The numbers of the steps, ``low`` and up, or down to it: where they stand among the sequences."""

    place: int
    low: Any
    is_down: bool

    def turned(self, build: Builder, numbers: Value, length: Any) -> Value:
        """The numbers of a sequence from the last step to the first, where the loop is turned."""
        if not self.is_down:
            return numbers
        low = _made_by(build.maker, numbers).params["stop"] + 1
        upward: Value = build.arange(start=low, stop=low + length, dtype=numbers.dtype)
        return upward


def _counter(node: Node, rewriter: Rewriter) -> _Counter | None:
    """What counts the steps of a loop. Of one that counts down, the order is turned, so that nothing but such numbers may go in."""
    carried, count = node.params["carried"], node.params["sequences"]
    made = [rewriter.maker(value) for value in node.inputs[carried : carried + count]]
    steps = [each.params["step"] if each is not None and each.op == "arange" else None for each in made]
    is_down = -1 in steps and all(step == -1 for step in steps) and len(node.outputs) == carried
    wanted = -1 if is_down else 1
    if wanted not in steps:
        return None
    place = steps.index(wanted)
    numbers = _made_by(rewriter.maker, node.inputs[carried + place])
    return _Counter(place, numbers.params["stop"] + 1 if is_down else numbers.params["start"], is_down)


def _made_by(maker: Callable[[Value], Node | None], value: Value) -> Node:
    node = maker(value)
    assert node is not None
    return node


class _Loop(OpenLoop):
    def __init__(self, node: Node, counter: _Counter, maker: Callable[[Value], Node | None]) -> None:
        super().__init__(node)
        self.counter, self.maker = counter, maker
        self.cells = {place: found for place in range(self.carried) if (found := self._cells(place)) is not None}
        self.reads = {node: read for cells in self.cells.values() for node, read in cells.reads.items()}
        self.lasts: dict[Value, LastCell] = {}
        """What is carried of the results, once the loop is written."""
        self.reads.update({node: read for node in self.nodes if node not in self.reads and (read := self._outside(node)) is not None})
        whole = {read.source for read in self.reads.values()}
        self.reads = {node: read.of_row(node.outputs[0].ndim, whole) for node, read in self.reads.items()}

    @classmethod
    def of(cls, node: Node, rewriter: Rewriter) -> _Loop | None:
        """The loop that a node is, where it counts its steps one by one and indexes with their numbers."""
        counter = _counter(node, rewriter)
        if counter is None:
            return None
        number = node.regions[0].block.inputs[node.params["carried"] + counter.place]
        return cls(node, counter, rewriter.maker) if any([*positions(each, number)] for each in node.regions[0].block.nodes) else None

    def finds(self) -> bool:
        """Whether there are such rows."""
        return bool(self.cells or self.reads)

    # ------------------------------------------------------------------------------ what is there
    @property
    def number(self) -> Value:
        """The number of a step."""
        return self.rows[self.counter.place]

    def _cells(self, index: int) -> Cells | None:
        """What the steps write of a carried array, where they leave it in the loop."""
        history = self.history(index)
        if history is None:
            return None
        nodes = (*history.writes, *history.reads)
        for position in positions(history.writes[0], self.number):
            places = {node: place for node in nodes if (place := self._place(node, position)) is not None}
            if len(places) == len(nodes) and len({place.axis for place in places.values()}) == 1:
                found = cells_of(history, self.given[index], places, self.counter.is_down, self.is_still)
                if found is not None:
                    return found
        return None

    def _place(self, node: Node, position: int) -> Place | None:
        """The place that a node names; None where it is not certain that the first one is counted from the front."""
        place = Place.of(node, position, self.number)
        return place if place is not None and nonnegative(self.counter.low + place.offset) else None

    def _outside(self, node: Node) -> Read | None:
        """Where a step finds a row of an array of the outside."""
        if node.op != "getitem" or node.inputs[0] in self.made:
            return None
        found = [self._place(node, position) for position in positions(node, self.number)]
        places = [place for place in found if place is not None]
        diagonal = Diagonal.of(places, node.params["key"], node.inputs[0].ndim)
        if diagonal is not None and self.is_still(diagonal.rest):
            return Read((node.inputs[0], diagonal))
        return next((row(node.inputs[0], place, self.is_still) for place in places if self._is_near(node.inputs[0], place)), None)

    def _is_near(self, array: Value, place: Place) -> bool:
        """Whether the places lie side by side, or no array has to be turned to put them so."""
        is_element = all(map(is_single, place.rest)) and self.is_still(place.rest)
        return place.axis == 0 or is_element or (place.is_row and is_turned(self.maker(array), place.axis))

    # ------------------------------------------------------------------------------ what is made
    def written(self, build: Builder) -> tuple[Value, ...]:
        """The results of the loop with sequences and outputs, whose nodes ``build`` makes."""
        wanted = dict.fromkeys(read.source for read in self.reads.values() if not isinstance(read.source, int))
        wanted.update(dict.fromkeys(beside for index, cells in self.cells.items() for beside in self._beside(index, cells)))
        sequences = {read: read[1].stacked(build, read[0], self._first(read[1]), self.length) for read in wanted}
        rows = {read: Value(read[0].name, ArraySpec(made.shape[1:], made.dtype)) for read, made in sequences.items()}
        before = {index: [self._before(build, index, steps + 1) for steps in range(cells.depth)] for index, cells in self.cells.items()}
        held = {index: [Value(self.state[index].name, item.spec) for item in items] for index, items in before.items()}
        nodes, outputs = _Step(self, rows, held).written()
        kept = [index for index in range(self.carried) if index not in self.cells]
        numbers = self._numbers(nodes, outputs, build)
        inputs = [*(self.state[index] for index in kept), *_flat(held), *numbers, *rows.values()]
        operands = [*(self.given[index] for index in kept), *_flat(before), *numbers.values(), *sequences.values()]
        params = {"carried": len(kept) + len(_flat(held)), "sequences": len(numbers) + len(rows), "reverse": self.counter.is_down}
        body = Body(self.node.regions[0].name, inputs, nodes, outputs)
        results = build.run("scan", operands, [body], **{**self.node.params, **params})
        finals = self._finals(build, dict(zip(kept, results)), results[params["carried"] :])
        held_on = iter(results[len(kept) : params["carried"]])
        for index, items in before.items():
            cells = [next(held_on) for _ in items]
            if cells:
                self.lasts[finals[index]] = LastCell(self.cells[index].target, self.given[index], cells[0], self._last(index))
        return finals

    def _last(self, index: int) -> Any:
        """The place of the last cell; where no step is taken, of the one before the first."""
        first = self._first(self.cells[index].target)
        return first if self.counter.is_down else first + self.length - 1

    def _beside(self, index: int, cells: Cells) -> Iterator[_Sequence]:
        """What is read beside the cells of a carried array."""
        for read in cells.reads.values():
            if read.sides is not None:
                yield from ((self.given[index], place) for place in read.sides.places)

    def _first(self, place: Place | Diagonal) -> Any:
        return self.counter.low + place.offset

    def _before(self, build: Builder, index: int, steps: int) -> Value:
        """The cell so many steps before the first one. It may not be there where the loop has no step."""
        target, array = self.cells[index].target, self.given[index]
        first = self._first(target)
        place = first + self.length - 1 + steps if self.counter.is_down else first - steps
        if nonnegative(self.length - 1):
            found: Value = build.getitem(array, key=target.key(place))
            return found
        cells = target.stacked(build, array, place, 1)
        zeros = build.zeros(shape=(1, *cells.shape[1:]), dtype=array.dtype)
        cell: Value = build.getitem(build.concat(cells, zeros, axis=0), key=(0,))
        return cell

    def _numbers(self, nodes: Sequence[Node], outputs: Sequence[Any], build: Builder) -> dict[Value, Value]:
        """The sequences that the loop had, as far as its steps still read them."""
        read = {value for node in nodes for value in node.uses}.union(values_in(outputs))
        given = self.node.inputs[self.carried :]
        return {row: self.counter.turned(build, value, self.length) for row, value in zip(self.rows, given) if row in read}

    def _finals(self, build: Builder, kept: Mapping[int, Value], outputs: Sequence[Value]) -> tuple[Value, ...]:
        """The results of the loop as it was: cells are written to the arrays that they belong to."""
        others = outputs[: len(outputs) - len(self.cells)]
        found = dict(kept)
        for (index, cells), made in zip(self.cells.items(), outputs[len(others) :]):
            made.name = self.node.outputs[index].name
            found[index] = cells.target.put(build, self.given[index], made, self._first(cells.target), self.length)
        results = (*(found[index] for index in range(self.carried)), *others)
        for made, old in zip(results, self.node.outputs):
            made.name = old.name
        return results


def _flat(items: Mapping[int, Sequence[Value]]) -> list[Value]:
    return [item for several in items.values() for item in several]


class _Step:
    """The body of a loop, whose steps get rows and cells, and give cells."""

    def __init__(self, loop: _Loop, rows: Mapping[_Sequence, Value], held: Mapping[int, Sequence[Value]]) -> None:
        self.loop, self.rows, self.held = loop, rows, held
        self.inner = Rewriter(Block((), tuple(loop.nodes), tuple(loop.outputs)))
        self.of = {node: index for index, cells in loop.cells.items() for node in (*cells.history.writes, *cells.history.reads)}
        self.versions: dict[Value, Value] = {}

    def written(self) -> tuple[Sequence[Node], Sequence[Any]]:
        """The nodes and the outputs."""
        for node in self.loop.nodes:
            if node in self.loop.reads:
                self.inner.replace(node.outputs, (self._read(Builder.into(self.inner, node.origin), node),))
            elif node in self.of:
                value = self.inner.mapped(node.inputs[1])
                spec = _spec(self.loop.cells[self.of[node]])
                self.versions[node.outputs[0]] = filled(Builder.into(self.inner, node.origin), value, spec)
            else:
                self.inner.append(self.inner.rewritten(node))
        outputs = list(map(self.inner.mapped, (item for index, item in enumerate(self.loop.outputs) if index not in self.loop.cells)))
        made = {index: self.versions[self.loop.outputs[index]] for index in self.loop.cells}
        held = {index: [made[index], *items][: len(items)] for index, items in self.held.items()}
        kept = self.loop.carried - len(made)
        return self.inner.nodes, [*outputs[:kept], *_flat(held), *outputs[kept:], *made.values()]

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
        found: Value = build.getitem(source, key=rest) if any(item != WHOLE for item in rest) else source
        return found


def _spec(cells: Cells) -> ArraySpec:
    array = cells.history.array
    return ArraySpec(keyed_shape(array.shape, cells.target.key(0)), array.dtype)
