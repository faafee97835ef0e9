"""Split loops into segments of about ``sqrt(n)`` iterations, to save memory in gradients.

The gradient of a ``scan`` without ``checkpoint`` stores the intermediate results of all ``n`` iterations.
With segments of ``s`` iterations it stores the carry of each of the ``n / s`` segments and recomputes one
segment at a time: about ``n / s + s`` stored results, which is least for ``s = sqrt(n)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...ir.builder import Body, Builder
from ...ir.graph import Graph
from ...ir.node import Block, Node, Value
from ...ir.rewrite import Rewriter
from ...ops.registry import ArraySpec
from ...sizes import hint_of
from ..driver import Pass

# Segments of loops with fewer iterations would save little memory.
_FEWEST = 8


def _segment_loops(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        if node.op != "scan" or node.record is not None or hint_of(node.params["length"]) < _FEWEST:
            rewriter.append(node)
            continue
        scratch = Graph("scratch", "canonical")
        outputs = _SegmentedLoop(Builder(scratch, node.origin, rewriter.maker), node).outputs()
        for part in scratch.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, outputs)
    return rewriter.finish()


class _SegmentedLoop:
    """Replacement of one loop by a loop over segments, and one over the iterations that may remain.

    If the loop runs in reverse, the remaining iterations run first.
    """

    def __init__(self, build: Builder, node: Node) -> None:
        self.build, self.node = build, node
        carried, length = node.params["carried"], node.params["length"]
        own = carried + node.params["sequences"]
        self.state, self.sequences, self.captured = (
            node.inputs[:carried],
            node.inputs[carried:own],
            node.inputs[own:],
        )
        # The segment length is a constant; only the number of segments depends on the trip count.
        self.steps = math.isqrt(hint_of(length))
        self.count = length // self.steps
        self.whole, self.left = self.count * self.steps, length - self.count * self.steps

    def outputs(self) -> tuple[Any, ...]:
        # A symbolic remainder may be empty in a call, but its loop is always written.
        if isinstance(self.left, int) and self.left == 0:
            return self._in_segments(self.state)
        first, second = (
            (self._rest, self._in_segments)
            if self.node.params["reverse"]
            else (self._in_segments, self._rest)
        )
        count = len(self.state)
        before = first(self.state)
        after = second(before[:count])
        pairs = zip(*((after, before) if self.node.params["reverse"] else (before, after)))
        joined = [self.build.concat(*pair, axis=0) for pair in list(pairs)[count:]]
        return (*after[:count], *joined)

    def _in_segments(self, state: Sequence[Any]) -> tuple[Any, ...]:
        build, params = self.build, self.node.params
        rows = [
            build.getitem(item, key=((None, self.whole, 1), *_whole_axes(item))) for item in self.sequences
        ]
        segments = [build.reshape(item, shape=(self.count, self.steps, *item.shape[1:])) for item in rows]
        inputs = [Value(item.name, item.spec) for item in state]
        inputs += [Value(item.name, ArraySpec((self.steps, *item.shape[1:]), item.dtype)) for item in rows]
        body = self._body(inputs)
        options = {
            "carried": len(state),
            "sequences": len(rows),
            "length": self.count,
            "reverse": params["reverse"],
            "checkpoint": True,
        }
        found = self._named(build.run("scan", [*state, *segments], [body], **options))
        count = len(state)
        return (
            *found[:count],
            *(build.reshape(item, shape=(self.whole, *item.shape[2:])) for item in found[count:]),
        )

    def _body(self, inputs: Sequence[Value]) -> Body:
        count = len(self.state)
        specs = [value.spec for value in self.node.outputs]
        specs[count:] = [ArraySpec((self.steps, *spec.shape[1:]), spec.dtype) for spec in specs[count:]]
        outputs = tuple(Value(value.name, spec) for value, spec in zip(self.node.outputs, specs))
        params = {**self.node.params, "length": self.steps}
        step = Node(
            "scan", (*inputs, *self.captured), params, self.node.origin, outputs, regions=self.node.regions
        )
        return Body("segment", inputs, [step], outputs)

    def _rest(self, state: Sequence[Any]) -> tuple[Any, ...]:
        build, params = self.build, {**self.node.params, "length": self.left}
        rows = [
            build.getitem(item, key=((self.whole, item.shape[0], 1), *_whole_axes(item)))
            for item in self.sequences
        ]
        specs = [value.spec for value in self.node.outputs]
        specs[len(state) :] = [
            ArraySpec((self.left, *spec.shape[1:]), spec.dtype) for spec in specs[len(state) :]
        ]
        return self._named(
            build.append("scan", (*state, *rows, *self.captured), params, tuple(specs), self.node.regions)
        )

    def _named(self, made: tuple[Value, ...]) -> tuple[Value, ...]:
        for value, old in zip(made, self.node.outputs):
            value.name = old.name
        return made


def _whole_axes(item: Value) -> tuple[Any, ...]:
    return ((None, None, 1),) * (item.ndim - 1)


segment_scans = Pass("segment_scans", _segment_loops, "deep")
"""Pass that runs long ``scan`` loops in segments, so that their gradients store fewer results."""
