"""Loops that Python has run, step by step, become loops of the graph.

A block in which the same operations stand again and again is what Python leaves of a ``for``. Where each
repetition does the same to what the one before it has made, all of them are one ``scan``
(:mod:`graph_compiler.ops.control`): what goes from one to the next is carried, rows of one array that are
taken one after the other are its sequence, and what is stacked behind the loop are its outputs. Everything
else that a step reads is the same in each step. Repetitions that differ in any other way stay written out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import Signal
from ...ir.aliases import Aliases
from ...ir.builder import Body, Builder, close
from ...ir.copying import copied_among
from ...ir.graph import GUARD, Graph, Guard, check, guard_of
from ...ir.node import Block, CallRecord, Node, Value, count_all
from ...ops.registry import ArraySpec
from ...sizes import Size, Symbol, apply
from ...trees import iterate_structure
from ..driver import GraphPass, Pass
from .find import (
    Counted,
    Counters,
    Earlier,
    Keys,
    Program,
    Rows,
    Same,
    Slot,
    Steps,
    Stretch,
    periodic,
    steps_in,
)

_STACKS = frozenset({"array", "stack", "stack_p"})
_JOINS = frozenset({"concat"})
_ROWS = frozenset({"__getitem__", "getitem"})
_WHOLE = (None, None, 1)  # of a canonical key


def name_of(node: Node) -> str:
    return node.key or node.op


def takes_row(node: Node) -> bool:
    """Whether it is ``x[i]`` or ``x[i, ...]`` with a number ``i``: its leaves are ``x``, then ``i``."""
    if name_of(node) not in _ROWS or not isinstance(node.inputs[0], Value) or len(node.outputs) != 1:
        return False
    key = _key(node)
    return type(key[0] if isinstance(key, tuple) and key else key) is int


def _key(node: Node) -> Any:
    return node.inputs[1] if node.record is not None else node.params["key"]


def rows(node: Node, first: int, by: int, count: int) -> Node:
    """A node that takes ``count`` rows of the array of which ``node`` takes one: ``x[first : ... : by]``."""
    (array, *_), end = node.inputs, first + by * (count - 1) + 1
    stop = None if end == 0 else end  # behind the last row, where rows are counted from the end
    value = Value(array.name, ArraySpec((count, *array.shape[1:]), array.dtype))
    if node.record is None:
        return replace(node, params={"key": ((first, stop, by),)}, outputs=(value,))
    return _recorded(node, array, slice(first, stop, None if by == 1 else by), value)


def rest(node: Node, row: Value) -> Node | None:
    """What is left of ``node`` once the row is taken: of ``x[i, 1:]`` it is ``row[1:]``.

    None where that is the row itself.
    """
    key = _key(node)
    left = key[1:] if isinstance(key, tuple) else ()
    if all(part in (_WHOLE, Ellipsis) for part in left):
        return None
    value = Value(node.outputs[0].name, node.outputs[0].spec)
    if node.record is None:
        return replace(node, inputs=(row,), params={"key": left}, outputs=(value,))
    return _recorded(node, row, left if len(left) > 1 else left[0], value)


def _recorded(node: Node, array: Value, index: Any, value: Value) -> Node:
    assert node.record is not None
    record = replace(node.record, result=value, views={0: array} if node.views else {})
    return replace(node, inputs=(array, index), outputs=(value,), record=record)


def joined(node: Node) -> Sequence[Any] | None:
    """The arrays that a node puts side by side, or one after the other, along a first axis; None where it is
    another one.
    """
    name = name_of(node)
    if name not in (_STACKS | _JOINS if node.record is None else _STACKS) or not node.params.keys() <= {
        "axis",
        "dim",
    }:
        return None
    if any(part for part in iterate_structure((node.params, node.inputs[1:])) if not isinstance(part, Value)):
        return None
    is_list = len(node.inputs) == 1 and isinstance(node.inputs[0], (list, tuple))
    items = node.inputs[0] if is_list else node.inputs if node.record is None or name != "array" else ()
    return items if items and all(isinstance(item, Value) for item in items) else None


def parts_joined(node: Node, first: int, steps: Value) -> Sequence[Node]:
    """Canonical nodes that make of ``steps`` what ``node`` makes of the arrays that stand from the ``first``
    on: all steps stacked, between those that stand before and after.
    """
    scratch = Graph("scratch", "canonical")
    build, is_stack = Builder(scratch, node.origin), name_of(node) in _STACKS
    count, item = steps.shape[0], steps.shape[1:]
    whole = steps if is_stack else build.reshape(steps, shape=(count * item[0], *item[1:]))
    others = (node.inputs[:first], node.inputs[first + count :])
    before, after = (
        [build.getitem(each, key=(None,)) if is_stack else each for each in some] for some in others
    )
    if len(parts := [*before, whole, *after]) > 1:
        build.concat(*parts, axis=0)
    *nodes, last = scratch.nodes
    return [*nodes, replace(last, outputs=node.outputs)]


@dataclass(frozen=True)
class Gathered:
    """A slot whose values in all steps the node ``user`` takes, from its ``place``-th array on. They are the
    output ``result`` of the loop, of which ``nodes`` make what the user has made where that is more.
    """

    slot: Slot
    user: int
    place: int
    result: Value
    nodes: Sequence[Node] = ()


def fitted(steps: Steps, fewest: int) -> tuple[Steps, Sequence[Gathered]] | None:
    """The steps, or the first ones of them, so that nothing else uses what they make; None where that leaves
    too few.
    """
    while steps.count >= max(fewest, _reach(steps) + 1):
        gathered = list(_gathered(steps))
        count = _first_used(steps, {(each.slot, each.user) for each in gathered})
        if count is None:
            return steps, gathered
        steps = steps.part(0, min(count, steps.count - 1))
    return None


def _reach(steps: Steps) -> int:
    return max(
        (pattern.distance for row in steps.patterns for pattern in row if isinstance(pattern, Earlier)),
        default=0,
    )


def _outside(steps: Steps, value: Value) -> Iterator[int]:
    return (user for user in steps.program.users.get(value, ()) if not steps.first <= user < steps.end)


def _gathered(steps: Steps) -> Iterator[Gathered]:
    for slot in steps.slots():
        first = steps.value(0, slot)
        for user in dict.fromkeys(_outside(steps, first)):
            node = steps.program.block.nodes[user]  # of -1, which are the outputs of the block, the last one
            items = joined(node) if user >= 0 else None
            place = items.index(first) if items is not None and first in items else 0
            if items is None or len(items) < place + steps.count:
                continue
            others = (*items[:place], *items[place + steps.count :])
            is_apart = (
                not any(map(steps.makes, others))
                and (node.record is None or not others)
                and node.outputs[0].dtype == first.dtype
            )
            if is_apart and all(
                item is steps.value(step, slot)
                for step, item in enumerate(items[place : place + steps.count])
            ):
                yield _gathering(steps, slot, user, place, bool(others))


def _gathering(steps: Steps, slot: Slot, user: int, place: int, has_others: bool) -> Gathered:
    node, value = steps.program.block.nodes[user], steps.value(0, slot)
    if not has_others and node.outputs[0].ndim == value.ndim + 1:
        return Gathered(slot, user, place, node.outputs[0])
    result = Value(node.outputs[0].name, ArraySpec((steps.count, *value.shape), value.dtype))
    return Gathered(slot, user, place, result, parts_joined(node, place, result))


def _first_used(steps: Steps, gathered: set[tuple[Slot, int]]) -> int | None:
    """The first step something of which is used outside that the loop does not give."""
    carried: dict[Slot, int] = {}  # for how many steps
    for row in steps.patterns:
        for pattern in row:
            if isinstance(pattern, Earlier):
                carried[pattern.slot] = max(carried.get(pattern.slot, 0), pattern.distance)
    slots = list(steps.slots())
    for step in range(steps.count):
        for slot in slots:
            if steps.count - step <= carried.get(slot, 0):
                continue
            if any((slot, user) not in gathered for user in _outside(steps, steps.value(step, slot))):
                return step
    return None


@dataclass(frozen=True)
class Means:
    """What a loop can rely on: values whose sizes are ``fixed``, and a target that ``counts`` in Python's
    numbers.
    """

    fixed: set[Value]
    counts: bool


@dataclass(frozen=True)
class Loop:
    """What stands in the place of nodes of a block: of the steps, and of those that gather what these give.

    ``carried`` counts arrays.
    """

    instead: Mapping[int, Sequence[Node]]
    replaced: Sequence[int]
    carried: int


@dataclass(frozen=True)
class Carried:
    """What a slot held in earlier steps: ``before`` are the values in its place as the loop begins, the
    oldest first.
    """

    slot: Slot
    before: tuple[Value, ...]

    @property
    def later(self) -> Carried:
        return Carried(self.slot, self.before[1:])


def loop_of(steps: Steps, means: Means, fewest: int) -> Loop | None:
    found = fitted(steps, fewest)
    return _Writing(*found, means).loop() if found is not None else None


class _Clash(Signal):
    """Two things that a step reads are one value in some steps, or a number is another one in each, in a
    place where it may not be.
    """


class _Writing:
    """The writing of one loop."""

    def __init__(self, steps: Steps, gathered: Sequence[Gathered], means: Means) -> None:
        self.steps, self.gathered, self.fixed = steps, gathered, means.fixed
        self.carried: dict[Carried, Value] = {}
        self.sequences: dict[tuple[Value, int, int], tuple[Node, Value]] = {}
        self.made: dict[Slot, Value] = {}
        self.nodes: list[Node] = []
        self.last = steps.count - 1
        self.counters = Counters(steps, means.counts)

    def loop(self) -> Loop | None:
        """The node, and what it takes rows of its sequences with; None where a step reads what a loop cannot
        give it.
        """
        try:
            for place in range(self.steps.period):
                self._add(place)
        except _Clash:
            return None
        return self._loop()

    # ------------------------------------------------------------------------------ one step
    def _is_row(self, place: int) -> bool:
        """Whether a node takes one row of an array after the other."""
        patterns = self.steps.patterns[place]
        changing = [at for at, pattern in enumerate(patterns) if not isinstance(pattern, (Earlier, Same))]
        if changing != [1] or not takes_row(self.steps.node(0, place)) or not isinstance(patterns[0], Same):
            return False
        index = patterns[1]
        assert isinstance(index, Counted)
        return bool(index.by > 0) and (index.at(0) < 0) == (index.at(self.last) < 0)

    def _add(self, place: int) -> None:
        node, pairs = self.steps.node(self.last, place), self._pairs(place)
        if self._is_row(place):
            row = self._row(place)
            left = rest(node, row)
            given = [] if left is None else [left]
            self.made[Slot(place, 0)] = row
        else:
            found = self.counters.given(node, self.steps.patterns[place], place)
            if found is None:
                raise _Clash
            given = found
        for part in given:
            pairs += zip(part.outputs, self._append(place, part, pairs))

    def _pairs(self, place: int) -> list[tuple[Value, Value]]:
        """The values that a node reads, and what stands for them in the loop."""
        leaves = enumerate(zip(self.steps.leaves(self.last, place), self.steps.patterns[place]))
        return [
            (leaf, self._read(place, at, pattern) if isinstance(pattern, Earlier) else leaf)
            for at, (leaf, pattern) in leaves
            if isinstance(leaf, Value)
        ]

    def _append(self, place: int, node: Node, pairs: Sequence[tuple[Value, Value]]) -> tuple[Value, ...]:
        """Copies a node into the body; what it makes there."""
        new = copied_among(node, pairs)
        if new is None:
            raise _Clash
        self.nodes.append(new)
        self.made.update((Slot(place, output), value) for output, value in enumerate(new.outputs))
        return new.outputs

    def _read(self, place: int, at: int, pattern: Earlier) -> Value:
        """What a step reads of itself, or of earlier ones."""
        if not pattern.distance:
            return self.made[pattern.slot]
        before = tuple(self.steps.leaves(step, place)[at] for step in range(pattern.distance))
        return self._carry(Carried(pattern.slot, before))

    def _carry(self, item: Carried) -> Value:
        if item not in self.carried:
            value = self.steps.value(self.last, item.slot)
            self.carried[item] = Value(value.name, value.spec)
            if len(item.before) > 1:
                self._carry(item.later)
        return self.carried[item]

    def _row(self, place: int) -> Value:
        """The row of a sequence that a node of a step takes."""
        node, index = self.steps.node(0, place), self.steps.patterns[place][1]
        assert isinstance(index, Counted)
        array = node.inputs[0]
        key = (array, index.first, index.by)
        if key not in self.sequences:
            value = node.outputs[0]
            row = Value(value.name, ArraySpec(array.shape[1:], array.dtype))
            self.sequences[key] = (rows(node, index.first, index.by, self.steps.count), row)
        return self.sequences[key][1]

    # ------------------------------------------------------------------------------ the node
    def _loop(self) -> Loop:
        steps = self.steps
        read = {value for node in self.nodes for value in node.uses}
        sequences = [
            *self.sequences.values(),
            *(pair for pair in self.counters.made.values() if pair[1] in read),
        ]
        inputs = [*self.carried.values(), *(row for _, row in sequences)]
        following = [
            self.carried[item.later] if len(item.before) > 1 else self.made[item.slot]
            for item in self.carried
        ]
        body = Body(
            "body", inputs, self.nodes, [*following, *(self.made[each.slot] for each in self.gathered)]
        )
        (region,), captured = close(body)
        operands = (
            *(item.before[0] for item in self.carried),
            *(taken.outputs[0] for taken, _ in sequences),
            *captured,
        )
        params = {
            "carried": len(self.carried),
            "sequences": len(sequences),
            "length": steps.count,
            "reverse": False,
            "checkpoint": False,
        }
        outputs = (*self._finals(), *(each.result for each in self.gathered))
        first = steps.node(0, 0)
        record = None if first.record is None else CallRecord("scan", result=outputs)
        scan = Node("scan", operands, params, first.origin, outputs, record, (region,))
        replaced = [*range(steps.first, steps.end), *(each.user for each in self.gathered)]
        instead = {each.user: each.nodes for each in self.gathered}
        instead[steps.first] = [*self._checks(), *(taken for taken, _ in sequences), scan]
        return Loop(instead, replaced, len(self.carried))

    def _finals(self) -> Iterator[Value]:
        """What is carried out of the last step.

        It is the value that the steps, written out, would make: who uses that goes on to do so.
        """
        given: set[Value] = set()
        for item in self.carried:
            value = self.steps.value(self.steps.count - len(item.before), item.slot)
            yield Value(value.name, value.spec) if value in given else value
            given.add(value)

    def _checks(self) -> Iterator[Node]:
        """That arrays have all rows that are taken: of one with fewer, a slice would have fewer, and an index
        be an error.

        Canonical indices are checked where they are lifted.
        """
        for (array, first, by), (node, _) in self.sequences.items():
            if node.record is not None and array not in self.fixed:
                fewest = -first if first < 0 else first + by * self.last + 1
                condition = apply("ge", Size.of(Symbol(array, 0, array.shape[0])), fewest)
                assert isinstance(condition, Size)
                yield check(Guard(condition, True, node.origin), is_recorded=True)


FEWEST = 3
"""Fewest steps that show what changes from one to the next."""
_MOST_INNER = 8  # steps of a loop inside of a step, where that is none of its own


def rolled(fewest: int, counts: bool = False, keys: Keys | None = None) -> GraphPass:
    """The pass that makes loops of at least ``fewest`` equal steps: of three or more.

    ``counts``: a number that counts steps may be an end of a slice. ``keys``: those of nodes that other
    passes have gone over.
    """
    fewest = max(fewest, FEWEST)

    def roll(graph: Graph) -> tuple[Graph, bool]:
        if count_all(graph.nodes) < fewest:
            return graph, False
        rows = Rows(Aliases(graph), keys=keys)
        fixed = {*graph.parameters.values(), *(value for value, _ in graph.constants.values())}
        made, changed = Pass(
            "roll", lambda block: _rolled(block, rows, Means(fixed, counts), fewest), "deep"
        )(graph)
        return (_with_guards(made), True) if changed else (graph, False)

    return roll


def _with_guards(graph: Graph) -> Graph:
    """What loops rely on as guards of the graph, which are checked before a call where they can be."""
    known = {guard.condition for guard in graph.guards}
    found = dict.fromkeys(guard for node in graph.nodes if (guard := guard_of(node)) is not None)
    guards = [*graph.guards, *(guard for guard in found if guard.condition not in known)]
    return graph.derive(nodes=[node for node in graph.nodes if node.op != GUARD], guards=guards)


def _rolled(block: Block, rows: Rows, means: Means, fewest: int) -> Block:
    """The block with loops, those inside of others first."""
    while _may_repeat(block, fewest):
        made = _Round(Program.of(block, list(map(rows.of, block.nodes))), means, fewest).block()
        if made is block:
            break
        block = made
    return block


def _may_repeat(block: Block, fewest: int) -> bool:
    lines = Counter((node.op, node.origin.line) for node in block.nodes)
    return max(lines.values(), default=0) >= fewest


class _Round:
    """Loops that are made of one block at once: none of them inside of another one."""

    def __init__(self, program: Program, means: Means, fewest: int) -> None:
        self.program, self.means, self.fewest = program, means, fewest
        self.taken = bytearray(len(program.rows))
        self.instead: dict[int, Sequence[Node]] = {}

    def block(self) -> Block:
        """The block with loops: itself where there are none."""
        block, rows = self.program.block, self.program.rows
        for keys in ([row.exact for row in rows], [row.key for row in rows]):
            for stretch in periodic(keys, self.fewest):
                self._roll(stretch)
                if self.taken.count(0) < stretch.period * self.fewest:  # too few nodes are left
                    break
            if self.instead:
                nodes = [part for index, node in enumerate(block.nodes) for part in self._at(index, node)]
                return Block(block.inputs, tuple(nodes), block.outputs)
        return block

    def _at(self, index: int, node: Node) -> Sequence[Node]:
        return self.instead.get(index, () if self.taken[index] else (node,))

    def _roll(self, stretch: Stretch) -> None:
        """A stretch as a loop: of steps that begin where the least is carried from one to the next.

        Steps may hold a short loop in which another number counts, so that they are several periods long.
        """
        for times in range(1, _MOST_INNER + 1):
            longer = stretch._replace(period=stretch.period * times)
            if longer.period * self.fewest > longer.end - longer.first:
                return
            found = [
                loop
                for first in _beginnings(self.program.block, longer)
                if (loop := self._loop(longer, first)) is not None
            ]
            if found:
                self._take(min(found, key=lambda loop: (loop.carried, -len(loop.replaced))))
                return

    def _loop(self, stretch: Stretch, first: int) -> Loop | None:
        count = (stretch.end - first) // stretch.period
        if count < self.fewest or any(self.taken[first : first + count * stretch.period]):
            return None
        steps = steps_in(self.program, first, stretch.period, count, self.fewest)
        loop = loop_of(steps, self.means, self.fewest) if steps is not None else None
        return None if loop is None or any(self.taken[index] for index in loop.replaced) else loop

    def _take(self, loop: Loop) -> None:
        for index in loop.replaced:
            self.taken[index] = 1
        self.instead.update(loop.instead)


def _beginnings(block: Block, stretch: Stretch) -> Iterator[int]:
    """Where a step may begin: at the first node, so that the last step ends with the stretch, and where the
    user's lines begin again.
    """
    first, end, period = stretch
    lines = [node.origin.line for node in block.nodes[first : first + period]]
    again = next((place for place in range(1, period) if lines[place] < lines[place - 1]), 0)
    yield from dict.fromkeys((first, first + (end - first) % period, first + again))
