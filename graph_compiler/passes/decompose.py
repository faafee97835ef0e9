"""Writes operations that a backend has no row for in terms of smaller ones that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..errors import UnsupportedOperation
from ..ir.block import Block
from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.rewrite import Rewriter
from ..ops.registry import get_decomposition
from .driver import Pass, nodes_of


class Rows(Protocol):
    """What is known of a target's lowering table."""

    framework: str
    unsupported: Mapping[str, str]  # operation -> why the target cannot have it

    def __contains__(self, name: str) -> bool:
        """Whether there is a row for this operation."""


def decompose(graph: Graph, rows: Rows) -> tuple[Graph, bool]:
    """The graph in operations that have rows; ``UnsupportedOperation`` lists all that have neither row nor decomposition."""
    _require(graph.block, rows, graph.name)
    return _decomposition(rows, graph.name)(graph)


def _decomposition(rows: Rows, name: str) -> Pass:
    return Pass("decompose", lambda block: _opened(block, rows, name), "deep")


def _require(block: Block, rows: Rows, name: str) -> None:
    missing = [node for node in nodes_of(block) if node.op not in rows and get_decomposition(node.op) is None]
    if missing:
        problems = [f"{node.op}, for {node.origin}{_because(rows, node.op)}" for node in missing]
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UnsupportedOperation(
            f"{rows.framework} has no row for these operations of {name}, and they have no decomposition:\n{lines}",
            problems,
        )


def _opened(block: Block, rows: Rows, name: str) -> Block:
    """The block without operations that have no row; those of its regions have been opened before."""
    if all(node.op in rows for node in block.nodes):
        return block
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        rule = None if node.op in rows else get_decomposition(node.op)
        if rule is None:
            rewriter.append(node)
            continue
        scratch = Graph("scratch", "canonical")
        results = rule(Builder(scratch, node.origin, rewriter.maker), *node.inputs, **node.params)
        made = Block((), tuple(scratch.nodes), results if isinstance(results, tuple) else (results,))
        _require(made, rows, name)
        opened = _decomposition(rows, name).on(made)
        for part in opened.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, opened.outputs)
    return rewriter.finish()


def _because(rows: Rows, name: str) -> str:
    return f": {rows.unsupported[name]}" if name in rows.unsupported else ""
