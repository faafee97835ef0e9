"""Removes nodes that nothing needs."""

from __future__ import annotations

from ..ir.aliases import Aliases
from ..ir.graph import Graph
from ..ir.node import Node, Value


def prune(graph: Graph) -> tuple[Graph, bool]:
    """The graph without nodes, parameters and constants that contribute to no output, guard or effect.

    A node that writes is needed while its memory is needed later, or belongs to an input or a parameter. Random nodes of a
    recorded graph stay: they advance the generator, and the numbers drawn after them depend on that.
    """
    aliases = Aliases(graph)
    needed: set[Value] = set()

    def need(value: Value) -> None:
        needed.add(value)
        needed.add(aliases.base_of(value))

    for value in graph.roots():
        need(value)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if _contributes(graph, node, needed, aliases):
            kept.append(node)
            for value in node.uses:
                need(value)
    if len(kept) == len(graph.nodes):
        return _without_unused_sources(graph, needed)
    pruned, _ = _without_unused_sources(graph, needed)
    return pruned.derive(nodes=kept[::-1]), True


def _contributes(graph: Graph, node: Node, needed: set[Value], aliases: Aliases) -> bool:
    written = [aliases.base_of(value) for value in node.writes]
    return bool(
        any(value in needed for value in node.outputs)
        or any(base in needed or graph.maker(base) is None for base in written)
        or node.is_random
    )


def _without_unused_sources(graph: Graph, needed: set[Value]) -> tuple[Graph, bool]:
    parameters = {name: value for name, value in graph.parameters.items() if value in needed}
    constants = {name: pair for name, pair in graph.constants.items() if pair[0] in needed}
    changed = len(parameters) + len(constants) != len(graph.parameters) + len(graph.constants)
    return (graph.derive(parameters=parameters, constants=constants) if changed else graph), changed
