"""Blocks that write to arrays of the outside: a region is pure, so it writes to a copy, which it gives as one more output."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.block import Block
from ..ir.closing import Body
from ..ir.node import Node, Origin, Value
from ..ir.record import CallRecord
from ..ir.rewrite import Rewriter
from ..ops.registry import ArraySpec


def on_copies(body: Body, written: Mapping[Value, Value], origin: Origin, copy: str) -> Body:
    """The body with copies, made by a call, of what it writes to, which are its last outputs; ``written`` says of which value each is a
    copy."""
    rewriter = Rewriter(Block(tuple(body.inputs), tuple(body.nodes), tuple(body.outputs)))
    copies = []
    for value, source in written.items():
        made = Value(value.name, ArraySpec(value.spec.hints, value.dtype))
        rewriter.append(Node(copy, (source,), {}, origin, (made,), CallRecord("clone", result=made)))
        rewriter.replace((value,), (made,))
        copies.append(made)
    for node in body.nodes:
        rewriter.append(rewriter.rewritten(node))
    return Body(body.name, body.inputs, rewriter.nodes, (*rewriter.mapped(tuple(body.outputs)), *copies))
