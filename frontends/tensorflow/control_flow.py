"""Loops and branches of a traced graph as nodes that run blocks: ``If``, ``Case`` and ``While`` of TensorFlow.

A loop that counts (``for i in tf.range(n)``, a layer that goes through time) becomes a ``scan``: the number of its steps is known before it
begins, so that gradients go through it in every target, and what it writes into a list of tensors are the outputs of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import UnsupportedOperation
from ...ir.closing import Body, close
from ...ir.node import Node, Value
from ...ir.record import CallRecord
from ...ops.registry import get
from .counting import Count, count_of, is_steady
from .evaluation import BRANCHES, LOOPS, branches_of, function_of, place_of_branch
from .held import Held
from .known import nested
from .lists import Unfilled, Written, stack
from .reader import Handler, Reader


def branch(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``If`` and ``Case``. An index that is known chooses while recording; variables that one branch assigns are results of all."""
    index, *given = operands
    graphs = branches_of(operation)
    if isinstance(index.item, np.ndarray):
        return reader.results(graphs[place_of_branch(operation, _decided(reader, operation, index))], given)
    node = _Node(reader, operation)
    bodies = [_Block(reader, [], lambda graph=graph: reader.results(graph, given)) for graph in graphs]  # type: ignore[misc]
    assigned = list(dict.fromkeys(number for body in bodies for number in body.assigned))
    names = ["otherwise", "then"] if len(graphs) == 2 and "If" in operation.type else [f"branch_{place}" for place in range(len(graphs))]
    outputs = [[*body.results, *(body.variables.get(number, reader.variables[number]) for number in assigned)] for body in bodies]
    taken = outputs[place_of_branch(operation, index.seen)]
    chosen = [place for place, held in enumerate(taken) if _is_array(held)]
    closed = [Body(name, (), *body.closed([results[place] for place in chosen])) for name, body, results in zip(names, bodies, outputs)]
    made = iter(node.made("branch", [reader.value(index)], closed, [taken[place] for place in chosen]))
    found = [next(made) if place in chosen else held for place, held in enumerate(taken)]
    return node.with_assigned(found, assigned, bodies)


def _decided(reader: Reader, operation: Any, index: Held) -> Any:
    """The branch of an index that is computed from sizes, as a guard."""
    item = nested(index.item)  # type: ignore[arg-type]
    return reader.recorder.decide_size(item, reader.origin(operation)) if hasattr(item, "hint") else item


def while_loop(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``While``: as a ``scan`` where it counts. Variables that a step assigns are carried, too."""
    body = function_of(operation, "body")
    count = count_of(function_of(operation, "cond"), body, [operand.item for operand in operands])
    loop = _Loop(reader, operation, operands, count)
    while more := loop.read():
        loop.variables += more
    return loop.node()


# ------------------------------------------------------------------------------------- blocks
class _Block:
    """What is read for one block: the nodes, the results, and what it has left in variables, which outside are as before."""

    def __init__(self, reader: Reader, inputs: Sequence[Value], run: Callable[[], list[Held]]) -> None:
        self.reader = reader
        before, assigned = dict(reader.variables), dict(reader.assigned)
        with reader.recorder.block(inputs) as self.nodes:
            self.results = run()
        changed = {number: held for number, held in reader.variables.items() if number in before and held is not before[number]}
        self.variables, self.names = changed, {number: reader.assigned[number] for number in changed}
        reader.variables.update(before)
        reader.assigned.clear()
        reader.assigned.update(assigned)

    @property
    def assigned(self) -> list[int]:
        """The numbers of the variables that it assigns."""
        return list(self.variables)

    def closed(self, results: Sequence[Held]) -> tuple[list[Node], list[Value]]:
        """The nodes and outputs of the block, which are arrays: numbers become such inside of it."""
        with self.reader.recorder.block(()) as more:
            outputs = [self.reader.value(held) for held in results]
        return [*self.nodes, *more], outputs


@dataclass
class _Node:
    """The node of an operation that runs blocks."""

    reader: Reader
    operation: Any

    def made(self, op: str, operands: Sequence[Value], bodies: Sequence[Body], like: Sequence[Held], **params: Any) -> list[Held]:
        """Its results, each ``like`` another array."""
        regions, captured = close(*bodies)
        whole = {name: params.get(name, default) for name, default in get(op).params.items()}
        names = [value.name for value in bodies[-1].inputs[: params.get("carried", 0)]]
        wishes = [*names, *["outputs" if op == "scan" else "chosen"] * len(like)]
        outputs = self.reader.recorder.new_values([(name, one.seen, one.spec) for name, one in zip(wishes, like)])
        origin, record = self.reader.origin(self.operation), CallRecord(op, result=outputs)
        self.reader.recorder.add_call(op, (*operands, *captured), whole, origin, outputs, record, regions)
        return [Held(value, one.seen) for value, one in zip(outputs, like)]

    def with_assigned(self, found: Sequence[Held], assigned: Sequence[int], blocks: Sequence[_Block]) -> list[Held]:
        """The results of the operation, once those behind them are left in the variables."""
        own = len(found) - len(assigned)
        names = {number: name for block in blocks for number, name in block.names.items()}
        for number, held in zip(assigned, found[own:]):
            self.reader.variables[number], self.reader.assigned[number] = held, names[number]
        return list(found[:own])


def _is_array(held: Held) -> bool:
    return held.item is not None and not isinstance(held.item, (Unfilled, Written))


# ------------------------------------------------------------------------------------- loops
@dataclass
class _Loop:
    """One loop: ``carried`` places of its state change from step to step, ``rows`` are lists that step n reads at n, ``written`` those it writes at n."""

    reader: Reader
    operation: Any
    operands: Sequence[Held]
    count: Count | None
    variables: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.body, self.condition = function_of(self.operation, "body"), function_of(self.operation, "cond")
        places = range(len(self.operands))
        steady = [place for place in places if is_steady(self.body, place)]
        self.written = [place for place in places if isinstance(self.operands[place].item, Unfilled) and place not in steady]
        self.carried = [
            place for place in places if place not in steady and place not in self.written and self.operands[place].item is not None
        ]
        if self.written and self.count is None:
            raise UnsupportedOperation(
                f"{self.operation.type}: a loop that fills a list of tensors is translated where the number of its steps is known before it begins\n"
                f"    {self.reader.origin(self.operation)}"
            )

    def read(self) -> list[int]:
        """Reads a step; the numbers of variables that it assigns and that are not carried yet."""
        reader = self.reader
        held = [*(self.operands[place] for place in self.carried), *(reader.variables[number] for number in self.variables)]
        self.start = [reader.value(one) for one in held]
        inputs = [Value(value.name, value.spec) for value in self.start]
        state = [Held(value, one.seen) for value, one in zip(inputs, held)]
        self.inputs = inputs
        self.step = _Block(reader, inputs, lambda: self._run(self.body, state))
        self.goes_on = None if self.count is not None else _Block(reader, inputs, lambda: self._run(self.condition, state))
        return [number for number in self.step.assigned if number not in self.variables]

    def _run(self, graph: Any, state: Sequence[Held]) -> list[Held]:
        self.reader.variables.update(zip(self.variables, state[len(self.carried) :]))
        given = dict(zip(self.carried, state))
        return self.reader.results(graph, [given.get(place, operand) for place, operand in enumerate(self.operands)])

    def node(self) -> list[Held]:
        """The node, and what the loop gives."""
        reader, node, step = self.reader, _Node(self.reader, self.operation), self.step
        ends = reader.evaluator.operation(self.operation, [operand.seen for operand in self.operands])
        left = [step.variables[number] for number in self.variables]
        results = [*(step.results[place] for place in self.carried), *left]
        seen = [*(ends[place] for place in self.carried), *(reader.variables[number].seen for number in self.variables)]
        self._check_shapes(results)
        like = [Held(value, array) for value, array in zip(self.inputs, seen)]
        if self.count is None:
            assert self.goes_on is not None
            condition = Body("condition", self.inputs, *self.goes_on.closed(self.goes_on.results))
            bodies = [condition, Body("body", self.inputs, *step.closed(results))]
            made = node.made("while_loop", self.start, bodies, like, carried=len(self.start))
        else:
            rows = [self._row(step.results[place]) for place in self.written]
            stacked = [Held(None, stack(ends[place], row.seen)) for place, row in zip(self.written, rows)]
            body = Body("body", self.inputs, *step.closed([*results, *rows]))
            params = {"carried": len(self.start), "sequences": 0, "length": self.count.length}
            made = node.made("scan", self.start, [body], [*like, *stacked], **params)
        by_place = dict(zip([*self.carried, *self.variables, *self.written], made))
        for number in self.variables:
            reader.variables[number], reader.assigned[number] = by_place[number], step.names[number]
        lists = {place: Held(by_place[place].item, ends[place]) for place in self.written}
        return [lists.get(place) or by_place.get(place) or operand for place, operand in enumerate(self.operands)]

    def _row(self, held: Held) -> Held:
        """What a step writes into a list at its own number."""
        if isinstance(held.item, Written) and self.count is not None and self._counts(held.item.index):
            return held.item.row
        raise UnsupportedOperation(
            f"{self.operation.type}: a list of tensors is filled in another order than that of the steps\n    {self.reader.origin(self.operation)}"
        )

    def _counts(self, index: Any) -> bool:
        """Whether an index is the number of the step."""
        assert self.count is not None
        return any(value is index for place, value in zip(self.carried, self.inputs) if place in self.count.from_zero)

    def _check_shapes(self, results: Sequence[Held]) -> None:
        for value, held in zip(self.inputs, results):
            if value.spec != held.spec:
                raise UnsupportedOperation(
                    f"{self.operation.type}: {value.name} is {value.spec} before a step and {held.spec} after it; what a loop carries keeps its shape\n"
                    f"    {self.reader.origin(self.operation)}"
                )


READ: dict[str, Handler] = {**dict.fromkeys(BRANCHES, branch), **dict.fromkeys(LOOPS, while_loop)}
