"""Turn equal layers of a model into calls of one function.

A model of 12 layers runs the same operations 12 times with other weights, whose names differ in one number
(``encoder.layer.0.attention.weight``, ``encoder.layer.1.attention.weight``). The operations of all layers
become one region, the values that differ become operands, and each layer becomes a ``call``
(:mod:`graph_compiler.ops.control`). Lifting, passes and the writer then process one layer. Nodes that
compute the same in all layers run once before the first call, if this is safe. :func:`repeated_layers` is
the pass.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Union

from ...ir.builder import Body, close
from ...ir.graph import GUARD, Aliases, Graph, Guard, check
from ...ir.node import Block, CallRecord, Node, Region, Value, draws, every, values_in
from ...ir.rewrite import copy_with_replacements
from ...ops.registry import get
from .find import (
    GraphSignatures,
    IndexedBlock,
    RepeatedRun,
    RepeatedSteps,
    SignatureCache,
    Slot,
    find_repeated_runs,
)

_NUMBER = re.compile(r"(\d+)")
_SEPARATOR = re.compile(r"[./]")
_PART = re.compile(r"(.*?)_?(\d*)", re.DOTALL)
# Names of fewer letters, such as `h`, do not say what they name.
_SHORTEST = 3


class Difference(NamedTuple):
    """Number by which two names differ, in both names, with the text before and after it."""

    before: str
    after: str
    one: int
    other: int


def difference(one: str, other: str) -> Difference | None:
    """Return the only number by which two names differ, or None.

    >>> difference("layers.0.fc2.weight", "layers.1.fc2.weight")
    Difference(before='layers.', after='.fc2.weight', one=0, other=1)
    >>> difference("layers.0.fc1.weight", "layers.1.fc2.weight"), difference("norm", "embed")
    (None, None)
    """
    parts, others = _NUMBER.split(one), _NUMBER.split(other)
    places = [place for place, pair in enumerate(zip(parts, others)) if pair[0] != pair[1]]
    if len(parts) != len(others) or len(places) != 1 or not places[0] % 2:
        return None
    place = places[0]
    numbers = parts[place], others[place]
    # Numbers with leading zeros cannot be written again from their value.
    if any(str(int(number)) != number for number in numbers):
        return None
    return Difference("".join(parts[:place]), "".join(parts[place + 1 :]), *map(int, numbers))


class Numbering(NamedTuple):
    """Two paths whose parts differ only in trailing numbers.

    parts: the parts of the paths without their numbers.
    place: index of the first part whose number differs.
    one, other: that number in the two paths.
    """

    parts: tuple[str, ...]
    place: int
    one: int
    other: int

    @property
    def inside(self) -> str:
        return "_".join(filter(None, self.parts[self.place + 1 :]))


def numbering(one: str, other: str) -> Numbering | None:
    """Return the first difference of two paths that differ only in trailing numbers of parts, or None.

    Dots and slashes separate parts.

    >>> numbering("residual/dense_1/kernel", "residual_1/dense_3/kernel")
    Numbering(parts=('residual', 'dense', 'kernel'), place=0, one=0, other=1)
    >>> numbering("layers.0.fc1.weight", "layers.1.fc1.weight").inside, numbering("norm", "embed")
    ('fc_weight', None)
    """
    parts, others = _parts(one), _parts(other)
    bare = tuple(text for text, _ in parts)
    place = next((place for place, (first, second) in enumerate(zip(parts, others)) if first != second), None)
    if place is None or bare != tuple(text for text, _ in others):
        return None
    return Numbering(bare, place, parts[place][1], others[place][1])


@functools.lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[tuple[str, int], ...]:
    found = (_PART.fullmatch(part) for part in _SEPARATOR.split(name))
    return tuple([(part[1], int(part[2] or 0)) for part in found if part is not None])


@dataclass(frozen=True)
class ArrayNames:
    """Names of the inputs, parameters and constants of a graph."""

    of_value: Mapping[Value, str]

    @classmethod
    def of(cls, graph: Graph) -> ArrayNames:
        names = {value: value.name for value in graph.inputs}
        names.update((value, name) for name, value in graph.parameters.items())
        names.update((value, name) for name, (value, _) in graph.constants.items())
        return cls(names)

    def may_differ(self, fewest: int) -> bool:
        bare = Counter(tuple(text for text, _ in _parts(name)) for name in self.of_value.values())
        return max(bare.values(), default=0) >= fewest

    def numbering(self, one: object, other: object) -> Numbering | None:
        if one is other or not isinstance(one, Value) or not isinstance(other, Value):
            return None
        first, second = self.of_value.get(one), self.of_value.get(other)
        return None if first is None or second is None else numbering(first, second)


def word(parts: Sequence[str]) -> str:
    """Return a name for one of the layers whose paths start with ``parts``.

    >>> word(["encoder", "layers", ""]), word(["residual_block"]), word(["transformer", "h", ""])
    ('layer', 'block', 'layer')
    >>> word(["axis", ""])
    'axis'
    """
    found = re.findall(r"[A-Za-z]+", " ".join(parts))
    last = found[-1].lower() if found else ""
    if len(last) < _SHORTEST:
        return "layer"
    is_plural = last.endswith("s") and not last.endswith(("is", "ss", "us")) and len(last) > _SHORTEST
    return last[:-1] if is_plural else last


def layers_in(
    program: IndexedBlock, run: RepeatedRun, names: ArrayNames, fewest: int
) -> RepeatedSteps | None:
    """Return at least ``fewest`` layers in ``run``; None if no division into layers is found."""
    cuts = _LayerBoundaries(program, run, names)
    counted = [(first, (run.end - first) // run.period) for first in cuts.places()]
    ranked = [
        # The smallest tuple is the best division.
        ((cuts.numbers_from(first), cuts.strides(first, count), -count, *cuts.rank(first)), first, count)
        for first, count in counted
        if count >= fewest and cuts.numbers_from(first)
    ]
    if not ranked:
        return None
    _, first, count = min(ranked)
    return RepeatedSteps(program, first, run.period, count, ())


class _LayerBoundaries:
    """Candidates for the first node of a layer in one run."""

    def __init__(self, program: IndexedBlock, run: RepeatedRun, names: ArrayNames) -> None:
        self.program, self.run, self.names = program, run, names
        first, end, self.period = run
        self.numbers = [self._number(place) for place in range(first, end)]

    def _number(self, place: int) -> int | None:
        # The last layer has no next one, so it is compared with the one before.
        other = place + self.period if place + self.period < self.run.end else place - self.period
        pairs = zip(self.program.rows[place].leaves, self.program.rows[other].leaves)
        found = (self.names.numbering(one, two) for one, two in pairs)
        return next((each.one for each in found if each is not None), None)

    def places(self) -> Iterator[int]:
        first, period = self.run.first, self.period
        known = [(place, number) for place, number in enumerate(self.numbers) if number is not None]
        for (before, number), (after, other) in pairwise(known):
            if number != other and before < period:
                yield from (
                    first + (cut - period if cut >= period else cut) for cut in range(before + 1, after + 1)
                )

    def numbers_from(self, first: int) -> int:
        begin = first - self.run.first
        return len({number for number in self.numbers[begin : begin + self.period] if number is not None})

    def strides(self, first: int, count: int) -> int:
        """Return how many different increments the numbers of consecutive layers have; 1 for 0, 1, 2 ..."""
        begin = first - self.run.first
        place = next(place for place in range(begin, begin + self.period) if self.numbers[place] is not None)
        numbers = [self.numbers[place + layer * self.period] or 0 for layer in range(count)]
        return len({after - before for before, after in pairwise(numbers)})

    def rank(self, first: int) -> tuple[int, int, int]:
        """Return a tuple that rates a division in which a layer begins at ``first``; smaller is better."""
        # Few arrays of the first layer should be read after it, and the module paths on both sides of its end
        # should have few leading parts in common. ``first`` decides ties.
        nodes, begin = self.program.block.nodes, first + self.period
        made = (value for node in nodes[first:begin] for value in node.outputs)
        crossing = sum(self._is_read_from(value, begin) for value in made)
        paths = (nodes[place].origin.module.split(".") for place in (begin - 1, begin))
        shared = next((depth for depth, (one, other) in enumerate(zip(*paths)) if one != other), len(nodes))
        return crossing, shared, first

    def _is_read_from(self, value: Value, begin: int) -> bool:
        return any(user >= begin for user in self.program.users.get(value, ()))


LayerValues = tuple[Value, ...]
"""A value for each of the layers, which a leaf reads from outside of its layer."""
Source = Union[Slot, LayerValues]


@dataclass(frozen=True)
class LayerCalls:
    """Replacement of the nodes from index ``first`` to ``end`` (exclusive) of a block by ``nodes``."""

    first: int
    end: int
    nodes: Sequence[Node]


@dataclass(frozen=True)
class GraphMemory:
    """Aliasing information of a graph.

    results: the arrays that the graph returns, and the owners of their memory.
    """

    aliases: Aliases
    results: set[Value]

    def written(self, values: Iterable[Value]) -> set[Value]:
        return (
            self.aliases.written.intersection(map(self.aliases.base_of, values))
            if self.aliases.written
            else set()
        )


def calls_of(steps: RepeatedSteps, names: ArrayNames, memory: GraphMemory) -> LayerCalls | None:
    writing = _CallBuilder(steps, names, memory)
    nodes = writing.nodes() if writing.settle() else None
    return None if nodes is None else LayerCalls(steps.first, steps.end, nodes)


class _CallBuilder:
    """Builder that replaces one sequence of repeated layers by calls of a shared region."""

    def __init__(self, steps: RepeatedSteps, names: ArrayNames, memory: GraphMemory) -> None:
        self.steps, self.names, self.memory = steps, names, memory
        self.layers = range(steps.count)
        # Sources of the leaves of each node, with None for a number.
        self.sources: list[list[Source | None]] = []
        # Indices of the nodes that compute the same in each layer.
        self.shared: set[int] = set()
        self.given: dict[LayerValues, Value] = {}
        self.made: dict[Slot, Value] = {}
        self.inside: list[Node] = []

    # ------------------------------------------------------------------------------ sources of leaves
    def settle(self) -> bool:
        """Fill ``sources`` and ``shared``; return False if the layers cannot share one function."""
        for place in range(self.steps.period):
            columns = zip(*(self.steps.leaves(layer, place) for layer in self.layers))
            row = [self._source(leaves) if isinstance(leaves[0], Value) else None for leaves in columns]
            if any(source == () for source in row) or not all(
                self._keeps_memory(layer, place) for layer in self.layers
            ):
                return False
            self.sources.append(row)
            if self._is_shared(place, row):
                self.shared.add(place)
        return True

    def _source(self, leaves: LayerValues) -> Source:
        """Return the source of a leaf: a slot of its own layer, or one value per layer from outside.

        Return an empty tuple if the layers have no common source.
        """
        slots = {self._slot(layer, leaf) for layer, leaf in enumerate(leaves)}
        if len(slots) > 1:
            return ()
        slot = slots.pop()
        # No layer computes the leaf itself, so it comes from outside.
        if slot is None:
            return leaves
        return (self.steps.value(0, slot),) * len(leaves) if slot.node in self.shared else slot

    def _slot(self, layer: int, value: Value) -> Slot | None:
        index, output = self.steps.program.place.get(value, (-1, 0))
        place = index - self.steps.first - layer * self.steps.period
        return Slot(place, output) if 0 <= place < self.steps.period else None

    def _is_shared(self, place: int, row: Sequence[Source | None]) -> bool:
        node = self.steps.node(0, place)
        if (
            node.op == GUARD
            or node.regions
            or any(isinstance(source, Slot) or (source and len(set(source)) > 1) for source in row)
        ):
            return False
        made = [value for layer in self.layers for value in self.steps.node(layer, place).outputs]
        if self.memory.written((*made, *node.uses)) or draws([node]):
            return False
        return self.memory.results.isdisjoint(made) and not any(
            self._leaves(layer, place) for layer in self.layers[1:]
        )

    def _keeps_memory(self, layer: int, place: int) -> bool:
        """Return True if the written memory that a node touches belongs to the node's layer alone."""
        node = self.steps.node(layer, place)
        own = all(
            self._slot(layer, owner) is not None for owner in self.memory.written((*node.uses, *node.writes))
        )
        return own and not (self.memory.written(node.outputs) and self._leaves(layer, place))

    def _leaves(self, layer: int, place: int) -> bool:
        begin = self.steps.first + layer * self.steps.period
        users = (
            user
            for value in self.steps.node(layer, place).outputs
            for user in self.steps.program.users.get(value, ())
        )
        return any(not begin <= user < begin + self.steps.period for user in users)

    # ------------------------------------------------------------------------------ shared region
    def nodes(self) -> list[Node] | None:
        """Return the shared nodes and the calls, or None if the layers cannot share one function."""
        for place in range(self.steps.period):
            if place not in self.shared and not self._add(place):
                return None
        slots = [slot for slot in self.steps.slots() if slot in self.made and self._is_given(slot)]
        modules = [self._module(layer) for layer in self.layers]
        body = Body(
            self._name(), list(self.given.values()), self._placed(), [self.made[slot] for slot in slots]
        )
        (region,), captured = close(body)
        calls = (self._call(layer, region, slots, captured, modules[layer]) for layer in self.layers)
        return [*(self.steps.node(0, place) for place in sorted(self.shared)), *calls]

    def _add(self, place: int) -> bool:
        last = self.steps.count - 1
        read = zip(self.steps.leaves(last, place), self.sources[place])
        pairs = ((leaf, self._inside(source)) for leaf, source in read if source is not None)
        inside = copy_with_replacements(self.steps.node(last, place), pairs)
        if inside is None:
            return False
        self.inside.append(inside)
        self.made.update((Slot(place, output), value) for output, value in enumerate(inside.outputs))
        return True

    def _inside(self, source: Source) -> Value:
        return self.made[source] if isinstance(source, Slot) else self._input(source)

    def _input(self, given: LayerValues) -> Value:
        if given not in self.given:
            # The region is made of the nodes of the last layer, so its names come first.
            found = self.names.numbering(given[-1], given[0])
            name = found.inside if found is not None else ""
            self.given[given] = Value(name or given[-1].name, given[-1].spec)
        return self.given[given]

    def _is_given(self, slot: Slot) -> bool:
        return any(
            not begin <= user < begin + self.steps.period
            for layer in self.layers
            for begin in (self.steps.first + layer * self.steps.period,)
            for user in self.steps.program.users.get(self.steps.value(layer, slot), ())
        )

    def _name(self) -> str:
        found = (self.names.numbering(given[-1], given[0]) for given in self.given)
        return next((word(each.parts[: each.place + 1]) for each in found if each is not None), "layer")

    # ------------------------------------------------------------------------------ modules
    def _module(self, layer: int) -> list[str]:
        paths = [
            self.steps.node(layer, place).origin.module.split(".")
            for place in range(self.steps.period)
            if place not in self.shared
        ]
        return [parts[0] for parts in zip(*paths)][: _common(paths)]

    def _placed(self) -> list[Node]:
        # A part that differs between the layers becomes ``*``: ``encoder.layer.*.attention``.
        own = [place for place in range(self.steps.period) if place not in self.shared]
        return [
            _with_common_module(node, self.steps.node(0, place))
            for node, place in zip(self.inside, own, strict=True)
        ]

    # ------------------------------------------------------------------------------ calls
    def _call(
        self,
        layer: int,
        region: Region,
        slots: Sequence[Slot],
        captured: Sequence[Value],
        module: Sequence[str],
    ) -> Node:
        outputs = tuple(self.steps.value(layer, slot) for slot in slots)
        first = self.steps.node(layer, 0)
        record = (
            None
            if first.record is None
            else CallRecord("call", result=outputs, random=draws(region.block.nodes))
        )
        operands = (*(given[layer] for given in self.given), *captured)
        origin = replace(first.origin, module=".".join(module))
        return Node("call", operands, dict(get("call").params), origin, outputs, record, (region,))


def _with_common_module(node: Node, other: Node) -> Node:
    """Return ``node`` with ``*`` for parts of its module path that differ from a path of the same length."""
    own, module = node.origin.module.split("."), other.origin.module.split(".")
    # Paths of different lengths have no common pattern.
    if own == module or len(own) != len(module):
        return node
    path = ".".join("*" if one != two else one for one, two in zip(own, module))
    return replace(node, origin=replace(node.origin, module=path))


def _common(paths: Sequence[Sequence[str]]) -> int:
    columns = enumerate(zip(*paths))
    return next((depth for depth, parts in columns if len(set(parts)) > 1), min(map(len, paths), default=0))


FEWEST = 3
"""Fewest equal layers that become calls."""
# A function with fewer operations would be no shorter than its calls.
_SMALLEST = 8


def repeated_layers(graph: Graph, keys: SignatureCache | None = None) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with calls of a shared region instead of repeated layers.

    ``keys`` is a cache of signatures that other passes share; None makes a new one.
    """
    # Comparing names is much cheaper than describing all nodes, and most graphs have no numbered layers.
    if len(graph.nodes) + len(graph.guards) < FEWEST * _SMALLEST or not (
        names := ArrayNames.of(graph)
    ).may_differ(FEWEST):
        return graph, False
    nodes, checks = _with_checks(graph)
    outputs = _without_guards(graph, checks.values()).block.outputs
    aliases = Aliases(graph)
    results = {each for value in values_in(graph.outputs) for each in (value, aliases.base_of(value))}
    # A call that sets the seed changes what later layers draw, so then draws stay outside of functions.
    seeds = any(node.is_random and not node.outputs for node in every(nodes))
    rows = GraphSignatures(
        aliases,
        with_checks=True,
        with_draws=not seeds,
        written=_temporary_written(aliases, nodes, outputs),
        keys=keys,
    )
    program = IndexedBlock.of(Block(tuple(graph.sources()), nodes, outputs), list(map(rows.of, nodes)))
    found = list(_find_layers(program, names, GraphMemory(aliases, results)))
    if not found:
        return graph, False
    instead = {each.first: each.nodes for each in found}
    taken = {place for each in found for place in range(each.first, each.end)}
    left = [
        part
        for place, node in enumerate(nodes)
        for part in (instead.get(place, ()) if place in taken else (node,))
    ]
    inside = [checks[nodes[place]] for place in taken if nodes[place] in checks]
    return _without_guards(graph, inside).derive(nodes=[node for node in left if node not in checks]), True


def _temporary_written(aliases: Aliases, nodes: Iterable[Node], outputs: Sequence[Any]) -> set[Value]:
    lasting = set(map(aliases.base_of, values_in(outputs)))
    return (aliases.written & {value for node in nodes for value in node.outputs}) - lasting


def _without_guards(graph: Graph, guards: Iterable[Guard]) -> Graph:
    left_out = set(map(id, guards))
    return graph.derive(guards=[guard for guard in graph.guards if id(guard) not in left_out])


def _with_checks(graph: Graph) -> tuple[tuple[Node, ...], dict[Node, Guard]]:
    """Return the nodes with a check node for each of ``graph.inner_guards()``, and the guard of each."""
    made = {value: place for place, node in enumerate(graph.nodes) for value in node.outputs}
    behind: dict[int, list[Node]] = {}
    checks: dict[Node, Guard] = {}
    for guard, condition in graph.inner_guards():
        node = check(guard, graph.dialect != "canonical")
        checks[node] = guard
        behind.setdefault(max(made.get(symbol.source, -1) for symbol in condition.symbols()), []).append(node)
    nodes = [part for place, node in enumerate(graph.nodes) for part in (node, *behind.get(place, ()))]
    return (*behind.get(-1, ()), *nodes), checks


def _find_layers(program: IndexedBlock, names: ArrayNames, memory: GraphMemory) -> Iterator[LayerCalls]:
    taken: set[int] = set()
    for run in _repeated_runs(program):
        free = _trim_taken(run, taken)
        steps = layers_in(program, free, names, FEWEST) if free is not None else None
        calls = calls_of(steps, names, memory) if steps is not None else None
        if calls is not None:
            taken.update(range(calls.first, calls.end))
            yield calls


def _trim_taken(run: RepeatedRun, taken: set[int]) -> RepeatedRun | None:
    first, end, period = run
    while first < end and first in taken:
        first += 1
    while first < end and end - 1 in taken:
        end -= 1
    return (
        RepeatedRun(first, end, period)
        if end - first >= period * FEWEST and taken.isdisjoint(range(first, end))
        else None
    )


def _repeated_runs(program: IndexedBlock) -> Sequence[RepeatedRun]:
    keys = [row.exact for row in program.rows]
    found = (run for run in find_repeated_runs(keys, FEWEST) if run.period >= _SMALLEST)
    return sorted(found, key=lambda run: run.first + run.period - run.end)
