"""A rule for gradients that was run on a gradient that stands for any, and its node: results that are as they were, with the rule as a
region.

The forward stays among the other calls, with its guards, writes and random numbers; the node hands its results on. What the forward made
and the rule reads is cut off from gradients, as torch saves it without a history; arguments and results that the rule reads have theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ....errors import TracingError
from ....ir.closing import Body, close
from ....ir.node import Node, Value, values_in
from ....ir.record import CallRecord
from ....sizes import Size
from ....trees import iterate_structure
from ..trace import Trace


@dataclass(frozen=True)
class RecordedRule:
    """The calls of a rule. ``gradients`` are what it gives for the ``sources``, from the ``cotangents`` of the ``results``."""

    results: Sequence[Value]
    sources: Sequence[Value]
    cotangents: Sequence[Value]
    gradients: Sequence[Value]
    nodes: Sequence[Node]

    @classmethod
    def of(cls, capture: Trace, results: Sequence[torch.Tensor], args: Sequence[Any], rule: Callable[..., Any]) -> RecordedRule:
        """Runs the rule; ``TracingError`` where its calls do not tell what it does with any gradient."""
        graph = capture.recorder.graph
        guards, values = len(graph.guards), [capture.value(item) for item in results]
        ones = [torch.ones_like(item) for item in results]
        cotangents, first = [capture.value(item) for item in ones], len(graph.nodes)
        for value in cotangents:
            value.name = "gradient"
        given = rule(*ones)
        given = given if isinstance(given, (tuple, list)) else (given,)
        pairs = [(arg, item) for arg, item in zip(args, given) if isinstance(arg, torch.Tensor) and item is not None]
        gradients = [_as_of(capture, item, arg) for arg, item in pairs]
        made = cls(values, [capture.value(arg) for arg, _ in pairs], cotangents, gradients, graph.nodes[first:])
        made._check(capture, [guard.condition for guard in graph.guards[guards:]])
        return made

    def _check(self, capture: Trace, conditions: Sequence[Any]) -> None:
        recorder, inner = capture.recorder, {*self.cotangents, *(value for node in self.nodes for value in node.outputs)}
        written = {recorder.base_of(value) for node in self.nodes for value in node.writes}
        read = [
            symbol
            for node in self.nodes
            for item in iterate_structure((node.inputs, node.params))
            if isinstance(item, Size)
            for symbol in item.symbols()
        ]
        if not inner.isdisjoint(values_in(list(conditions))) or any(symbol.kind != "size" and symbol.source in inner for symbol in read):
            raise TracingError("elements, or sizes, of a gradient decide in Python")
        if any(node.is_random for node in self.nodes) or not written <= inner:
            raise TracingError("a rule draws random numbers, or writes to what is not its own")
        if not self.sources:
            raise TracingError("a rule that gives no gradient")

    def add(self, capture: Trace, name: str, forward: set[Value]) -> tuple[Value, ...]:
        """The node, whose function gives the results as they are. What was computed ``forward`` has no history for the rule, as in
        torch."""
        recorder, origin = capture.recorder, capture.here()
        kept = [value for value in self._read() if value in forward and value not in self.results]
        operands = [
            *(_detached(capture, value, origin) for value in self.results),
            *self.sources,
            *(_detached(capture, value, origin) for value in kept),
        ]
        given = [Value(value.name, value.spec) for value in self.results]
        function = Body(name, (*given, *(Value(value.name, value.spec) for value in operands[len(given) :])), (), tuple(given))
        unused = [Value(value.name, value.spec) for value in self.results]
        taken = [*self.results, *self.cotangents, *unused, *self.sources, *kept]
        regions, captured = close(function, Body(f"{name}_rule", taken, self.nodes, tuple(self.gradients)))
        places = tuple(range(len(given), len(given) + len(self.sources)))
        outputs = tuple(Value(value.name, value.spec) for value in self.results)
        params = {"kind": "vjp", "differentiated": places, "residuals": 0}
        record = CallRecord("custom_derivative", result=outputs)
        recorder.add_call("custom_derivative", (*operands, *captured), params, origin, outputs, record, regions)
        return outputs

    def _read(self) -> list[Value]:
        return list(dict.fromkeys([*(value for node in self.nodes for value in node.uses), *self.gradients]))


def _as_of(capture: Trace, gradient: Any, arg: torch.Tensor) -> Value:
    """The gradient of an argument as torch makes one of what a rule returns: summed to its shape, in its data type."""
    found, wanted = capture.value(gradient).spec, capture.value(arg).spec
    if found.hints != wanted.hints:
        more = len(found.hints) - len(wanted.hints)
        # Sizes of the argument are asked for, not those of the gradient, which may be no part of a guard.
        single = [axis for axis, size in enumerate(arg.shape) if found.hints[more + axis] != wanted.hints[axis] and size == 1]
        if more < 0 or len(single) != sum(a != b for a, b in zip(found.hints[more:], wanted.hints)):
            raise TracingError(f"it gives a gradient of the shape {list(found.hints)} for an argument of the shape {list(wanted.hints)}")
        gradient = gradient.sum([more + axis for axis in single], keepdim=True) if single else gradient
        gradient = gradient.sum(list(range(more))) if more else gradient
    if found.dtype != wanted.dtype:
        gradient = gradient.to(arg.dtype)
    made: Value = capture.value(gradient)
    return made


def _detached(capture: Trace, value: Value, origin: Any) -> Value:
    made = Value(value.name, value.spec)
    capture.recorder.add_call("torch.Tensor.detach", (value,), {}, origin, (made,), CallRecord("detach", result=made))
    return made
