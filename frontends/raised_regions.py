"""Raises nodes that run blocks: each call in a region becomes canonical operations, in a region of the canonical node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UnsupportedOperation
from ..ir.block import Region
from ..ir.closing import Body
from ..ir.graph import Guard
from ..ir.node import Node, Value, every, values_in
from ..ops.control import has_derivative, own_inputs
from ..ops.registry import ArraySpec
from ..sizes import apply

if TYPE_CHECKING:
    from .raiser import Raiser


class RaisedRegions:
    """The regions of one raiser, which works on the same builder inside of them: sizes and guards are those of the outside."""

    def __init__(self, raiser: Raiser) -> None:
        self.raiser = raiser

    def run(self, node: Node) -> tuple[Value, ...] | None:
        """What the node gives; None where something in it could not be raised, which was noted."""
        raiser, problems = self.raiser, len(self.raiser.problems)
        if node.op == "custom_derivative":
            return self._derivative(node, problems)
        first = 1 if node.op == "branch" else 0
        own = first + own_inputs(node.op, node.params)
        operands = [raiser.read(item) for item in node.inputs]
        self._refuse_draws(node)
        bodies = [self._body(node, region, operands[first:own], operands[own:]) for region in node.regions]
        if node.op == "branch":
            self._keep_branches(bodies)
        if self._failed(node, problems):
            return None
        raiser.b.origin = node.origin
        made: tuple[Value, ...] = raiser.b.run(node.op, operands[:own], bodies, **raiser.mapped(node.params))
        return made

    def _failed(self, node: Node, problems: int) -> bool:
        """Whether something in the regions could not be raised."""
        raiser = self.raiser
        if len(raiser.problems) == problems:
            return False
        for value in node.outputs:
            raiser.held[value] = Value(value.name, value.spec)
        return True

    def _derivative(self, node: Node, problems: int) -> tuple[Value, ...] | None:
        """A function with its rule: what the rule takes beside the operands is as the function, and the forward function, give it."""
        raiser = self.raiser
        operands = [raiser.read(item) for item in node.inputs]
        *functions, rule = node.regions
        bodies = [self._function(node, region, operands) for region in functions]
        results, forward = list(bodies[0].outputs), bodies[-1]
        differentiated = [operands[place] for place in node.params["differentiated"]]
        derivatives = [value for value in results if has_derivative(value.spec)]
        self._keep(forward.outputs, results)
        is_jvp = node.params["kind"] == "jvp"
        given = differentiated if is_jvp else [*results, *forward.outputs[len(results) :], *derivatives]
        body = self._function(node, rule, [*given, *operands])
        self._keep(body.outputs, [*results, *derivatives] if is_jvp else differentiated)
        if self._failed(node, problems):
            return None
        raiser.b.origin = node.origin
        used = {value for each in (*bodies, body) for value in values_in([[(n.inputs, n.params) for n in each.nodes], list(each.outputs)])}
        count = len(operands)
        kept = [
            place
            for place in range(count)
            if place in node.params["differentiated"]
            or any(each.inputs[len(each.inputs) - count + place] in used for each in (*bodies, body))
        ]
        params = {**node.params, "differentiated": tuple(map(kept.index, node.params["differentiated"]))}
        bodies = [_with_operands(each, count, kept) for each in (*bodies, body)]
        made: tuple[Value, ...] = raiser.b.run(node.op, [operands[place] for place in kept], bodies, **params)
        return made

    def _function(self, node: Node, region: Region, like: Sequence[Value]) -> Body:
        """A region whose inputs are ``like`` these values."""
        raiser, b = self.raiser, self.raiser.b
        inputs = [Value(old.name, value.spec) for old, value in zip(region.block.inputs, like, strict=True)]
        raiser.held.update(zip(region.block.inputs, inputs))
        guards = len(raiser.result.guards)
        with b.block() as nodes:
            raiser.follow(region.block.nodes)
            b.origin = node.origin
            outputs = [raiser.mapped(item) for item in region.block.outputs]
        self._refuse_inner(raiser.result.guards[guards:], inputs, nodes)
        made = {value for inner in nodes for value in inner.outputs}
        if any(value in made for output in outputs for value in values_in(output.shape)):
            raise UnsupportedOperation(
                f"a result of {region.name} has a size that depends on elements, of which no derivative rule can be given\n    {node.origin}"
            )
        return Body(region.name, tuple(inputs), tuple(nodes), tuple(outputs))

    def _keep(self, made: Sequence[Value], wanted: Sequence[Value]) -> None:
        for new, old in zip(made, wanted):
            self._keep_sizes(new, old)

    def _body(self, node: Node, region: Region, operands: list[Value], captured: list[Value]) -> Body:
        raiser, b = self.raiser, self.raiser.b
        inputs = self._inputs(node, region, operands)
        raiser.held.update(zip(region.block.inputs, (*inputs, *captured)))
        guards = len(raiser.result.guards)
        with b.block() as nodes:
            raiser.follow(region.block.nodes)
            b.origin = node.origin
            outputs = [raiser.mapped(item) for item in region.block.outputs]
            carried = 0 if region.name == "condition" else node.params.get("carried", 0)
            for new, old in zip(outputs[:carried], inputs):
                self._keep_sizes(new, old)
        self._refuse_inner(raiser.result.guards[guards:], inputs, nodes)
        return Body(region.name, tuple(inputs), tuple(nodes), tuple(outputs))

    def _inputs(self, node: Node, region: Region, operands: list[Value]) -> list[Value]:
        """Inputs of the canonical region: as the operands are, sequences without their first axis."""
        carried = node.params.get("carried", 0)
        shapes = [operand.shape if place < carried else operand.shape[1:] for place, operand in enumerate(operands)]
        return [Value(old.name, ArraySpec(shape, new.dtype)) for old, new, shape in zip(region.block.inputs, operands, shapes)]

    def _keep_branches(self, bodies: list[Body]) -> None:
        """All branches give the same sizes: where one says them in other words, that these are the same is a guard."""
        first, *others = ([item for item in body.outputs if isinstance(item, Value)] for body in bodies)
        for other in others:
            for new, old in zip(other, first):
                self._keep_sizes(new, old)

    def _refuse_draws(self, node: Node) -> None:
        """``UnsupportedOperation`` for random numbers in a loop: every step would draw from the same key. A branch is run once."""
        inside = (inner for region in node.regions for inner in every(region.block.nodes))
        drawn = next((inner for inner in inside if inner.is_random), None)
        if node.op in ("scan", "while_loop") and drawn is not None:
            raise UnsupportedOperation(
                f"{drawn.op} draws random numbers in each step of a loop, which only {self.raiser.framework} does as it is recorded; draw them before "
                f"the loop, and pass them in\n    {drawn.origin}"
            )

    def _keep_sizes(self, new: Value, old: Value) -> None:
        """What is carried keeps its sizes: where they are known in other words after a step, that these are the same is a guard."""
        for size, wanted in zip(new.shape, old.shape):
            if size != wanted:
                self.raiser.b.guard(apply("eq", size, wanted))

    def _refuse_inner(self, guards: list[Guard], inputs: list[Value], nodes: list[Node]) -> None:
        """``UnsupportedOperation`` for what the recording assumed of an array inside: only the outside can be checked."""
        made = {*inputs, *(value for node in nodes for value in node.outputs)}
        for guard in guards:
            if any(value in made for value in values_in((guard.condition,))):
                raise UnsupportedOperation(
                    f"inside of a loop or branch, elements cannot be looked at: {guard.condition!r}\n    {guard.origin}"
                )


def _with_operands(body: Body, count: int, kept: Sequence[int]) -> Body:
    """A body with those of its last ``count`` inputs, the operands, that are ``kept``."""
    first = len(body.inputs) - count
    return replace(body, inputs=(*body.inputs[:first], *(body.inputs[first + place] for place in kept)))
