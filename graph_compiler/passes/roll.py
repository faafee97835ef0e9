"""Loops that Python has run, step by step, become loops of the graph.

A block in which the same operations stand again and again is what Python leaves of a ``for``. Where each repetition does the same to what
the one before it has made, all of them are one ``scan`` (:mod:`graph_compiler.ops.control`): what goes from one to the next is carried,
rows of one array that are taken one after the other are its sequence, and what is stacked behind the loop are its outputs. Everything else
that a step reads is the same in each step. Repetitions that differ in any other way stay written out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..ir.aliases import Aliases
from ..ir.block import Block
from ..ir.graph import Graph
from ..ir.guard import GUARD, guard_of
from ..ir.node import Node, count_all
from .driver import GraphPass, Pass
from .roll_keys import Keys, Rows
from .roll_loop import Loop, Means, loop_of
from .roll_periods import Stretch, periodic
from .roll_steps import Program, steps_in

FEWEST = 3
"""Fewest steps that show what changes from one to the next."""
_MOST_INNER = 8  # steps of a loop inside of a step, where that is none of its own


def rolled(fewest: int, counts: bool = False, keys: Keys | None = None) -> GraphPass:
    """The pass that makes loops of at least ``fewest`` equal steps: of three or more.

    ``counts``: a number that counts steps may be an end of a slice. ``keys``: those of nodes that other passes have gone over.
    """
    fewest = max(fewest, FEWEST)

    def roll(graph: Graph) -> tuple[Graph, bool]:
        if count_all(graph.nodes) < fewest:
            return graph, False
        rows = Rows(Aliases(graph), keys=keys)
        fixed = {*graph.parameters.values(), *(value for value, _ in graph.constants.values())}
        made, changed = Pass("roll", lambda block: _rolled(block, rows, Means(fixed, counts), fewest), "deep")(graph)
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
    """Whether any operation stands as often as a loop would leave it."""
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
            found = [loop for first in _beginnings(self.program.block, longer) if (loop := self._loop(longer, first)) is not None]
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
    """Where a step may begin: at the first node, so that the last step ends with the stretch, and where the user's lines begin again."""
    first, end, period = stretch
    lines = [node.origin.line for node in block.nodes[first : first + period]]
    again = next((place for place in range(1, period) if lines[place] < lines[place - 1]), 0)
    yield from dict.fromkeys((first, first + (end - first) % period, first + again))
