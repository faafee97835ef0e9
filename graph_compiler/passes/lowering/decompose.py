"""Replace operations without a row in a backend's table by their decompositions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...errors import UnsupportedOperation
from ...ir.builder import Builder
from ...ir.graph import Graph
from ...ir.node import Block, Node, Value
from ...ir.rewrite import Rewriter
from ...ops.registry import get_decomposition
from ..driver import Pass, nodes_of


class LoweringTable(Protocol):
    """Table of the operations that a target can write.

    framework: name of the target.
    unsupported: reasons why the target cannot support operations, by name of the operation.
    can_write(node): True if a row fits ``node``.
    """

    framework: str
    unsupported: Mapping[str, str]

    def can_write(self, node: Node) -> bool: ...

    def compute_dtype(self, op: str, dtype: str) -> str | None:
        """Return the dtype to which decomposing ``op`` casts operands of ``dtype``; None for no cast."""


def decompose(graph: Graph, rows: LoweringTable) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with decompositions instead of operations without a row, also in regions.

    Raise ``UnsupportedOperation`` if operations without a row remain.
    """
    if all(map(rows.can_write, nodes_of(graph.block))):
        return graph, False
    made, is_changed = _decomposition(rows)(graph)
    _require(made.block, rows, graph.name)
    return made, is_changed


def _decomposition(rows: LoweringTable) -> Pass:
    return Pass("decompose", lambda block: _decompose_block(block, rows), "deep")


def _require(block: Block, rows: LoweringTable, name: str) -> None:
    missing = [node for node in nodes_of(block) if not rows.can_write(node)]
    if missing:
        problems = list(
            dict.fromkeys(f"{node.op}, for {node.origin}{_reason(rows, node.op)}" for node in missing)
        )
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UnsupportedOperation(
            f"{rows.framework} has no row for these operations of {name}, and they have no decomposition:\n"
            f"{lines}",
            problems,
        )


def _decompose_block(block: Block, rows: LoweringTable) -> Block:
    if all(map(rows.can_write, block.nodes)):
        return block
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        rule = None if rows.can_write(node) else get_decomposition(node.op)
        if rule is None:
            rewriter.append(node)
            continue
        scratch = Graph("scratch", "canonical")
        outputs = _apply_rule(Builder(scratch, node.origin, rewriter.maker), rule, node, rows)
        made = Block((), tuple(scratch.nodes), outputs)
        # A decomposition may itself use operations that need decomposing.
        opened = _decomposition(rows).on(made)
        for part in opened.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, opened.outputs)
    return rewriter.finish()


def _apply_rule(build: Builder, rule: Callable[..., Any], node: Node, rows: LoweringTable) -> tuple[Any, ...]:
    inputs = [
        _cast(build, item, rows.compute_dtype(node.op, item.dtype)) if isinstance(item, Value) else item
        for item in node.inputs
    ]
    results = rule(build, *inputs, **node.params)
    made = results if isinstance(results, tuple) else (results,)
    return tuple(_cast(build, item, value.dtype) for item, value in zip(made, node.outputs, strict=True))


def _cast(build: Builder, value: Any, dtype: str | None) -> Any:
    return value if dtype is None or not isinstance(value, Value) else build.astype(value, dtype=dtype)


def _reason(rows: LoweringTable, name: str) -> str:
    return f": {rows.unsupported[name]}" if name in rows.unsupported else ""
