"""Reading a traced graph into a block, and adding the node that runs such blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Body, close
from ...ir.node import CallRecord, Node, Value
from ...ops.registry import get
from .reader import GraphReader
from .variables import TensorValue


class TracedBlock:
    """Block of the nodes that ``run`` adds to the recorder.

    The variables of ``reader`` are reset to their state before the block.

    nodes: the nodes of the block.
    results: what ``run`` returned.
    variables: what each variable that existed before and was assigned in the block holds at its end, by
        handle number.
    names: the names of the variables assigned, by handle number.
    """

    def __init__(
        self, reader: GraphReader, inputs: Sequence[Value], run: Callable[[], list[TensorValue]]
    ) -> None:
        self.reader = reader
        before, assigned = dict(reader.variables), dict(reader.assigned)
        with reader.recorder.block(inputs) as self.nodes:
            self.results = run()
        changed = {
            number: held
            for number, held in reader.variables.items()
            if number in before and held is not before[number]
        }
        self.variables, self.names = (
            changed,
            {number: reader.assigned[number] for number in changed if number in reader.assigned},
        )
        # Other branches, and the code after the block, must not see the assignments of this block.
        reader.variables.update(before)
        reader.assigned.clear()
        reader.assigned.update(assigned)

    @property
    def assigned(self) -> list[int]:
        return list(self.variables)

    def closed(self, results: Sequence[TensorValue]) -> tuple[list[Node], list[Value]]:
        # Known numbers among the results become arrays, by calls that belong to the block.
        with self.reader.recorder.block(()) as more:
            outputs = [self.reader.value(held) for held in results]
        return [*self.nodes, *more], outputs


@dataclass
class BlockNode:
    """Builder of the node with regions that replaces one operation of a traced graph."""

    reader: GraphReader
    operation: Any

    def made(
        self,
        op: str,
        operands: Sequence[Value],
        bodies: Sequence[Body],
        like: Sequence[TensorValue],
        **params: Any,
    ) -> list[TensorValue]:
        """Append the node for ``op`` and return its results, with the specs and arrays of ``like``.

        What the bodies capture becomes further operands. Parameters that are not given have their
        defaults.
        """
        regions, captured = close(*bodies)
        whole = {name: params.get(name, default) for name, default in get(op).params.items()}
        names = [value.name for value in bodies[-1].inputs[: params.get("carried", 0)]]
        wishes = [*names, *["outputs" if op == "scan" else "chosen"] * len(like)]
        outputs = self.reader.recorder.new_values(
            [(name, one.seen, one.spec) for name, one in zip(wishes, like)]
        )
        origin, record = self.reader.origin(self.operation), CallRecord(op, result=outputs)
        self.reader.recorder.add_call(op, (*operands, *captured), whole, origin, outputs, record, regions)
        return [TensorValue(value, one.seen) for value, one in zip(outputs, like)]

    def with_assigned(
        self, found: Sequence[TensorValue], assigned: Sequence[int], blocks: Sequence[TracedBlock]
    ) -> list[TensorValue]:
        """Store the last results of ``found`` in the variables ``assigned``, and return the others."""
        own = len(found) - len(assigned)
        names = {number: name for block in blocks for number, name in block.names.items()}
        for number, held in zip(assigned, found[own:]):
            self.reader.variables[number], self.reader.assigned[number] = held, names[number]
        return list(found[:own])
