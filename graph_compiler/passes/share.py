"""Shares common sub-expressions: equal operations on equal operands are done once."""

from __future__ import annotations

from typing import Any

from ..ir.aliases import Aliases
from ..ir.graph import Graph
from ..ir.node import Node, Value, values_in
from ..ir.rewrite import Rewriter
from ..sizes import Size


def share(graph: Graph) -> tuple[Graph, bool]:
    """The graph with each repeated pure node replaced by the first of its kind.

    Random nodes, nodes whose operands or results are written to, and results that the caller receives stay apart, and so do nodes that run
    blocks: two branches on one condition may run other blocks.
    """
    aliases = Aliases(graph)
    escaping = {aliases.base_of(value) for value in values_in(graph.outputs)}
    rewriter = Rewriter(graph)
    seen: dict[Any, Node] = {}
    for node in graph.nodes:
        node = rewriter.rewritten(node)
        key = None if _stays(node, aliases, escaping) else _key(node)
        first = seen.setdefault(key, node) if key is not None else node
        if first is node:
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, first.outputs)
    return rewriter.finish()


def _stays(node: Node, aliases: Aliases, escaping: set[Value]) -> bool:
    if node.is_random or node.writes or not node.outputs or node.regions:
        return True
    if node.record is not None and any(aliases.base_of(value) in escaping for value in node.outputs):
        return True
    return any(aliases.is_written(value) for value in (*node.outputs, *node.uses))


def _key(node: Node) -> Any:
    try:
        key = (node.op, node.no_grad, _frozen(node.inputs), _frozen(node.params))
        hash(key)
    except TypeError:
        return None
    return key


def _frozen(item: Any) -> Any:
    if isinstance(item, (tuple, list)):
        return (type(item), *map(_frozen, item))
    if isinstance(item, dict):
        return tuple((key, _frozen(value)) for key, value in item.items())
    if isinstance(item, slice):
        return ("slice", _frozen(item.start), _frozen(item.stop), _frozen(item.step))
    if isinstance(item, (Value, Size)):
        return item
    return (type(item), str(item) if isinstance(item, (float, complex)) else item)
