"""Conversion of the recorded iterations of loops to loop nodes. :func:`fold_loops` is the pass.

:func:`rest_of_loop` makes a program of the iterations that remain while a loop is still running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from ...errors import Signal
from ...ir.graph import Aliases, Graph, Guard
from ...ir.node import CallRecord, Node, Value
from ...ir.recorded_loop import LoopComparison, LoopIndices, RecordedLoop, always_holds, with_index
from ...sizes import Size, apply, hint_of, substitute
from ...trees import Tree, flatten, map_structure
from ..repeats.find import GraphSignatures, SignatureCache
from .recorded_iterations import (
    IterationsDiffer,
    RecordedIteration,
    TooShort,
    ValueIndex,
    folded_loop,
    outer_loops,
)


def answers(places: ValueIndex, loop: RecordedLoop, peeled: int) -> list[Guard]:
    guards = []
    for comparison in loop.comparisons:
        is_apart = comparison.place < peeled
        condition = in_its_step(loop, comparison) if is_apart else comparison.condition
        if not always_holds(condition, numbers_in(places, comparison, {loop: peeled})):
            if not is_apart or not places.sources.issuperset(symbol.source for symbol in condition.symbols()):
                raise IterationsDiffer
            guards.append(Guard(condition, True, comparison.origin))
    return guards


def in_its_step(loop: RecordedLoop, comparison: LoopComparison) -> Size:
    number = loop.marks[comparison.place].index
    found: Size = (
        comparison.condition
        if number is None
        else with_index(comparison.condition, number, loop.start + comparison.place * loop.step)
    )
    return found


def numbers_in(
    places: ValueIndex, comparison: LoopComparison, left_out: dict[RecordedLoop, int]
) -> LoopIndices:
    read = {symbol.source for symbol in comparison.condition.symbols()} & places.of_index.keys()
    loops = {places.of_index[number] for number in read}
    loops.update(outer for loop in list(loops) for outer in outer_loops(loop))
    found = [(index, loop) for index, loop in places.of_index.items() if loop in loops]
    found.sort(key=lambda item: len(list(outer_loops(item[1]))))
    return {index: (loop, left_out.get(loop, 0)) for index, loop in found}


class StepsMissing(Signal):
    """Signal that a loop has to be unrolled, but that not all of its iterations were recorded."""


def fold_loops(graph: Graph, counts: bool = True, unroll: bool = False) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with loop nodes instead of the recorded iterations of loops, if possible.

    Other loops stay unrolled, with guards for trip counts that may vary. Raise ``StepsMissing`` if an
    iteration of such a loop was not recorded.

    counts: True if loop indices of the target are Python integers.
    unroll: True to unroll all loops.
    """
    return (_LoopFolder(graph, counts, unroll).graph(), True) if graph.loops else (graph, False)


def folded_so_far(graph: Graph, loop: RecordedLoop) -> Sequence[Node] | None:
    folding = _LoopFolder(graph, True, False, loop)
    folding.places.used.update(
        (held.item, inf) for held in loop.marks[-1].state.values() if isinstance(held.item, Value)
    )
    try:
        return folding.so_far(loop)
    except StepsMissing:
        # Raised from here, it would pass through the user's code, whose handlers could catch it. It is raised
        # again when the function has returned and its loops are folded.
        return None


class _LoopFolder:
    """Conversion of the recorded loops of one graph to loop nodes, inner loops first.

    ``running`` is a loop that has not ended yet; None if all have ended.

    unrolled: loops that stay unrolled with the recorded trip count.
    short: inner loops with too few recorded iterations, whose trip count depends on an outer loop.
    folded: loops that were converted.
    instead: nodes that replace the iterations of each whole loop.
    guards: guards that the converted and the unrolled loops need.
    numbers: numbers that replace the loop indices of iterations outside of loop nodes.
    inside: whole loops, by the nearest enclosing loop that is whole or ``running`` and the index of its
        iteration; by None if there is none.
    """

    def __init__(self, graph: Graph, counts: bool, unroll: bool, running: RecordedLoop | None = None) -> None:
        self.recorded = graph
        aliases = Aliases(graph)
        self.places = ValueIndex(
            graph, GraphSignatures(aliases, written=aliases.written, keys=SignatureCache(sizes=False)), counts
        )
        self.unrolled: set[RecordedLoop] = (
            set(graph.loops) if unroll else {loop for loop in graph.loops if not loop.is_whole}
        )
        # Inner loops with too few recorded iterations, whose trip count depends on an outer loop.
        self.short: set[RecordedLoop] = set()
        self.folded: set[RecordedLoop] = set()
        self.instead: dict[RecordedLoop, Sequence[Node]] = {}
        self.guards: list[Guard] = []
        # Indices of unrolled iterations.
        self.numbers: dict[Any, Any] = {}
        self.inside: dict[Any, list[RecordedLoop]] = {}
        for loop in graph.loops:
            if loop.is_whole:
                self.inside.setdefault(_around(loop, running), []).append(loop)

    def graph(self) -> Graph:
        self._fold()
        while left := {loop for loop in self.instead if self._is_left(loop)}:
            self.unrolled |= left
            self._fold()
        return self._made()

    def so_far(self, loop: RecordedLoop) -> Sequence[Node] | None:
        inside = [inner for inner in reversed(self.recorded.loops) if loop in outer_loops(inner)]
        if not all(inner.is_whole for inner in inside):
            return None
        self.unrolled.discard(loop)
        for inner in inside:
            self.instead[inner] = self._folded(inner)
        nodes = self._folded(loop)
        return None if not self.unrolled.isdisjoint((*inside, loop)) or loop in self.short else nodes

    def _is_left(self, loop: RecordedLoop) -> bool:
        return loop in self.folded if loop in self.unrolled else self._reads_number(loop)

    def _reads_number(self, loop: RecordedLoop) -> bool:
        return any(
            self.places.of_index.get(item) in self.unrolled
            for node in self.instead[loop]
            for item in node.inputs
            if isinstance(item, Value)
        )

    def _fold(self) -> None:
        self.guards, self.numbers, self.short, self.folded = [], {}, set(), set()
        for loop in reversed(self.recorded.loops):
            if loop in self.unrolled:
                self._count(loop)
            if loop.is_whole:
                self.instead[loop] = self._folded(loop)

    def _made(self) -> Graph:
        nodes = self._between(None, 0, len(self.recorded.nodes))
        known = {guard.condition for guard in self.recorded.guards if isinstance(guard.condition, Size)}
        guards = [guard for guard in self.guards if guard.condition not in known]
        made = self.recorded.derive(
            nodes=nodes, guards=[*self.recorded.guards, *dict.fromkeys(guards)], loops=[]
        )
        return self._with_numbers(made)

    def _folded(self, loop: RecordedLoop) -> Sequence[Node]:
        steps = [self._step(loop, place) for place in range(len(loop.marks) - 1)]
        for peeled in (0, 1):
            if loop not in self.unrolled:
                try:
                    told = answers(self.places, loop, peeled)
                    nodes, guards = folded_loop(self.places, loop, steps, peeled)
                except TooShort:
                    if self._may_be_short(loop):
                        self.short.add(loop)
                        break
                    continue
                except IterationsDiffer:
                    continue
                self.guards += [*told, *guards]
                self.folded.add(loop)
                for place, mark in enumerate(loop.marks[:peeled] if not loop.is_while else ()):
                    self.numbers[mark.index] = loop.start + place * loop.step
                return nodes
        if loop not in self.short:
            self._count_all(loop)
        return [node for step in steps for node in step.nodes]

    def _may_be_short(self, loop: RecordedLoop) -> bool:
        sources = {symbol.source for bound in loop.bounds() for symbol in bound.symbols()}
        folding = set(outer_loops(loop)) - self.unrolled
        return any(self.places.of_index.get(source) in folding for source in sources)

    def _step(self, loop: RecordedLoop, place: int) -> RecordedIteration:
        first, end = loop.marks[place].position, loop.marks[place + 1].position
        inside = self.inside.get((loop, place), ())
        ends = [
            first,
            *(
                position
                for inner in inside
                for position in (inner.marks[0].position, inner.marks[-1].position)
            ),
            end,
        ]
        own = [node for one, two in zip(ends[::2], ends[1::2]) for node in self.recorded.nodes[one:two]]
        return RecordedIteration(self._between((loop, place), first, end), own, self.short.isdisjoint(inside))

    def _between(self, around: Any, first: int, end: int) -> list[Node]:
        nodes: list[Node] = []
        for loop in self.inside.get(around, ()):
            nodes += self.recorded.nodes[first : loop.marks[0].position]
            nodes += self.instead[loop]
            first = loop.marks[-1].position
        return [*nodes, *self.recorded.nodes[first:end]]

    # ------------------------------------------------------------------------------ unrolled loops
    def _count_all(self, loop: RecordedLoop) -> None:
        for inner in [each for each in self.short if loop in outer_loops(each)]:
            self.short.discard(inner)
            self._count(inner)
        self._count(loop)

    def _count(self, loop: RecordedLoop) -> None:
        if loop.skipped:
            raise StepsMissing
        self.unrolled.add(loop)
        for bound in loop.bounds():
            for symbol in bound.symbols():
                self.unrolled.update(
                    outer for outer in outer_loops(loop) if self._is_of_step(symbol.source, outer)
                )
            condition = apply("eq", bound, hint_of(bound))
            assert isinstance(condition, Size)
            self.guards.append(Guard(condition, True, loop.origin))
        for comparison in loop.comparisons:
            if not always_holds(in_its_step(loop, comparison), numbers_in(self.places, comparison, {})):
                read = {self.places.of_index.get(symbol.source) for symbol in comparison.condition.symbols()}
                self.unrolled.update(outer for outer in outer_loops(loop) if outer in read)
                self.guards.append(Guard(comparison.condition, True, comparison.origin))
        for value, answer in loop.conditions:
            self.unrolled.update(outer for outer in outer_loops(loop) if self._is_of_step(value, outer))
            self.guards.append(Guard(value, answer, loop.origin))

    def _is_of_step(self, value: Value, loop: RecordedLoop) -> bool:
        return self.places.of_index.get(value) is loop or not self.places.is_before(value, loop.marks[0])

    def _with_numbers(self, graph: Graph) -> Graph:
        numbers = self.numbers
        numbers.update(
            (mark.index, number)
            for loop in self.unrolled
            for mark, number in zip(loop.marks, loop.numbers())
            if mark.index is not None
        )
        if not numbers:
            return graph

        def plain(item: Any) -> Any:
            if not isinstance(item, Size) or not any(symbol.source in numbers for symbol in item.symbols()):
                return item
            return substitute(item, lambda symbol: numbers.get(symbol.source, Size.of(symbol)))

        conditions = [(guard, plain(guard.condition)) for guard in graph.guards]
        guards = [
            replace(guard, condition=condition)
            for guard, condition in conditions
            if isinstance(condition, (Size, Value))
        ]
        nodes = [
            _mapped(node, plain) if not numbers.keys().isdisjoint(node.uses) else node for node in graph.nodes
        ]
        return graph.derive(nodes=nodes, guards=guards, outputs=[plain(item) for item in graph.outputs])


def _mapped(node: Node, plain: Any) -> Node:
    def whole(structure: Any) -> Any:
        return map_structure(plain, structure)

    regions = tuple(
        replace(region, sizes={symbol: plain(size) for symbol, size in region.sizes.items()})
        for region in node.regions
    )
    record = None if node.record is None else node.record.mapped(whole)
    return replace(node, inputs=whole(node.inputs), params=whole(node.params), record=record, regions=regions)


def _around(loop: RecordedLoop, running: RecordedLoop | None) -> Any:
    outer = loop.outer
    while outer is not None and not (outer[0].is_whole or outer[0] is running):
        outer = outer[0].outer
    return outer


class RemainingIterations(NamedTuple):
    """Program that runs the remaining iterations of a loop.

    given: recorded values whose contents are its inputs, in order.
    written: number of leading inputs that it writes to.
    made: recorded values whose new contents it returns after the written arrays.
    numbers: recorded Python numbers, by their values in the graph, from which sizes in the loop are computed.
    """

    program: Graph
    given: tuple[Value, ...]
    written: int
    made: tuple[Value, ...]
    numbers: Mapping[Value, Any]


def rest_of_loop(graph: Graph, loop: RecordedLoop, done: int) -> RemainingIterations | None:
    """Return a program for the iterations of a running ``for`` loop after the first ``done``, or None."""
    # A body that computes nothing leaves no node.
    if not (nodes := folded_so_far(graph, loop)) or nodes[-1].op != "scan":
        return None
    scan, inside = nodes[-1], set(graph.nodes[loop.marks[0].position :])
    made = {value for node in inside for value in node.outputs}
    written, carried = len(scan.writes), scan.params["carried"]
    if not made.issuperset(scan.outputs[written:]):
        return None
    given = (*scan.writes, *scan.outputs[written:], *scan.inputs[carried + scan.params["sequences"] :])
    program = Graph("steps", graph.dialect)
    program.inputs += [Value(value.name, value.spec) for value in given]
    left = loop.numbers()[done:]
    counters = [
        _counter(node, left) for node in nodes[:-1] if node.outputs == scan.inputs[carried : carried + 1]
    ]
    program.nodes += [*counters, _loop(scan, program.inputs, counters, len(left))]
    program.outputs += program.nodes[-1].outputs
    program.input_tree, program.output_tree = map(_tree, (program.inputs, program.outputs))
    return RemainingIterations(program, given, written, scan.outputs[written:], _numbers(scan))


def _tree(values: Sequence[Any]) -> Tree:
    return flatten(tuple(values), lambda item: isinstance(item, Value))[1]


def _counter(node: Node, left: range) -> Node:
    value = Value(node.outputs[0].name, node.outputs[0].spec)
    return Node(
        node.op,
        (left.start, left.stop, left.step),
        {},
        node.origin,
        (value,),
        CallRecord("arange", result=value),
    )


def _loop(scan: Node, given: list[Value], counters: list[Node], left: int) -> Node:
    carried = scan.params["carried"]
    outputs = tuple(Value(value.name, value.spec) for value in scan.outputs)
    regions = tuple(
        replace(region, sizes={symbol: hint_of(size) for symbol, size in region.sizes.items()})
        for region in scan.regions
    )
    inputs = (*given[:carried], *(node.outputs[0] for node in counters), *given[carried:])
    record = CallRecord(scan.op, result=outputs, writes=tuple(given[: len(scan.writes)]))
    return Node(scan.op, inputs, {**scan.params, "length": left}, scan.origin, outputs, record, regions)


def _numbers(scan: Node) -> dict[Value, Any]:
    sizes = (size for region in scan.regions for size in region.sizes.values() if isinstance(size, Size))
    return {
        symbol.source: symbol.hint for size in sizes for symbol in size.symbols() if symbol.kind == "item"
    }
