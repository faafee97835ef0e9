"""Lifts a function with a derivative rule of its own: the calls of each of its regions become canonical operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import GraphCompilerError, UnsupportedOperation
from ..ir.block import Region
from ..ir.closing import Body
from ..ir.guard import guard_of
from ..ir.node import Node, Value, every, values_in
from ..ops.control import has_derivative

if TYPE_CHECKING:
    from .lifter import Lifter


class LiftedDerivative:
    """One ``custom_derivative``. Where its rule cannot be lifted, its function is, and to take a gradient of the results is an error."""

    def __init__(self, lifter: Lifter, node: Node) -> None:
        self.lifter, self.node = lifter, node
        self.operands = [lifter.read(item) for item in node.inputs]
        self.differentiated = [self.operands[place] for place in node.params["differentiated"]]

    def run(self) -> tuple[Value, ...] | None:
        """What the node gives."""
        lifter = self.lifter
        problems, guards, nodes = len(lifter.problems), len(lifter.result.guards), len(lifter.result.nodes)
        try:
            made = self._with_rule(problems)
            reason = lifter.problems[problems] if made is None else ""
        except GraphCompilerError as problem:
            made, reason = None, str(problem)
        if made is None:
            del lifter.problems[problems:], lifter.result.guards[guards:], lifter.result.nodes[nodes:]
            return self._refused(reason)
        return made

    def _refused(self, reason: str) -> tuple[Value, ...] | None:
        """The results, of which no gradient may be taken."""
        lifter, function = self.lifter, self.node.regions[0]
        problems = len(lifter.problems)
        lifter.held.update(zip(function.block.inputs, self.operands))
        lifter.follow(function.block.nodes)
        lifter.b.origin = self.node.origin
        if len(lifter.problems) > problems:
            for value in self.node.outputs:
                lifter.held[value] = Value(value.name, value.spec)
            return None
        message = (
            f"a gradient is taken through {function.name}, whose derivative rule has no translation ({' '.join(reason.split())}); "
            f"take the gradient in {lifter.framework}, of the original"
        )
        results = [lifter.mapped(item) for item in function.block.outputs]
        return tuple(
            lifter.b.refuse_gradient(value, *self.differentiated, message=message) if has_derivative(value.spec) else value
            for value in results
        )

    def _with_rule(self, problems: int) -> tuple[Value, ...] | None:
        """The canonical node. What the rule takes beside the operands is as the function, and the forward function, give it."""
        lifter, node = self.lifter, self.node
        *functions, rule = node.regions
        bodies = [self._body(region, self.operands) for region in functions]
        results, forward = list(bodies[0].outputs), bodies[-1]
        derivatives = [value for value in results if has_derivative(value.spec)]
        self._keep(forward.outputs, results)
        is_jvp = node.params["kind"] == "jvp"
        given = self.differentiated if is_jvp else [*results, *forward.outputs[len(results) :], *derivatives]
        bodies.append(self._body(rule, [*given, *self.operands]))
        self._keep(bodies[-1].outputs, [*results, *derivatives] if is_jvp else self.differentiated)
        if len(lifter.problems) > problems:
            return None
        lifter.b.origin = node.origin
        kept = self._needed(bodies)
        params = {**node.params, "differentiated": tuple(map(kept.index, node.params["differentiated"]))}
        made: tuple[Value, ...] = lifter.b.run(
            node.op, [self.operands[place] for place in kept], [_with_operands(body, len(self.operands), kept) for body in bodies], **params
        )
        return made

    def _body(self, region: Region, like: Sequence[Value]) -> Body:
        """A region whose inputs are ``like`` these values."""
        lifter, b = self.lifter, self.lifter.b
        inputs = [Value(old.name, value.spec) for old, value in zip(region.block.inputs, like, strict=True)]
        lifter.held.update(zip(region.block.inputs, inputs))
        guards = len(lifter.result.guards)
        with b.block() as nodes:
            lifter.follow(region.block.nodes)
            b.origin = self.node.origin
            outputs = [lifter.mapped(item) for item in region.block.outputs]
            lifter.regions.keep_checks(guards, inputs, nodes)
        if check := next(filter(guard_of, every(nodes)), None):
            raise UnsupportedOperation(
                f"elements are looked at in {region.name}, which only a function without a rule can be: {check.origin}"
            )
        made = {value for inner in nodes for value in inner.outputs}
        if any(value in made for output in outputs for value in values_in(output.shape)):
            raise UnsupportedOperation(f"a result of {region.name} has a size that depends on elements")
        return Body(region.name, tuple(inputs), tuple(nodes), tuple(outputs))

    def _keep(self, made: Sequence[Any], wanted: Sequence[Value]) -> None:
        """These have the same sizes: where they are known in other words, that they are the same is a guard."""
        for new, old in zip(made, wanted):
            self.lifter.regions.keep_sizes(new, old)

    def _needed(self, bodies: Sequence[Body]) -> list[int]:
        """Places of the operands that a region reads; recorded regions have some for their sizes alone, which the outside tells here."""
        read = [(list(body.outputs), [(node.inputs, node.params) for node in body.nodes]) for body in bodies]
        used, count = set(values_in(read)), len(self.operands)
        return [
            place
            for place in range(count)
            if place in self.node.params["differentiated"] or any(body.inputs[len(body.inputs) - count + place] in used for body in bodies)
        ]


def _with_operands(body: Body, count: int, kept: Sequence[int]) -> Body:
    """A body with those of its last ``count`` inputs, the operands, that are ``kept``."""
    first = len(body.inputs) - count
    return replace(body, inputs=(*body.inputs[:first], *(body.inputs[first + place] for place in kept)))
