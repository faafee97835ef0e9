"""Whether numbers of steps say where slices end and how many steps inner loops have: loops that count in arrays have no such bounds."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.graph import Graph
from ..ir.node import Node, Value
from ..sizes import Size


def moves_with_steps(graph: Graph) -> bool:
    """Whether that is so in a loop of the graph, so that it is written in canonical operations (``moving_slices``, ``bounded_loops``)."""
    return any(_moves(node, frozenset()) for node in graph.nodes)


def _moves(node: Node, numbers: frozenset[Value]) -> bool:
    """``numbers`` are those of outer steps."""
    for region in node.regions:
        own = {symbol.source for symbol, size in region.sizes.items() if isinstance(size, Size) and _reads(size, numbers)}
        if node.op == "scan":
            own.update(region.block.inputs[node.params["carried"] :][: node.params["sequences"]])
        inside = frozenset(own)
        if any(_moves(inner, inside) or any(_reads(size, inside) for size in _bounds(inner)) for inner in region.block.nodes):
            return True
    return False


def _reads(size: Size, numbers: frozenset[Value]) -> bool:
    return any(symbol.source in numbers for symbol in size.symbols())


def _bounds(node: Node) -> Iterator[Size]:
    """The sizes in a slice, in a range, and in the length of a loop."""
    given = [part for item in node.inputs for part in (item if isinstance(item, tuple) else (item,))]
    slices = [part for item in given if isinstance(item, slice) for part in (item.start, item.stop)]
    parts = node.inputs if node.key == "arange" else slices
    yield from (part for part in (*parts, node.params.get("length")) if isinstance(part, Size))
