"""Writes operations that a backend has no row for in terms of smaller ones that it has."""

from __future__ import annotations

from collections.abc import Container

from ..errors import UnsupportedOperation
from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.rewrite import Rewriter
from ..ops.registry import get_decomposition


def decompose(graph: Graph, known: Container[str], target: str) -> tuple[Graph, bool]:
    """The graph in operations of ``known`` only; ``UnsupportedOperation`` lists all that have neither row nor decomposition."""
    missing = [node for node in graph.nodes if node.op not in known and get_decomposition(node.op) is None]
    if missing:
        lines = "\n".join(f"  {node.op}, for {node.origin}" for node in missing)
        raise UnsupportedOperation(f"{target} has no row for these operations of {graph.name}, and they have no decomposition:\n{lines}")
    if all(node.op in known for node in graph.nodes):
        return graph, False
    rewriter = Rewriter(graph)
    scratch = graph.derive(nodes=[])
    for node in graph.nodes:
        node = rewriter.rewritten(node)
        rule = None if node.op in known else get_decomposition(node.op)
        if rule is None:
            rewriter.append(node)
            continue
        scratch.nodes = []
        results = rule(Builder(scratch, node.origin), *node.inputs, **node.params)
        opened, _ = decompose(scratch.derive(outputs=[], guards=[], effects=[]), known, target)
        for part in opened.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, results if isinstance(results, tuple) else (results,))
    return rewriter.finish(constants=scratch.constants)
