"""Blocks that operations run, as they are read, and the nodes that run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Body, close
from ...ir.node import CallRecord, Node, Value
from ...ops.registry import get
from .reader import Reader
from .variables import Held


class Block:
    """What is read for one block: the nodes, the results, and what it has left in variables, which outside
    are as before.
    """

    def __init__(self, reader: Reader, inputs: Sequence[Value], run: Callable[[], list[Held]]) -> None:
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
        reader.variables.update(before)
        reader.assigned.clear()
        reader.assigned.update(assigned)

    @property
    def assigned(self) -> list[int]:
        return list(self.variables)

    def closed(self, results: Sequence[Held]) -> tuple[list[Node], list[Value]]:
        with self.reader.recorder.block(()) as more:
            outputs = [self.reader.value(held) for held in results]
        return [*self.nodes, *more], outputs


@dataclass
class BlockNode:
    """The node of an operation that runs blocks."""

    reader: Reader
    operation: Any

    def made(
        self, op: str, operands: Sequence[Value], bodies: Sequence[Body], like: Sequence[Held], **params: Any
    ) -> list[Held]:
        """Its results, each ``like`` another array."""
        regions, captured = close(*bodies)
        whole = {name: params.get(name, default) for name, default in get(op).params.items()}
        names = [value.name for value in bodies[-1].inputs[: params.get("carried", 0)]]
        wishes = [*names, *["outputs" if op == "scan" else "chosen"] * len(like)]
        outputs = self.reader.recorder.new_values(
            [(name, one.seen, one.spec) for name, one in zip(wishes, like)]
        )
        origin, record = self.reader.origin(self.operation), CallRecord(op, result=outputs)
        self.reader.recorder.add_call(op, (*operands, *captured), whole, origin, outputs, record, regions)
        return [Held(value, one.seen) for value, one in zip(outputs, like)]

    def with_assigned(
        self, found: Sequence[Held], assigned: Sequence[int], blocks: Sequence[Block]
    ) -> list[Held]:
        """The results of the operation, once those behind them are left in the variables."""
        own = len(found) - len(assigned)
        names = {number: name for block in blocks for number, name in block.names.items()}
        for number, held in zip(assigned, found[own:]):
            self.reader.variables[number], self.reader.assigned[number] = held, names[number]
        return list(found[:own])
