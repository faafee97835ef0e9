"""Graphs as text, for reading and for messages: one line a node."""

from __future__ import annotations

from typing import Any

from ..sizes import Size
from ..trees import map_structure
from .graph import Graph
from .node import Node, Value


def to_text(graph: Graph, around: Node | None = None, lines: int = 10) -> str:
    """The graph a line a node; with ``around`` only that node, marked, and ``lines`` neighbours on each side."""
    head = f"graph {graph.name} ({graph.dialect}): {', '.join(map(repr, graph.inputs))}"
    nodes = graph.nodes
    if around is not None:
        middle = next(i for i, node in enumerate(nodes) if node is around)
        nodes = nodes[max(0, middle - lines) : middle + lines + 1]
    body = [f"{'->' if node is around else '  '} {node_text(node)}" for node in nodes]
    return "\n".join([head, *body, f"   return {_text(tuple(graph.outputs))}"])


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
