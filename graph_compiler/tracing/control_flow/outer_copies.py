"""Blocks that write to arrays of the outside: a region is pure, so it writes to a copy, which it gives as one more output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...ir.block import Block
from ...ir.closing import Body
from ...ir.node import Node, Origin, Value
from ...ir.record import CallRecord
from ...ir.rewrite import Rewriter
from ...ops.registry import ArraySpec


@dataclass(frozen=True)
class OuterCopies:
    """What the blocks of one node have ``written`` to outside. ``copy`` is the call that copies an array, and ``record`` what is noted of
    it; ``spec_of`` gives the shape and dtype of a value inside of a block."""

    written: Sequence[Value]
    origin: Origin
    copy: str
    record: CallRecord
    spec_of: Callable[[Value], ArraySpec]

    def node(
        self, bodies: Sequence[Body], operands: Sequence[Value], names: Sequence[str], params: Mapping[str, Any]
    ) -> tuple[list[Body], list[Value], list[str], dict[str, Any]]:
        """Bodies, operands, names of results and parameters of the node that gives the copies behind its results; a loop carries them
        behind what it carries, before what has a row for each step."""
        first = params.get("carried", len(names))
        names = [*names[:first], *(value.name for value in self.written), *names[first:]]
        if "carried" not in params:
            return [self._on_copies(body, dict(zip(self.written, self.written))) for body in bodies], [*operands], names, {**params}
        operands = [*operands[:first], *self.written, *operands[first:]]
        return [self._carrying(body, first) for body in bodies], operands, names, {**params, "carried": first + len(self.written)}

    def _carrying(self, body: Body, first: int) -> Body:
        """The body of a loop with inputs for the copies behind its ``first`` ones."""
        sources = {value: Value(value.name, self.spec_of(value)) for value in self.written}
        changed = self._on_copies(body, sources)
        count = len(body.outputs)
        copies = () if body.name == "condition" else changed.outputs[count:]
        outputs = (*changed.outputs[: min(first, count)], *copies, *changed.outputs[min(first, count) : count])
        return replace(changed, inputs=(*body.inputs[:first], *sources.values(), *body.inputs[first:]), outputs=outputs)

    def _on_copies(self, body: Body, sources: Mapping[Value, Value]) -> Body:
        """The body with copies of what it writes to, which are its last outputs; ``sources`` says of which value each is a copy."""
        rewriter = Rewriter(Block(tuple(body.inputs), tuple(body.nodes), tuple(body.outputs)))
        copies = []
        for value, source in sources.items():
            made = Value(value.name, ArraySpec(value.spec.hints, value.dtype))
            rewriter.append(Node(self.copy, (source,), {}, self.origin, (made,), replace(self.record, result=made)))
            rewriter.replace((value,), (made,))
            copies.append(made)
        for node in body.nodes:
            rewriter.append(rewriter.rewritten(node))
        return Body(body.name, body.inputs, rewriter.nodes, (*rewriter.mapped(tuple(body.outputs)), *copies))
