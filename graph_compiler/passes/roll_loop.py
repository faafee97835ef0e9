"""Equal steps as one ``scan``: what it carries, which rows it reads, what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import Signal
from ..ir.closing import Body, close
from ..ir.copying import copied_among
from ..ir.guard import Guard, check
from ..ir.node import Node, Value
from ..ir.record import CallRecord
from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, apply
from .roll_counters import Counters
from .roll_forms import rest, rows, takes_row
from .roll_steps import Counted, Earlier, Same, Slot, Steps
from .roll_uses import Gathered, fitted


@dataclass(frozen=True)
class Means:
    """What a loop can rely on: values whose sizes are ``fixed``, and a target that ``counts`` in Python's numbers."""

    fixed: set[Value]
    counts: bool


@dataclass(frozen=True)
class Loop:
    """What stands in the place of nodes of a block: of the steps, and of those that gather what these give. ``carried`` counts arrays."""

    instead: Mapping[int, Sequence[Node]]
    replaced: Sequence[int]
    carried: int


@dataclass(frozen=True)
class Carried:
    """What a slot held in earlier steps: ``before`` are the values in its place as the loop begins, the oldest first."""

    slot: Slot
    before: tuple[Value, ...]

    @property
    def later(self) -> Carried:
        """What holds it one step less long."""
        return Carried(self.slot, self.before[1:])


def loop_of(steps: Steps, means: Means, fewest: int) -> Loop | None:
    """The steps as a loop, or as many of the first ones as can be; None where they cannot be one."""
    found = fitted(steps, fewest)
    return _Writing(*found, means).loop() if found is not None else None


class _Clash(Signal):
    """Two things that a step reads are one value in some steps, or a number is another one in each, in a place where it may not be."""


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
        """The node, and what it takes rows of its sequences with; None where a step reads what a loop cannot give it."""
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
        sequences = [*self.sequences.values(), *(pair for pair in self.counters.made.values() if pair[1] in read)]
        inputs = [*self.carried.values(), *(row for _, row in sequences)]
        following = [self.carried[item.later] if len(item.before) > 1 else self.made[item.slot] for item in self.carried]
        body = Body("body", inputs, self.nodes, [*following, *(self.made[each.slot] for each in self.gathered)])
        (region,), captured = close(body)
        operands = (*(item.before[0] for item in self.carried), *(taken.outputs[0] for taken, _ in sequences), *captured)
        params = {"carried": len(self.carried), "sequences": len(sequences), "length": steps.count, "reverse": False, "checkpoint": False}
        outputs = (*self._finals(), *(each.result for each in self.gathered))
        first = steps.node(0, 0)
        record = None if first.record is None else CallRecord("scan", result=outputs)
        scan = Node("scan", operands, params, first.origin, outputs, record, (region,))
        replaced = [*range(steps.first, steps.end), *(each.user for each in self.gathered)]
        instead = {each.user: each.nodes for each in self.gathered}
        instead[steps.first] = [*self._checks(), *(taken for taken, _ in sequences), scan]
        return Loop(instead, replaced, len(self.carried))

    def _finals(self) -> Iterator[Value]:
        """What is carried out of the last step. It is the value that the steps, written out, would make: who uses that goes on to do so."""
        given: set[Value] = set()
        for item in self.carried:
            value = self.steps.value(self.steps.count - len(item.before), item.slot)
            yield Value(value.name, value.spec) if value in given else value
            given.add(value)

    def _checks(self) -> Iterator[Node]:
        """That arrays have all rows that are taken: of one with fewer, a slice would have fewer, and an index be an error.

        Canonical indices are checked where they are lifted.
        """
        for (array, first, by), (node, _) in self.sequences.items():
            if node.record is not None and array not in self.fixed:
                fewest = -first if first < 0 else first + by * self.last + 1
                condition = apply("ge", Size.of(Symbol(array, 0, array.shape[0])), fewest)
                assert isinstance(condition, Size)
                yield check(Guard(condition, True, node.origin), is_recorded=True)
