"""Dead code elimination (DCE): removes nodes that nothing needs."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.aliases import Aliases
from ...ir.graph import GUARD, Graph
from ...ir.node import Block, Node, Value, values_in
from ..driver import Pass


def dce(graph: Graph) -> tuple[Graph, bool]:
    """Return the graph without nodes, parameters and constants that contribute to no output, guard or effect.

    A node that writes is needed if its memory is needed later, or belongs to an input or a parameter.
    Random nodes of a recorded graph remain, because they advance the generator and so determine the
    numbers drawn after them. Inputs of regions remain.
    """
    aliases = Aliases(graph)
    pruned, changed = Pass("dce", lambda block: _prune(block, aliases), "deep")(graph)
    if not (pruned.parameters or pruned.constants):
        return pruned, changed
    used = {value for node in pruned.nodes for value in node.uses}.union(pruned.roots())
    # A view needs the parameter or constant whose memory it reads.
    used.update(list(map(aliases.base_of, used)))
    found, has_unused = _without_unused_sources(pruned, used)
    return found, changed or has_unused


def _prune(block: Block, aliases: Aliases) -> Block:
    needed: set[Value] = set()

    def need(values: Sequence[Value]) -> None:
        needed.update(values)
        # A write is found by the owner of its memory, so the owners of needed values are needed as well.
        needed.update(map(aliases.base_of, values))

    need(tuple(values_in(block.outputs)))
    kept: list[Node] = []
    for node in reversed(block.nodes):
        if _contributes(block, node, needed, aliases):
            kept.append(node)
            need(node.uses)
    return block if len(kept) == len(block.nodes) else Block(block.inputs, tuple(kept[::-1]), block.outputs)


def _contributes(block: Block, node: Node, needed: set[Value], aliases: Aliases) -> bool:
    written = map(aliases.base_of, node.writes)
    return bool(
        not needed.isdisjoint(node.outputs)
        or any(base in needed or block.maker(base) is None for base in written)
        # A recorded draw advances the generator for later draws.
        or node.is_random
        or node.op == GUARD
    )


def _without_unused_sources(graph: Graph, needed: set[Value]) -> tuple[Graph, bool]:
    parameters = {name: value for name, value in graph.parameters.items() if value in needed}
    constants = {name: pair for name, pair in graph.constants.items() if pair[0] in needed}
    changed = len(parameters) + len(constants) != len(graph.parameters) + len(graph.constants)
    return (graph.derive(parameters=parameters, constants=constants) if changed else graph), changed
