"""Refuses operations that find elements inside of loops and branches, for targets that compile these and so have to know all sizes.

Outside of them such an operation runs as it is, since nothing has to be compiled. A loop that was written out has none left, nor has one
whose operations were given a bound (:mod:`.pad_dynamic_sizes`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import UnsupportedOperation
from ..ir.block import Block
from ..ir.graph import Graph
from ..ir.node import Node
from ..sizes import Size
from .driver import only_with

_PLAIN = frozenset({"call", "custom_derivative"})  # run as functions of Python where nothing else compiles them
_FIND = frozenset(
    {"argwhere", "bincount", "boolean_mask", "nonzero", "repeat", "unique_all", "unique_consecutive", "unique_values"}
)  # how many elements they give may depend on the elements that they are given


class SizesUnknown(UnsupportedOperation):
    """Operations that find elements stand in a loop or branch."""


@only_with(*_FIND)
def require_known_sizes(graph: Graph, framework: str) -> tuple[Graph, bool]:
    """The graph as it is; ``SizesUnknown`` lists all operations that ``framework`` cannot compile."""
    problems = [f"{node.op}, for {node.origin}" for node in _unknown(graph.block, False)]
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise SizesUnknown(
            f"{framework} compiles loops and branches, so it has to know all sizes in them, and how many elements these operations of "
            f"{graph.name} give depends on elements:\n{lines}\nTake them out of the loop or branch, or compute with all elements there "
            "and leave out by `where` those that do not count: a sum, mean or write of what a mask finds is translated.",
            problems,
        )
    return graph, False


def _unknown(block: Block, compiled: bool) -> Iterator[Node]:
    for node in block.nodes:
        for region in node.regions:
            yield from _unknown(region.block, compiled or node.op not in _PLAIN)
        if compiled and node.op in _FIND and any(_is_its_own(dim, node) for value in node.outputs for dim in value.shape):
            yield node


def _is_its_own(dim: object, node: Node) -> bool:
    """Whether only the result tells a size."""
    return isinstance(dim, Size) and any(symbol.source in node.outputs for symbol in dim.symbols())
