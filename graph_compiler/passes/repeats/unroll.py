"""Unroll short loops: ``passes=[unroll]``, and for targets where a loop costs more than its iterations.

A loop has overhead and keeps a compiler from fusing one iteration with the next. Unrolled, it takes lines
and compile time instead. So only loops with a trip count that is the same at each call are unrolled, and
only if few nodes result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.builder import Builder
from ...ir.copying import inline
from ...ir.graph import Graph
from ...ir.node import Block, Node, Value
from ...ir.rewrite import Rewriter
from ..driver import Pass, nodes_of

MOST_NODES = 512
"""Most nodes into which :data:`unroll` turns one loop."""


def unrolled(most: int) -> Pass:
    """Return a pass that unrolls each canonical ``scan`` of a constant length to at most ``most`` nodes.

    Loops without an iteration remain, and loops whose iterations are recomputed for a gradient
    (``checkpoint``), because these save memory.
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
    """Append the iterations of ``node`` to ``rewriter``, and return the carry and the stacked outputs."""
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
