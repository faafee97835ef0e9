"""Takes random numbers that depend on no array for constants: drawn once, the same at every call."""

from __future__ import annotations

from ..ir.graph import Graph, Guard, Node, Value
from ..sizes import Size, apply
from ..trees import iterate_structure, map_structure
from .aliases import Aliases


def bake_generators(graph: Graph) -> tuple[Graph, bool]:
    """The graph with every generator call free to be cached; sizes that one was drawn with are guarded.

    Random calls that read an array (dropout, ``rand_like``) stay as they are: their result is no constant.
    """
    aliases = Aliases(graph)
    inner = {value for node in graph.nodes if not _draws(node) for value in node.outputs if node.uses}
    outside = {*graph.inputs, *graph.parameters.values(), *inner}
    guards, nodes = list(graph.guards), []
    for node in graph.nodes:
        if _draws(node) and not any(aliases.base_of(value) in outside or value in outside for value in _arrays(node)):
            guards += _fixed(node)
            node = _baked(node)
        nodes.append(node)
    return graph.derive(nodes=nodes, guards=guards), len(guards) > len(graph.guards)


def _draws(node: Node) -> bool:
    return bool(node.facts.get("random"))


def _arrays(node: Node) -> list[Value]:
    return [item for item in iterate_structure((node.inputs, node.params)) if isinstance(item, Value)]


def _fixed(node: Node) -> list[Guard]:
    sizes = (item for item in iterate_structure((node.inputs, node.params)) if isinstance(item, Size))
    conditions = [apply("eq", size, size.hint) for size in dict.fromkeys(sizes)]
    return [Guard(condition, True, node.origin) for condition in conditions if isinstance(condition, Size)]


def _baked(node: Node) -> Node:
    def hint(item: object) -> object:
        return item.hint if isinstance(item, Size) else item

    facts = {name: fact for name, fact in node.facts.items() if name != "random"}
    made = Node(node.op, map_structure(hint, node.inputs), map_structure(hint, node.params), node.origin, facts)
    made.outputs = node.outputs
    for value in made.outputs:
        value.node = made
    return made
