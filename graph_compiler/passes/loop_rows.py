"""Rows that the steps of a loop read and write one after the other are its sequences and its outputs.

``x[i]`` in step ``i`` takes a row of an array that each step captures, and ``y[i] = ...`` writes a row of an array that is carried. As
sequences and outputs of a ``scan``, no step looks them up, none hands the array on, and a gradient does not add up an array in each step.
For targets whose loops count in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ir.block import Block
from ..ir.builder import Builder
from ..ir.closing import Body, close
from ..ir.graph import Graph
from ..ir.inlining import inline
from ..ir.node import Node, Value, values_in
from ..ir.rewrite import Rewriter
from ..ops.bounds import nonnegative
from ..ops.registry import ArraySpec
from ..sizes import Size
from .driver import Pass

_WHOLE = (None, None, 1)
_Read = tuple[Value, Any]
"""An array, and the first row of it that a loop reads."""


def loop_rows(graph: Graph) -> tuple[Graph, bool]:
    """The graph with such rows as sequences and outputs of its loops."""
    return Pass("loop_rows", _with_rows, "deep", ("scan",))(graph)


def _with_rows(block: Block) -> Block:
    rewriter = Rewriter(block)
    scratch = Graph("scratch", "canonical")
    scratch.nodes = rewriter.nodes
    for node in map(rewriter.rewritten, block.nodes):
        loop = _Loop.of(node, rewriter) if node.op == "scan" and not node.params["reverse"] else None
        if loop is None or not loop.finds():
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, loop.written(Builder(scratch, node.origin, rewriter.maker)))
    return rewriter.finish()


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


class _Loop:
    """A loop whose body is open: its nodes read values of the outside."""

    def __init__(self, node: Node, counter: _Counter) -> None:
        self.node, self.counter = node, counter
        self.length, self.carried = node.params["length"], node.params["carried"]
        own = self.carried + node.params["sequences"]
        self.given = node.inputs[: self.carried]
        region, rows = node.regions[0], [ArraySpec(item.shape[1:], item.dtype) for item in node.inputs[self.carried : own]]
        specs = [*(item.spec for item in self.given), *rows]
        inputs = [Value(value.name, spec) for value, spec in zip(region.block.inputs, specs)]
        self.state, self.rows = inputs[: self.carried], inputs[self.carried :]
        nodes: list[Node] = []
        self.outputs = inline(region, [*inputs, *node.inputs[own:]], nodes.append)
        self.nodes = nodes
        self.made = {value for each in nodes for value in each.outputs} | {*inputs}
        self.writes = dict(self._writes())
        self.reads = {node.outputs[0]: read for node in nodes if (read := self._read(node)) is not None}

    @classmethod
    def of(cls, node: Node, rewriter: Rewriter) -> _Loop | None:
        """The loop that a node is, where it counts its steps one by one and indexes with their numbers."""
        counter = _counter(node, rewriter)
        if counter is None:
            return None
        number = node.regions[0].block.inputs[node.params["carried"] + counter.place]
        is_indexed = any(_key(each) is not None and _offset(_key(each), number) is not None for each in node.regions[0].block.nodes)
        return cls(node, counter) if is_indexed else None

    def finds(self) -> bool:
        """Whether there are such rows."""
        return bool(self.writes or self.reads)

    # ------------------------------------------------------------------------------ what is there
    @property
    def number(self) -> Value:
        """The number of a step."""
        return self.rows[self.counter.place]

    def _first(self, node: Node) -> Any:
        """The least place along the first axis that a node reads or writes in any step; None where it is not one after the other."""
        offset = _offset(_key(node), self.number)
        first = None if offset is None else self.counter.low + offset
        return first if first is not None and nonnegative(first) else None

    def _writes(self) -> Iterator[tuple[Node, int]]:
        """The nodes that write a row of an array that is carried, and nothing else of it is read than rows not yet written."""
        for place, (array, output) in enumerate(zip(self.state, self.outputs)):
            uses = [node for node in self.nodes if array in values_in(node.inputs)]
            write = next((node for node in uses if node.op == "setitem" and node.outputs[0] is output), None)
            if write is None or array in values_in(self.outputs):
                continue
            if self._is_row(write, array) and all(self._is_before(node, write) for node in uses):
                yield write, place

    def _is_row(self, write: Node, array: Value) -> bool:
        """Whether a node writes one whole row, which nothing reads in this step, in the type of the array."""
        target, value = write.inputs
        others = [*values_in(self.outputs), *(used for node in self.nodes for used in values_in(node.inputs))]
        is_plain = target is array and value is not array and (not isinstance(value, Value) or value.dtype == array.dtype)
        is_whole = all(item == _WHOLE for item in write.params["key"][1:])
        return is_plain and is_whole and self._first(write) is not None and others.count(write.outputs[0]) == 1

    def _is_before(self, read: Node, write: Node) -> bool:
        """Whether a node is the write, or reads a row that no step has written before."""
        if read is write:
            return True
        first = self._first(read) if read.op == "getitem" else None
        if first is None:
            return False
        ahead = first - self._first(write)
        return bool(ahead <= 0 if self.counter.is_down else ahead >= 0)

    def _read(self, node: Node) -> _Read | None:
        """The array of the outside of which a node reads a row, and the first one."""
        if node.op != "getitem" or self._first(node) is None:
            return None
        written = {self.state[place]: self.given[place] for place in self.writes.values()}
        array = written.get(node.inputs[0], node.inputs[0])
        return None if array in self.made else (array, self._first(node))

    # ------------------------------------------------------------------------------ what is made
    def written(self, build: Builder) -> tuple[Value, ...]:
        """The results of the loop with sequences and outputs, whose nodes ``build`` makes."""
        sequences = {read: build.getitem(read[0], key=(self._span(*read),)) for read in dict.fromkeys(self.reads.values())}
        rows = {read: Value(read[0].name, ArraySpec(read[0].shape[1:], read[0].dtype)) for read in sequences}
        nodes, outputs = self._body(rows)
        kept = [place for place in range(self.carried) if place not in self.writes.values()]
        numbers = self._numbers(nodes, build)
        regions, captured = close(
            Body(self.node.regions[0].name, [*(self.state[place] for place in kept), *numbers, *rows.values()], nodes, outputs)
        )
        operands = (*(self.given[place] for place in kept), *numbers.values(), *sequences.values(), *captured)
        params = {"carried": len(kept), "sequences": len(numbers) + len(rows), "reverse": self.counter.is_down}
        results = tuple(self._results(kept))
        build.graph.nodes.append(Node("scan", operands, {**self.node.params, **params}, self.node.origin, results, None, regions))
        return self._finals(build, dict(zip(kept, results)), results[len(kept) :])

    def _span(self, array: Value, first: Any) -> tuple[Any, Any, int]:
        """All rows of the steps: the whole axis where that is certain."""
        is_all = first == 0 and self.length == array.shape[0]
        return _WHOLE if is_all else (first, first + self.length, 1)

    def _body(self, rows: Mapping[_Read, Value]) -> tuple[Sequence[Node], Sequence[Any]]:
        """The nodes of a step that gets rows and gives rows, and its outputs."""
        inner = Rewriter(Block((), tuple(self.nodes), tuple(self.outputs)))
        scratch = Graph("scratch", "canonical")
        scratch.nodes = inner.nodes
        stacked = {}
        for node in self.nodes:
            read = self.reads.get(node.outputs[0])
            if node in self.writes:
                stacked[node] = _row(Builder(scratch, node.origin, inner.maker), node, inner.mapped(node.inputs[1]))
            elif read is None:
                inner.append(inner.rewritten(node))
            elif all(item == _WHOLE for item in node.params["key"][1:]):
                inner.replace(node.outputs, (rows[read],))
            else:
                inner.append(inner.rewritten(replace(node, inputs=(rows[read],), params={"key": node.params["key"][1:]})))
        outputs = [inner.mapped(item) for place, item in enumerate(self.outputs) if place not in self.writes.values()]
        return inner.nodes, [*outputs, *(stacked[write] for write in self.writes)]

    def _numbers(self, nodes: Sequence[Node], build: Builder) -> dict[Value, Value]:
        """The sequences that the loop had, as far as its steps still read them."""
        read = {value for node in nodes for value in node.uses}.union(values_in(self.outputs))
        given = self.node.inputs[self.carried :]
        return {row: self.counter.turned(build, value, self.length) for row, value in zip(self.rows, given) if row in read}

    def _results(self, kept: Sequence[int]) -> Iterator[Value]:
        outputs = self.node.outputs
        yield from (Value(value.name, value.spec) for value in (*(outputs[place] for place in kept), *outputs[self.carried :]))
        for place in self.writes.values():
            array = outputs[place]
            yield Value(array.name, ArraySpec((self.length, *array.shape[1:]), array.dtype))

    def _finals(self, build: Builder, kept: Mapping[int, Value], outputs: Sequence[Value]) -> tuple[Value, ...]:
        """The results of the loop as it was: rows are written to the arrays that they belong to."""
        others = outputs[: len(outputs) - len(self.writes)]
        found = dict(kept)
        for (write, place), rows in zip(self.writes.items(), outputs[len(others) :]):
            span = self._span(self.given[place], self._first(write))
            found[place] = rows if span == _WHOLE else build.setitem(self.given[place], rows, key=(span,))
            found[place].name = self.node.outputs[place].name
        return (*(found[place] for place in range(self.carried)), *others)


def _row(build: Builder, write: Node, value: Any) -> Value:
    """What a node writes, as a row of the array."""
    array = write.inputs[0]
    if isinstance(value, Value):
        row: Value = build.broadcast_to(value, shape=array.shape[1:])
        return row
    full: Value = build.full(shape=array.shape[1:], fill_value=value, dtype=array.dtype)
    return full


def _key(node: Node) -> Any:
    return node.params["key"] if node.op in ("getitem", "setitem") else None


def _offset(key: Any, number: Value) -> int | None:
    """How far behind the number of a step a key picks a row; None where it does not pick one by that number alone."""
    item: Any = key[0] if key else None
    read = [symbol for symbol in item.symbols() if symbol.source is number] if isinstance(item, Size) else []
    offset = item - Size.of(read[0]) if len(read) == 1 else None
    return offset if type(offset) is int else None


__all__ = ["loop_rows"]
