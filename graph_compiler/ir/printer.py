"""Graphs as text, for reading and for messages: one line a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..sizes import Size
from ..trees import map_structure
from .graph import Graph
from .node import Node, Value


def to_text(graph: Graph, around: Node | None = None, lines: int = 10) -> str:
    """The graph a line a node; with ``around`` only that node, marked, and ``lines`` neighbours on each side. Regions are set in below their node."""
    head = f"graph {graph.name} ({graph.dialect}): {', '.join(map(repr, graph.inputs))}"
    body = [("->" if around is not None and node is around else "  ", depth, text) for node, depth, text in _lines(graph.nodes, 0)]
    if around is not None:
        middle = next((place for place, line in enumerate(body) if line[0] == "->"), 0)
        body = body[max(0, middle - lines) : middle + lines + 1]
    written = [f"{mark} {'    ' * depth}{text}" for mark, depth, text in body]
    return "\n".join([head, *written, f"   return {_text(tuple(graph.outputs))}"])


def _lines(nodes: Iterable[Node], depth: int) -> Iterator[tuple[Node | None, int, str]]:
    for node in nodes:
        line = f"  # {node.origin.file.replace(chr(92), '/').rpartition('/')[2]}:{node.origin.line}" if node.origin.file else ""
        yield node, depth, f"{node_text(node)}{line}"
        for region in node.regions:
            yield None, depth + 1, f"{region.name}({', '.join(map(repr, region.block.inputs))}):"
            yield from _lines(region.block.nodes, depth + 2)
            yield None, depth + 2, f"return {_text(tuple(region.block.outputs))}"


def node_text(node: Node) -> str:
    """One node as a line: outputs with their specs, operation, inputs, params."""
    arguments = [_text(item) for item in node.inputs] + [f"{key}={_text(item)}" for key, item in node.params.items()]
    outputs = ", ".join(map(repr, node.outputs)) or "-"
    return f"{outputs} = {node.op}({', '.join(arguments)})"


class _Bare(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _text(item: Any) -> str:
    def name(part: Any) -> Any:
        return _Bare(f"%{part.name}") if isinstance(part, Value) else _Bare(part) if isinstance(part, Size) else part

    return repr(map_structure(name, item))
