"""Common subexpression elimination (CSE): computes equal operations on equal operands once."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from ...ir.aliases import Aliases
from ...ir.graph import Graph
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ir.sameness import hashable, region_description
from ..driver import Pass

_OP = attrgetter("op")


def cse(graph: Graph) -> tuple[Graph, bool]:
    """Return the graph with each repeated pure node replaced by the first of its kind.

    Random nodes, nodes that touch written memory, and recorded nodes whose results the caller receives are
    not merged. Nodes with regions are equal if their regions are the same program.
    """
    aliases = Aliases(graph)
    escaping = set(map(aliases.base_of, values_in(graph.outputs)))
    return Pass("cse", lambda block: _merge_equal(block, aliases, escaping), "deep")(graph)


def _merge_equal(block: Block, aliases: Aliases, escaping: set[Value]) -> Block:
    # If each operation occurs once, no two nodes can be equal.
    if len(set(map(_OP, block.nodes))) == len(block.nodes):
        return block
    # Outputs of a region must not be merged either: its node may return them as separate arrays.
    escaping = escaping.union(map(aliases.base_of, values_in(block.outputs)))
    rewriter = Rewriter(block)
    seen: dict[Any, list[Node]] = {}
    for node in block.nodes:
        node = rewriter.rewritten(node)
        key = None if _stays(node, aliases, escaping) else _key(node)
        same = seen.setdefault(key, []) if key is not None else []
        first = next((other for other in same if _runs_the_same(other, node)), None)
        if first is None:
            same.append(node)
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, first.outputs)
    return rewriter.finish()


def _stays(node: Node, aliases: Aliases, escaping: set[Value]) -> bool:
    if node.is_random or node.writes or not node.outputs:
        return True
    if node.record is not None and not escaping.isdisjoint(map(aliases.base_of, node.outputs)):
        return True
    return any(map(aliases.is_written, (*node.outputs, *node.uses)))


def _key(node: Node) -> Any:
    """Return what equal nodes share except for their regions; None if an argument is not hashable."""
    try:
        key = (node.op, node.no_grad, hashable(node.inputs), hashable(node.params))
        hash(key)
    except TypeError:
        return None
    return key


def _runs_the_same(one: Node, other: Node) -> bool:
    # Arguments of recorded calls need not be hashable. Regions with such calls equal no others.
    try:
        return all(
            first is second or region_description(first, hashable) == region_description(second, hashable)
            for first, second in zip(one.regions, other.regions)
        )
    except TypeError:
        return False
