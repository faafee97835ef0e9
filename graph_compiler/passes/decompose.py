"""Writes operations that a backend has no row for in terms of smaller ones that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..errors import UnsupportedOperation
from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.rewrite import Rewriter
from ..ops.registry import get_decomposition


class Rows(Protocol):
    """What is known of a target's lowering table."""

    framework: str
    unsupported: Mapping[str, str]  # operation -> why the target cannot have it

    def __contains__(self, name: str) -> bool:
        """Whether there is a row for this operation."""


def decompose(graph: Graph, rows: Rows) -> tuple[Graph, bool]:
    """The graph in operations that have rows; ``UnsupportedOperation`` lists all that have neither row nor decomposition."""
    missing = [node for node in graph.nodes if node.op not in rows and get_decomposition(node.op) is None]
    if missing:
        problems = [f"{node.op}, for {node.origin}{_because(rows, node.op)}" for node in missing]
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UnsupportedOperation(
            f"{rows.framework} has no row for these operations of {graph.name}, and they have no decomposition:\n{lines}",
            problems,
        )
    if all(node.op in rows for node in graph.nodes):
        return graph, False
    rewriter = Rewriter(graph)
    scratch = graph.derive(nodes=[])
    for node in graph.nodes:
        node = rewriter.rewritten(node)
        rule = None if node.op in rows else get_decomposition(node.op)
        if rule is None:
            rewriter.append(node)
            continue
        scratch.nodes = []
        results = rule(Builder(scratch, node.origin, rewriter.maker), *node.inputs, **node.params)
        wanted = list(results) if isinstance(results, tuple) else [results]
        opened, _ = decompose(scratch.derive(outputs=wanted, guards=[], effects=[]), rows)
        for part in opened.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, tuple(opened.outputs))
    return rewriter.finish(constants=scratch.constants)


def _because(rows: Rows, name: str) -> str:
    return f": {rows.unsupported[name]}" if name in rows.unsupported else ""
