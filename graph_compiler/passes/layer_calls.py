"""Equal layers as calls of one region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Union

from ..ir.aliases import Aliases
from ..ir.block import Region
from ..ir.closing import Body, close
from ..ir.copying import copied_among
from ..ir.guard import GUARD
from ..ir.node import Node, Value, draws
from ..ir.record import CallRecord
from ..ops.registry import get
from .layer_names import Names, word
from .roll_steps import Slot, Steps

Given = tuple[Value, ...]
"""What a layer reads from elsewhere: a value for each of the layers."""
Source = Union[Slot, Given]


@dataclass(frozen=True)
class Calls:
    """What stands in the place of the nodes ``first`` to ``end`` of a block."""

    first: int
    end: int
    nodes: Sequence[Node]


@dataclass(frozen=True)
class Memory:
    """Of a graph. ``results`` are what it returns, and the owners of their memory: nothing else may be the same array."""

    aliases: Aliases
    results: set[Value]

    def written(self, values: Iterable[Value]) -> set[Value]:
        """The owners of the memory of these arrays that something writes to."""
        return self.aliases.written.intersection(map(self.aliases.base_of, values)) if self.aliases.written else set()


def calls_of(steps: Steps, names: Names, memory: Memory) -> Calls | None:
    """The layers as calls; None where one of them reads what it has made itself, and another one what comes from elsewhere, and where
    memory that a layer writes to is not its own."""
    writing = _Writing(steps, names, memory)
    nodes = writing.nodes() if writing.settle() else None
    return None if nodes is None else Calls(steps.first, steps.end, nodes)


class _Writing:
    """The writing of the layers of one stretch. The last of them is the pattern: what it reads has the names that most of them use."""

    def __init__(self, steps: Steps, names: Names, memory: Memory) -> None:
        self.steps, self.names, self.memory = steps, names, memory
        self.layers = range(steps.count)
        self.sources: list[list[Source | None]] = []  # of the leaves of each node; None of a number
        self.shared: set[int] = set()  # places of nodes that compute the same in each layer
        self.given: dict[Given, Value] = {}
        self.made: dict[Slot, Value] = {}
        self.inside: list[Node] = []

    # ------------------------------------------------------------------------------ what each node reads
    def settle(self) -> bool:
        """Finds what each node reads; False where that is not the same in all layers."""
        for place in range(self.steps.period):
            columns = zip(*(self.steps.leaves(layer, place) for layer in self.layers))
            row = [self._source(leaves) if isinstance(leaves[0], Value) else None for leaves in columns]
            if any(source == () for source in row) or not all(self._keeps_memory(layer, place) for layer in self.layers):
                return False
            self.sources.append(row)
            if self._is_shared(place, row):
                self.shared.add(place)
        return True

    def _source(self, leaves: Given) -> Source:
        """What a leaf is; nothing where one layer has made it itself, and another one has not."""
        slots = {self._slot(layer, leaf) for layer, leaf in enumerate(leaves)}
        if len(slots) > 1:
            return ()
        slot = slots.pop()
        if slot is None:
            return leaves
        return (self.steps.value(0, slot),) * len(leaves) if slot.node in self.shared else slot

    def _slot(self, layer: int, value: Value) -> Slot | None:
        index, output = self.steps.program.place.get(value, (-1, 0))
        place = index - self.steps.first - layer * self.steps.period
        return Slot(place, output) if 0 <= place < self.steps.period else None

    def _is_shared(self, place: int, row: Sequence[Source | None]) -> bool:
        """Whether a node computes the same in all layers, which nothing outside of them receives."""
        node = self.steps.node(0, place)
        if node.op == GUARD or node.regions or any(isinstance(source, Slot) or (source and len(set(source)) > 1) for source in row):
            return False
        made = [value for layer in self.layers for value in self.steps.node(layer, place).outputs]
        if self.memory.written((*made, *node.uses)) or draws([node]):
            return False
        return self.memory.results.isdisjoint(made) and not any(self._leaves(layer, place) for layer in self.layers[1:])

    def _keeps_memory(self, layer: int, place: int) -> bool:
        """Whether what a node touches of memory that is written to is made in its layer, and read nowhere else."""
        node = self.steps.node(layer, place)
        own = all(self._slot(layer, owner) is not None for owner in self.memory.written((*node.uses, *node.writes)))
        return own and not (self.memory.written(node.outputs) and self._leaves(layer, place))

    def _leaves(self, layer: int, place: int) -> bool:
        """Whether what a node makes is read outside of its layer."""
        begin = self.steps.first + layer * self.steps.period
        users = (user for value in self.steps.node(layer, place).outputs for user in self.steps.program.users.get(value, ()))
        return any(not begin <= user < begin + self.steps.period for user in users)

    # ------------------------------------------------------------------------------ the region
    def nodes(self) -> list[Node] | None:
        """What all layers share, and the calls; None where a node reads one value in two places, and two in another layer."""
        for place in range(self.steps.period):
            if place not in self.shared and not self._add(place):
                return None
        slots = [slot for slot in self.steps.slots() if slot in self.made and self._is_given(slot)]
        modules = [self._module(layer) for layer in self.layers]
        body = Body(self._name(), list(self.given.values()), self._placed(), [self.made[slot] for slot in slots])
        (region,), captured = close(body)
        calls = (self._call(layer, region, slots, captured, modules[layer]) for layer in self.layers)
        return [*(self.steps.node(0, place) for place in sorted(self.shared)), *calls]

    def _add(self, place: int) -> bool:
        last = self.steps.count - 1
        read = zip(self.steps.leaves(last, place), self.sources[place])
        pairs = ((leaf, self._inside(source)) for leaf, source in read if source is not None)
        inside = copied_among(self.steps.node(last, place), pairs)
        if inside is None:
            return False
        self.inside.append(inside)
        self.made.update((Slot(place, output), value) for output, value in enumerate(inside.outputs))
        return True

    def _inside(self, source: Source) -> Value:
        """What stands for it in the region."""
        return self.made[source] if isinstance(source, Slot) else self._input(source)

    def _input(self, given: Given) -> Value:
        if given not in self.given:
            found = self.names.numbering(given[-1], given[0])
            name = found.inside if found is not None else ""
            self.given[given] = Value(name or given[-1].name, given[-1].spec)
        return self.given[given]

    def _is_given(self, slot: Slot) -> bool:
        """Whether something outside of a layer reads this result of it."""
        return any(
            not begin <= user < begin + self.steps.period
            for layer in self.layers
            for begin in (self.steps.first + layer * self.steps.period,)
            for user in self.steps.program.users.get(self.steps.value(layer, slot), ())
        )

    def _name(self) -> str:
        """By the word in front of the number."""
        found = (self.names.numbering(given[-1], given[0]) for given in self.given)
        return next((word(each.parts[: each.place + 1]) for each in found if each is not None), "layer")

    # ------------------------------------------------------------------------------ modules
    def _module(self, layer: int) -> list[str]:
        """The path that all nodes of a layer have in common."""
        paths = [self.steps.node(layer, place).origin.module.split(".") for place in range(self.steps.period) if place not in self.shared]
        return [parts[0] for parts in zip(*paths)][: _common(paths)]

    def _placed(self) -> list[Node]:
        """The nodes, in modules that stand for those of all layers: ``encoder.layer.*.attention``."""
        own = [place for place in range(self.steps.period) if place not in self.shared]
        return [_in_all(node, self.steps.node(0, place)) for node, place in zip(self.inside, own, strict=True)]

    # ------------------------------------------------------------------------------ the calls
    def _call(self, layer: int, region: Region, slots: Sequence[Slot], captured: Sequence[Value], module: Sequence[str]) -> Node:
        outputs = tuple(self.steps.value(layer, slot) for slot in slots)
        first = self.steps.node(layer, 0)
        record = None if first.record is None else CallRecord("call", result=outputs, random=draws(region.block.nodes))
        operands = (*(given[layer] for given in self.given), *captured)
        origin = replace(first.origin, module=".".join(module))
        return Node("call", operands, dict(get("call").params), origin, outputs, record, (region,))


def _in_all(node: Node, other: Node) -> Node:
    """The node of one layer in a module that stands for its own and that of another layer."""
    own, module = node.origin.module.split("."), other.origin.module.split(".")
    if own == module or len(own) != len(module):
        return node
    path = ".".join("*" if one != two else one for one, two in zip(own, module))
    return replace(node, origin=replace(node.origin, module=path))


def _common(paths: Sequence[Sequence[str]]) -> int:
    """How many parts all paths begin with."""
    columns = enumerate(zip(*paths))
    return next((depth for depth, parts in columns if len(set(parts)) > 1), min(map(len, paths), default=0))
