"""Equal layers of a model become one function, which is called for each of them.

A model of 12 layers runs the same operations 12 times, each time with other weights: with parameters that are called the same but for one
number (``encoder.layer.0.attention.weight``, ``encoder.layer.1.attention.weight``). The operations of all layers become one region, what
differs from layer to layer its operands, and each layer a ``call`` (:mod:`graph_compiler.ops.control`). Lifting, passes and the writer then
see a layer once. What is the same in all layers is computed once, in front of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..ir.aliases import Aliases
from ..ir.block import Block
from ..ir.graph import Graph
from ..ir.guard import Guard, check
from ..ir.node import Node, Value, every, values_in
from .layer_calls import Calls, Memory, calls_of
from .layer_names import Names
from .layer_steps import layers_in
from .roll_keys import Keys, Rows
from .roll_periods import Stretch, periodic
from .roll_steps import Program

FEWEST = 3
"""Fewest equal layers that become calls."""
_SMALLEST = 8  # operations of a layer: of fewer, a function is no shorter than its calls


def repeated_layers(graph: Graph, keys: Keys | None = None) -> tuple[Graph, bool]:
    """The graph with equal layers as calls of one region; itself where there are none. ``keys``: as in :func:`.roll.rolled`."""
    if len(graph.nodes) + len(graph.guards) < FEWEST * _SMALLEST or not (names := Names.of(graph)).may_differ(FEWEST):
        return graph, False
    nodes, checks = _with_checks(graph)
    outputs = _without(graph, checks.values()).block.outputs
    aliases = Aliases(graph)
    results = {each for value in values_in(graph.outputs) for each in (value, aliases.base_of(value))}
    seeds = any(node.is_random and not node.outputs for node in every(nodes))
    rows = Rows(aliases, with_checks=True, with_draws=not seeds, written=_passing(aliases, nodes, outputs), keys=keys)
    program = Program.of(Block(tuple(graph.sources()), nodes, outputs), list(map(rows.of, nodes)))
    found = list(_found(program, names, Memory(aliases, results)))
    if not found:
        return graph, False
    instead = {each.first: each.nodes for each in found}
    taken = {place for each in found for place in range(each.first, each.end)}
    left = [part for place, node in enumerate(nodes) for part in (instead.get(place, ()) if place in taken else (node,))]
    inside = [checks[nodes[place]] for place in taken if nodes[place] in checks]
    return _without(graph, inside).derive(nodes=[node for node in left if node not in checks]), True


def _passing(aliases: Aliases, nodes: Iterable[Node], outputs: Sequence[Any]) -> set[Value]:
    """Memory that is written to, made inside of the graph and no part of what it gives: by its owners."""
    lasting = set(map(aliases.base_of, values_in(outputs)))
    return (aliases.written & {value for node in nodes for value in node.outputs}) - lasting


def _without(graph: Graph, guards: Iterable[Guard]) -> Graph:
    left_out = set(map(id, guards))
    return graph.derive(guards=[guard for guard in graph.guards if id(guard) not in left_out])


def _with_checks(graph: Graph) -> tuple[tuple[Node, ...], dict[Node, Guard]]:
    """The nodes, with each guard on sizes that they make behind the last one that makes such a size; and the guards of these checks."""
    made = {value: place for place, node in enumerate(graph.nodes) for value in node.outputs}
    behind: dict[int, list[Node]] = {}
    checks: dict[Node, Guard] = {}
    for guard, condition in graph.inner_guards():
        node = check(guard, graph.dialect != "canonical")
        checks[node] = guard
        behind.setdefault(max(made.get(symbol.source, -1) for symbol in condition.symbols()), []).append(node)
    nodes = [part for place, node in enumerate(graph.nodes) for part in (node, *behind.get(place, ()))]
    return (*behind.get(-1, ()), *nodes), checks


def _found(program: Program, names: Names, memory: Memory) -> Iterator[Calls]:
    """All layers, those first of which most is saved."""
    taken: set[int] = set()
    for stretch in _stretches(program):
        free = _free(stretch, taken)
        steps = layers_in(program, free, names, FEWEST) if free is not None else None
        calls = calls_of(steps, names, memory) if steps is not None else None
        if calls is not None:
            taken.update(range(calls.first, calls.end))
            yield calls


def _free(stretch: Stretch, taken: set[int]) -> Stretch | None:
    """A stretch without the ends that are taken; None where something in its midst is."""
    first, end, period = stretch
    while first < end and first in taken:
        first += 1
    while first < end and end - 1 in taken:
        end -= 1
    return Stretch(first, end, period) if end - first >= period * FEWEST and taken.isdisjoint(range(first, end)) else None


def _stretches(program: Program) -> Sequence[Stretch]:
    keys = [row.exact for row in program.rows]
    found = (stretch for stretch in periodic(keys, FEWEST) if stretch.period >= _SMALLEST)
    return sorted(found, key=lambda stretch: stretch.first + stretch.period - stretch.end)
