"""Which nodes of a stretch are the steps of a loop: what each step reads is checked, leaf by leaf, against what the first ones read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from ..ir.block import Block
from ..ir.node import Node, Value, values_in
from .roll_keys import Row

_FARTHEST = 4  # steps back from which a step may read


class Slot(NamedTuple):
    """A result of a step: an output of one of its nodes."""

    node: int
    output: int


class Earlier(NamedTuple):
    """What the step, or the one ``distance`` steps before it, has made."""

    slot: Slot
    distance: int


class Same(NamedTuple):
    """A value from before the loop, or a number."""

    value: Any

    def is_it(self, leaf: Any) -> bool:
        """Whether a leaf is just this, numbers by the way they are written: zero has a sign."""
        return leaf is self.value or (type(leaf) in (int, float) and repr(leaf) == repr(self.value))


class Counted(NamedTuple):
    """A whole number that grows evenly: ``first`` in step 0 of the stretch."""

    first: int
    by: int

    def at(self, step: int) -> int:
        """The number of a step."""
        return self.first + self.by * step


class Listed(NamedTuple):
    """A float that is another one in each step."""


Pattern = Union[Earlier, Same, Counted, Listed]


@dataclass(frozen=True)
class Program:
    """A block with a row for each node, and indices: where a value is made, and which nodes use it (-1: the outputs of the block)."""

    block: Block
    rows: list[Row]
    place: dict[Value, tuple[int, int]]
    users: dict[Value, list[int]]

    @classmethod
    def of(cls, block: Block, rows: list[Row]) -> Program:
        """The block, indexed."""
        place = {value: (index, output) for index, node in enumerate(block.nodes) for output, value in enumerate(node.outputs)}
        users: dict[Value, list[int]] = {}
        for index, node in enumerate(block.nodes):
            for value in node.uses:
                users.setdefault(value, []).append(index)
        for value in values_in(block.outputs):
            users.setdefault(value, []).append(-1)
        return cls(block, rows, place, users)


@dataclass(frozen=True)
class Steps:
    """``count`` steps of ``period`` nodes each from the node ``first`` on. ``patterns`` are those of the leaves of each node of a step."""

    program: Program
    first: int
    period: int
    count: int
    patterns: tuple[tuple[Pattern, ...], ...]

    @property
    def end(self) -> int:
        """The place behind the last node."""
        return self.first + self.period * self.count

    def node(self, step: int, place: int) -> Node:
        """A node of a step."""
        return self.program.block.nodes[self.first + step * self.period + place]

    def value(self, step: int, slot: Slot) -> Value:
        """A result of a step."""
        return self.node(step, slot.node).outputs[slot.output]

    def leaves(self, step: int, place: int) -> tuple[Any, ...]:
        """What a node of a step reads."""
        return self.program.rows[self.first + step * self.period + place].leaves

    def slots(self) -> Iterator[Slot]:
        """The results of a step."""
        return (Slot(place, output) for place in range(self.period) for output in range(len(self.node(0, place).outputs)))

    def makes(self, value: Value) -> bool:
        """Whether a value is made in one of the steps."""
        return value in self.program.place and self.first <= self.program.place[value][0] < self.end

    def part(self, low: int, high: int) -> Steps:
        """The steps from ``low`` to ``high``."""
        patterns = tuple(tuple(_later(pattern, low) for pattern in row) for row in self.patterns)
        return Steps(self.program, self.first + low * self.period, self.period, high - low, patterns)


def _later(pattern: Pattern, steps: int) -> Pattern:
    return Counted(pattern.at(steps), pattern.by) if isinstance(pattern, Counted) else pattern


def steps_in(program: Program, first: int, period: int, count: int, fewest: int) -> Steps | None:
    """The first ``fewest`` or more steps of a stretch that one loop can run; None where there are none.

    What a leaf is in all steps follows from two neighbouring ones. From there on, steps are added while they fit, to both sides. The first
    steps may read, in the place of what earlier ones have made, anything of the same type from before the loop.
    """
    low = 0
    while count - low >= fewest:
        about = low + min(_FARTHEST, count - low - 2)
        bare = Steps(program, first, period, count, ())
        found = _Fit(bare, about).steps(low)
        if found is None:
            low = about + 1
            continue
        begin, end = found[1:]
        if end - begin >= fewest:
            return found[0].part(begin, end)
        low = max(end, about + 1)
    return None


class _Fit:
    """What leaves of the step ``about`` and the next one have in common, and which other steps have the same."""

    def __init__(self, steps: Steps, about: int) -> None:
        self.about, self.first, self.period = about, steps.first, steps.period
        self.program, self.bare = steps.program, steps

    def steps(self, low: int) -> tuple[Steps, int, int] | None:
        """The stretch with patterns, and the steps from which and to which they hold."""
        patterns = []
        for place in range(self.period):
            pairs = zip(self.bare.leaves(self.about, place), self.bare.leaves(self.about + 1, place))
            row = tuple(self._pattern(one, two) for one, two in pairs)
            if None in row:
                return None
            patterns.append(row)
        self.whole = Steps(self.program, self.first, self.period, self.bare.count, tuple(patterns))  # type: ignore[arg-type]
        self.reach = max((pattern.distance for row in patterns for pattern in row if isinstance(pattern, Earlier)), default=0)
        begin, end = self.about, self.about
        while end < self.bare.count and self._fits(end):
            end += 1
        while begin > low and self._fits(begin - 1):
            begin -= 1
        while begin > low and end > begin and all(self._fits(step, begin - 1) for step in range(begin - 1, min(begin + self.reach, end))):
            begin -= 1
        begin = max(begin, self._known_from())
        return self.whole, begin, end

    def _pattern(self, one: Any, two: Any) -> Pattern | None:
        """What a leaf of the step, and the same one of the next step, are."""
        if (same := Same(one)).is_it(two):
            return same
        if type(one) is float:
            return Listed()
        if not isinstance(one, Value):
            return Counted(one - (two - one) * self.about, two - one)
        (step, slot), (next_step, other) = self._made(one), self._made(two)
        distance = self.about - step
        if slot is None or slot != other or next_step != step + 1 or not 0 <= distance <= _FARTHEST:
            return None
        return Earlier(slot, distance)

    def _made(self, value: Value) -> tuple[int, Slot | None]:
        """The step and the slot that make a value."""
        index, output = self.program.place.get(value, (-1, 0))
        step, place = divmod(index - self.first, self.period)
        return step, Slot(place, output) if index >= self.first else None

    def _fits(self, step: int, begin: int | None = None) -> bool:
        """Whether the leaves of a step are what the patterns say; those of the first steps from ``begin`` on may come from before it."""
        for place, row in enumerate(self.whole.patterns):
            for leaf, pattern in zip(self.whole.leaves(step, place), row):
                if isinstance(pattern, Counted):
                    if leaf != pattern.at(step):
                        return False
                elif isinstance(pattern, Same):
                    if not pattern.is_it(leaf):
                        return False
                elif isinstance(pattern, Listed):
                    continue
                elif begin is not None and pattern.distance > step - begin:
                    if not self._is_before(leaf, begin):
                        return False
                elif leaf is not self._earlier(pattern, step):
                    return False
        return True

    def _earlier(self, pattern: Earlier, step: int) -> Value | None:
        """What an earlier step of the stretch has made; None of one before it."""
        return self.whole.value(step - pattern.distance, pattern.slot) if step >= pattern.distance else None

    def _is_before(self, value: Value, begin: int) -> bool:
        index = self.program.place.get(value)
        return index is None or index[0] < self.first + begin * self.period

    def _known_from(self) -> int:
        """The first step before which all values are made that are the same in each step."""
        same = (pattern.value for row in self.whole.patterns for pattern in row if isinstance(pattern, Same))
        made = [self.program.place[value][0] for value in same if isinstance(value, Value) and value in self.program.place]
        return max(((index - self.first) // self.period + 1 for index in made), default=0)
