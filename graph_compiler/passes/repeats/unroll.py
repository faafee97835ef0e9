"""Inline calls of functions and unroll short loops.

A loop has overhead and keeps a compiler from fusing one iteration with the next. Unrolled, it takes lines
and compile time instead. So only loops whose trip count is a number are unrolled, and only if few nodes
result.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import GUARD, Graph
from ...ir.node import Block, Node, Value
from ...ir.rewrite import Rewriter, inline
from ..driver import Pass, nodes_of, only_with
from ..lowering.layout import may_change_layout

# ---------------------------------------------------------------------------------------------- inlined calls


@only_with("call")
def inlined_calls(graph: Graph, prefers: Container[str] | None = None) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with plain calls inlined, except for those in regions.

    Calls with ``checkpoint`` or ``strong_zero`` are not plain. With ``prefers``, inline only functions that
    may take or return channels-last arrays if the operations in ``prefers`` run in that layout.
    """
    block = graph.block
    if not any(map(_is_plain, block.nodes)):
        return graph, False
    # Several calls share a region, so each function is examined once.
    functions = {id(node.regions[0].block): node.regions[0].block for node in filter(_is_plain, block.nodes)}
    written_out = {
        key for key, function in functions.items() if prefers is None or may_change_layout(function, prefers)
    }
    made = _inline(block, lambda node: _is_plain(node) and id(node.regions[0].block) in written_out)
    return (graph, False) if made is block else (graph.with_block(made), True)


def _is_plain(node: Node) -> bool:
    # The other calls say how their function is differentiated.
    return node.op == "call" and not node.params["checkpoint"] and not node.params["strong_zero"]


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
    """Fill in ``*`` in the module path of a node (``layer.*.norm``) from the same place of ``path``."""
    own = node.origin.module.split(".")
    module = ".".join(
        path[place] if part == "*" and place < len(path) else part for place, part in enumerate(own)
    )
    return node if module == node.origin.module else replace(node, origin=replace(node.origin, module=module))


def without_checks(graph: Graph) -> Graph:
    found = inlined_calls(graph)[0]
    return found.derive(nodes=[node for node in found.nodes if node.op != GUARD])


# ----------------------------------------------------------------------------------------------------- unroll
MOST_NODES = 512
"""Most nodes in all iterations of a loop that :data:`unroll` unrolls."""


def unrolled(most: int) -> Pass:
    """Return a pass that unrolls canonical ``scan`` loops with at most ``most`` nodes in all iterations.

    Loops of symbolic length, without iterations, with an empty body or with ``checkpoint`` remain.
    """
    return Pass("unroll", lambda block: _unroll_block(block, most), "deep")


def _unroll_block(block: Block, most: int) -> Block:
    if not any(_is_short(node, most) for node in block.nodes):
        return block
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        if _is_short(node, most):
            rewriter.replace(node.outputs, _unrolled_outputs(node, rewriter))
        else:
            rewriter.append(node)
    return rewriter.finish()


def _is_short(node: Node, most: int) -> bool:
    if node.op != "scan" or node.record is not None or node.params["checkpoint"]:
        return False
    length = node.params["length"]
    # A loop without an iteration has no rows that could be stacked.
    return isinstance(length, int) and 0 < length * sum(1 for _ in nodes_of(node.regions[0].block)) <= most


def _unrolled_outputs(node: Node, rewriter: Rewriter) -> tuple[Any, ...]:
    scratch, params = Graph("scratch", "canonical"), node.params
    build = Builder(scratch, node.origin, rewriter.maker)
    carried, own = params["carried"], params["carried"] + params["sequences"]
    state, sequences, captured = node.inputs[:carried], node.inputs[carried:own], node.inputs[own:]
    made: list[Sequence[Any]] = []
    for place in _order(params):
        rows = [build.getitem(item, key=(place, *_whole(item))) for item in sequences]
        found = inline(node.regions[0], [*state, *rows, *captured], scratch.nodes.append)
        state = found[:carried]
        made.append(found[carried:])
    stacked = [build.stack(*items, axis=0) for items in zip(*(reversed(made) if params["reverse"] else made))]
    for part in scratch.nodes:
        rewriter.append(part)
    return (*state, *stacked)


def _order(params: dict[str, Any]) -> Sequence[int]:
    places = range(params["length"])
    return places[::-1] if params["reverse"] else places


def _whole(item: Value) -> tuple[Any, ...]:
    return ((None, None, 1),) * (item.ndim - 1)


unroll = unrolled(MOST_NODES)
"""Pass that unrolls short loops of a fixed length: ``passes=[unroll]``."""
