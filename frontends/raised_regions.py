"""Raises nodes that run blocks: each call in a region becomes canonical operations, in a region of the canonical node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UnsupportedOperation
from ..ir.block import Region
from ..ir.closing import Body
from ..ir.graph import Guard
from ..ir.node import Node, Value, every, values_in
from ..ir.pairs import pairs_of
from ..ops.control import REPEATS, own_inputs, own_operands
from ..ops.registry import ArraySpec
from ..sizes import apply
from .raised_derivatives import RaisedDerivative

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
            return RaisedDerivative(self.raiser, node).run()
        first = 1 if node.op == "branch" else 0
        own = first + own_operands(node.op, node.params)
        operands = [raiser.read(item) for item in node.inputs]
        self._refuse_draws(node)
        bodies = [self._body(node, region, operands[first:own], operands[own:]) for region in node.regions]
        if node.op == "branch":
            self._keep_branches(bodies)
        if len(raiser.problems) > problems:
            for value in node.outputs:
                raiser.held[value] = Value(value.name, value.spec)
            return None
        raiser.b.origin = node.origin
        made: tuple[Value, ...] = raiser.b.run(node.op, operands[:own], bodies, **raiser.mapped(node.params))
        return made

    def _body(self, node: Node, region: Region, operands: list[Value], captured: list[Value]) -> Body:
        raiser, b = self.raiser, self.raiser.b
        inputs = self._inputs(node, region, operands)
        raiser.held.update(zip(region.block.inputs, (*inputs, *captured)))
        guards = len(raiser.result.guards)
        with b.block() as nodes:
            raiser.follow(region.block.nodes)
            b.origin = node.origin
            outputs = [raiser.mapped(item) for item in region.block.outputs]
            for new, old in zip(outputs, inputs[: _kept(node, region)]):
                self.keep_sizes(new, old)
        self.refuse_inner(raiser.result.guards[guards:], inputs, nodes)
        return Body(region.name, tuple(inputs), tuple(nodes), tuple(outputs))

    def _inputs(self, node: Node, region: Region, operands: list[Value]) -> list[Value]:
        """Inputs of the canonical region: as the operands are, sequences without their first axis; pairs of them have a length of their own."""
        own = region.block.inputs[: own_inputs(node.op, node.params)]
        if node.op == "associative_scan":
            axis = node.params["axis"]
            sequences = [("", ArraySpec(operand.shape, operand.dtype)) for operand in operands]
            return pairs_of(sequences, axis, own[0].spec.hints[axis])
        carried = node.params.get("carried", 0)
        shapes = [operand.shape if place < carried else operand.shape[1:] for place, operand in enumerate(operands)]
        return [Value(old.name, ArraySpec(shape, new.dtype)) for old, new, shape in zip(region.block.inputs, operands, shapes)]

    def _keep_branches(self, bodies: list[Body]) -> None:
        """All branches give the same sizes: where one says them in other words, that these are the same is a guard."""
        first, *others = ([item for item in body.outputs if isinstance(item, Value)] for body in bodies)
        for other in others:
            for new, old in zip(other, first):
                self.keep_sizes(new, old)

    def _refuse_draws(self, node: Node) -> None:
        """``UnsupportedOperation`` for random numbers in a loop: every step would draw from the same key. A branch is run once."""
        inside = (inner for region in node.regions for inner in every(region.block.nodes))
        drawn = next((inner for inner in inside if inner.is_random), None)
        if node.op in REPEATS and drawn is not None:
            raise UnsupportedOperation(
                f"{drawn.op} draws random numbers in each step of a loop, which only {self.raiser.framework} does as it is recorded; draw them before "
                f"the loop, and pass them in\n    {drawn.origin}"
            )

    def keep_sizes(self, new: Value, old: Value) -> None:
        """What is carried keeps its sizes: where they are known in other words after a step, that these are the same is a guard."""
        for size, wanted in zip(new.shape, old.shape):
            if size != wanted:
                self.raiser.b.guard(apply("eq", size, wanted))

    def refuse_inner(self, guards: list[Guard], inputs: list[Value], nodes: list[Node]) -> None:
        """``UnsupportedOperation`` for what the recording assumed of an array inside: only the outside can be checked."""
        made = {*inputs, *(value for node in nodes for value in node.outputs)}
        for guard in guards:
            if any(value in made for value in values_in((guard.condition,))):
                raise UnsupportedOperation(
                    f"inside of a loop or branch, elements cannot be looked at: {guard.condition!r}\n    {guard.origin}"
                )


def _kept(node: Node, region: Region) -> int:
    """How many outputs of a region keep the sizes of its first inputs."""
    if node.op == "associative_scan":
        return int(node.params["sequences"])
    return 0 if region.name == "condition" else int(node.params.get("carried", 0))
