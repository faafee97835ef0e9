"""Inline calls of functions, so that passes see the operations of all layers together."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from ...ir.copying import inline
from ...ir.graph import GUARD, Graph
from ...ir.node import Block, Node
from ...ir.rewrite import Rewriter
from ..driver import only_with
from ..lowering.layout import changes_layout


@only_with("call")
def inlined_calls(graph: Graph, prefers: Container[str] | None = None) -> tuple[Graph, bool]:
    """Return the graph with its calls inlined, except those that are recomputed for a gradient.

    With ``prefers``, inline only functions that would take or return arrays in another layout for the
    operations in ``prefers``. Inlined nodes get the module path of their call.
    """
    block = graph.block
    if not any(map(_is_plain, block.nodes)):
        return graph, False
    # Several calls share a region, so each function is examined once.
    functions = {id(node.regions[0].block): node.regions[0].block for node in filter(_is_plain, block.nodes)}
    written_out = {
        key for key, function in functions.items() if prefers is None or changes_layout(function, prefers)
    }
    made = _inline(block, lambda node: _is_plain(node) and id(node.regions[0].block) in written_out)
    return (graph, False) if made is block else (graph.with_block(made), True)


def _is_plain(node: Node) -> bool:
    return node.op == "call" and not node.params["checkpoint"]


def _inline(block: Block, is_written_out: Callable[[Node], bool]) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        if not is_written_out(node):
            rewriter.append(node)
            continue
        path = node.origin.module.split(".")

        # The default binds the path of this call; a closure would read that of the last one.
        def append(part: Node, path: list[str] = path) -> None:
            rewriter.append(_in_module(part, path))

        outputs = inline(node.regions[0], node.inputs, append)
        for made, old in zip(outputs, node.outputs):
            rewriter.name(made, old)
        rewriter.replace(node.outputs, outputs)
    return rewriter.finish()


def _in_module(node: Node, path: list[str]) -> Node:
    """Return ``node`` with each ``*`` of its module path (``layer.*.norm``) replaced from ``path``."""
    own = node.origin.module.split(".")
    module = ".".join(
        path[place] if part == "*" and place < len(path) else part for place, part in enumerate(own)
    )
    return node if module == node.origin.module else replace(node, origin=replace(node.origin, module=module))


def without_checks(graph: Graph) -> Graph:
    """Return the graph with its calls inlined, except those that are recomputed, and without check nodes."""
    found = inlined_calls(graph)[0]
    return found.derive(nodes=[node for node in found.nodes if node.op != GUARD])
