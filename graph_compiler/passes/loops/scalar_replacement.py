"""Scalar replacement: carry only the part of an array that all iterations read and write.

``for k in range(m): c[i] += x[k]`` carries the row ``c[i]`` instead of ``c``, and writes it to ``c`` after
the loop. This is for targets whose loop index is an array: there each write to a carried array is passed
on as a whole, and its derivative is a whole array.
"""

from __future__ import annotations

from typing import Any

from ...ir.builder import Body, Builder
from ...ir.node import Block, Node, Value
from ...ir.rewrite import Rewriter
from ..driver import Pass
from .open_loops import WHOLE, ArrayHistory, InlinedLoop


def _replace_scalars(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in map(rewriter.rewritten, block.nodes):
        loop = _ScalarLoop(node) if node.op == "scan" and _passes_on_write(node) else None
        if loop is None or not loop.places:
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, loop.written(Builder.into(rewriter, node.origin)))
    return rewriter.finish()


still_places = Pass("still_places", _replace_scalars, "deep", ("scan",))
"""Pass that carries only the accessed part of arrays through loops."""


def _passes_on_write(node: Node) -> bool:
    block = node.regions[0].block
    makers = [
        block.maker(item) for item in block.outputs[: node.params["carried"]] if isinstance(item, Value)
    ]
    return any(made is not None and made.op == "setitem" for made in makers)


class _ScalarLoop(InlinedLoop):
    def __init__(self, node: Node) -> None:
        super().__init__(node)
        histories = {place: self.history(place) for place in range(self.carried)}
        self.histories = {
            place: found for place, found in histories.items() if found is not None and self._is_still(found)
        }
        self.places = {place: found.writes[0].params["key"] for place, found in self.histories.items()}

    def _is_still(self, history: ArrayHistory) -> bool:
        keys = [node.params["key"] for node in (*history.writes, *history.reads)]
        # A key of whole axes selects the array itself, so there is nothing to replace.
        is_part = any(item is not None and item != WHOLE for item in keys[0])
        return is_part and all(key == keys[0] for key in keys) and self.is_still(keys[0])

    def written(self, build: Builder) -> tuple[Value, ...]:
        given = [
            build.getitem(item, key=self.places[place]) if place in self.places else item
            for place, item in enumerate(self.given)
        ]
        state = [Value(old.name, item.spec) for old, item in zip(self.state, given)]
        nodes, outputs = self._body(state)
        operands = [*given, *self.node.inputs[self.carried : self.carried + len(self.rows)]]
        body = Body(self.node.regions[0].name, (*state, *self.rows), nodes, outputs)
        results = list(build.run("scan", operands, [body], **self.node.params))
        for place, key in self.places.items():
            # Without an iteration, this writes back what was read before the loop.
            results[place] = build.setitem(self.given[place], results[place], key=key)
        for made, old in zip(results, self.node.outputs):
            made.name = old.name
        return tuple(results)

    def _body(self, state: list[Value]) -> tuple[list[Node], list[Any]]:
        inner = Rewriter(Block((), tuple(self.nodes), tuple(self.outputs)))
        inner.replace(tuple(self.state), tuple(state))
        of = {
            node: place for place, found in self.histories.items() for node in (*found.writes, *found.reads)
        }
        for node in self.nodes:
            if node not in of:
                inner.append(inner.rewritten(node))
            elif node.op == "getitem":
                inner.replace(node.outputs, (inner.value(node.inputs[0]),))
            else:
                inner.replace(
                    node.outputs,
                    (
                        broadcast_value(
                            Builder.into(inner, node.origin),
                            inner.mapped(node.inputs[1]),
                            state[of[node]].spec,
                        ),
                    ),
                )
        return inner.nodes, [inner.mapped(item) for item in self.outputs]


def broadcast_value(build: Builder, value: Any, spec: Any) -> Value:
    """Return ``value`` broadcast to ``spec``, the shape of the elements to which it is written."""
    if isinstance(value, Value):
        whole: Value = build.broadcast_to(value, shape=spec.shape)
        return whole
    full: Value = build.full(shape=spec.shape, fill_value=value, dtype=spec.dtype)
    return full
