"""Loops of a traced graph as nodes that run blocks: ``While`` of TensorFlow.

A loop that counts (``for i in tf.range(n)``, a layer that goes through time) becomes a ``scan``: the number of its steps is known before it
begins, so that gradients go through it in every target. What its steps read from a list of tensors, one after the other, are the rows of a
sequence, and what they write into one are their outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.closing import Body
from ...ir.node import Value
from ...ops.registry import ArraySpec
from .blocks import Block, BlockNode
from .counting import Count, behind, count_of, input_behind, is_steady, uses_of
from .evaluation import LOOPS, constant_of, function_of
from .held import Held
from .known import known
from .lists import Rows, Unfilled, Written, stack
from .reader import Handler, Reader


def while_loop(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``While``: as a ``scan`` where it counts. Variables that a step assigns are carried, too."""
    body = function_of(operation, "body")
    count = count_of(function_of(operation, "cond"), body, [operand.item for operand in operands])
    loop = _Loop(reader, operation, operands, count, _roles(body, operands, count))
    while more := loop.read():
        loop.variables += more
    return loop.results()


@dataclass(frozen=True)
class _Roles:
    """What the parts of the state of a loop are, by place: arrays that change, lists that step n reads at n, lists that it writes at n, and
    lists whose one row each step writes anew (with the place of the row). Others stay as they are, or count and are read by nobody."""

    carried: list[int]
    rows: list[int]
    stacked: list[int]
    last: Mapping[int, int]


def _roles(body: Any, operands: Sequence[Held], count: Count | None) -> _Roles:
    places = range(len(operands))
    rows = [
        place for place in places if count is not None and isinstance(operands[place].item, Value) and _is_read_in_order(body, place, count)
    ]
    writes = {place: end for place in places if count is not None and (end := _write(body, place, operands)) is not None}
    numbers = {place: input_behind(body, write.inputs[1]) for place, write in writes.items()}
    stacked = [place for place, number in numbers.items() if count is not None and count.is_number_of_step(number)]
    last = {
        place: int(constant_of(behind(write.inputs[1]).op)) for place, write in writes.items() if behind(write.inputs[1]).op.type == "Const"
    }
    handled = [*writes.values(), *(use for place in rows for use in uses_of(body.inputs[place]))]
    idle = [place for place in (count.counters if count is not None else ()) if _only_counts(body, place, handled)]
    others = {*rows, *stacked, *last, *idle}
    carried = [place for place in places if operands[place].item is not None and not is_steady(body, place) and place not in others]
    return _Roles(carried, rows, stacked, last)


def _is_read_in_order(body: Any, place: int, count: Count) -> bool:
    uses = list(uses_of(body.inputs[place])) if body.inputs[place].dtype == tf.variant and is_steady(body, place) else []
    return bool(uses) and not _leaves(body, place) and all(
        use.type == "TensorListGetItem" and count.is_number_of_step(input_behind(body, use.inputs[1])) for use in uses
    )


def _write(body: Any, place: int, operands: Sequence[Held]) -> Any:
    """The operation by which a step writes a row into a list that is empty before the loop, where nothing else is done with it."""
    if not isinstance(operands[place].item, Unfilled) or is_steady(body, place):
        return None
    end = behind(body.outputs[place]).op
    is_alone = list(uses_of(body.inputs[place])) == [end] and not _leaves(body, place)
    return end if end.type == "TensorListSetItem" and is_alone else None


def _only_counts(body: Any, place: int, handled: Sequence[Any]) -> bool:
    """Whether nothing but the counting itself, and lists that follow the steps, reads a counter."""
    added = behind(body.outputs[place]).op
    is_free = all(use is added or any(use is one for one in handled) for use in uses_of(body.inputs[place]))
    return is_free and not _leaves(body, place)


def _leaves(body: Any, place: int) -> bool:
    """Whether a step gives a part of the state on as another part."""
    return any(other != place and input_behind(body, tensor) == place for other, tensor in enumerate(body.outputs))


@dataclass
class _Loop:
    """One loop as it is read."""

    reader: Reader
    operation: Any
    operands: Sequence[Held]
    count: Count | None
    roles: _Roles
    variables: list[int] = field(default_factory=list)  # numbers of the variables that steps assign

    def __post_init__(self) -> None:
        self.origin = self.reader.origin(self.operation)
        if any(isinstance(self.operands[place].item, Unfilled) for place in self.roles.carried):
            raise UnsupportedOperation(
                f"{self.operation.type}: a TensorArray is filled in another order than that of the steps, or in a loop whose number of "
                "steps is not "
                "known before it begins, for which other frameworks have no list; write into an array with tf.tensor_scatter_nd_update\n "
                f"   {self.origin}"
            )

    def read(self) -> list[int]:
        """Reads a step; the numbers of variables that it assigns and that are not carried yet."""
        reader = self.reader
        held = [*(self.operands[place] for place in self.roles.carried), *(reader.variables[number] for number in self.variables)]
        self.start = [reader.value(one) for one in held]
        self.state = [Held(Value(value.name, value.spec), one.seen) for value, one in zip(self.start, held)]
        self.row = [self._first_row(place) for place in self.roles.rows]
        inputs = [one.item for one in (*self.state, *self.row)]
        self.step = Block(reader, inputs, lambda: self._run(function_of(self.operation, "body")))
        if self.count is None:
            self.goes_on = Block(reader, inputs, lambda: self._run(function_of(self.operation, "cond")))
        return [number for number in self.step.assigned if number not in self.variables]

    def _first_row(self, place: int) -> Held:
        value = self.operands[place].item
        seen = tf.raw_ops.TensorListGetItem(
            input_handle=self.operands[place].seen, index=0, element_shape=value.spec.shape[1:], element_dtype=value.dtype
        )
        return Held(Value("row", ArraySpec(value.spec.shape[1:], value.dtype)), seen)

    def _run(self, graph: Any) -> list[Held]:
        carried = len(self.roles.carried)
        self.reader.variables.update(zip(self.variables, self.state[carried:]))
        given = dict(zip(self.roles.carried, self.state))
        given.update((place, Held(Rows(row), self.operands[place].seen)) for place, row in zip(self.roles.rows, self.row))
        return self.reader.results(graph, [given.get(place, operand) for place, operand in enumerate(self.operands)])

    # ------------------------------------------------------------------------------ what it gives
    def results(self) -> list[Held]:
        """The node, and what the loop gives."""
        ends = self.reader.evaluator.operation(self.operation, [operand.seen for operand in self.operands])
        given = [*(self.step.results[place] for place in self.roles.carried), *(self.step.variables[number] for number in self.variables)]
        self._check_shapes(given)
        seen = [*(ends[place] for place in self.roles.carried), *(self.reader.variables[number].seen for number in self.variables)]
        like = [Held(one.item, array) for one, array in zip(self.state, seen)]
        made = self._while(given, like) if self.count is None else self._scan(given, like, ends)
        for number, held in zip(self.variables, made[len(self.roles.carried) :]):
            self.reader.variables[number], self.reader.assigned[number] = held, self.step.names[number]
        found = {**dict(zip(self.roles.carried, made)), **self._lists(made, ends)}
        return [found.get(place) or self._kept(place, ends[place]) for place in range(len(self.operands))]

    def _while(self, given: Sequence[Held], like: Sequence[Held]) -> list[Held]:
        inputs = [one.item for one in self.state]
        condition = Body("condition", inputs, *self.goes_on.closed(self.goes_on.results))
        bodies = [condition, Body("body", inputs, *self.step.closed(given))]
        return BlockNode(self.reader, self.operation).made("while_loop", self.start, bodies, like, carried=len(self.start))

    def _scan(self, given: Sequence[Held], like: Sequence[Held], ends: Sequence[Any]) -> list[Held]:
        assert self.count is not None
        written = [self._written(place) for place in (*self.roles.stacked, *self.roles.last)]
        whole = [Held(None, self._whole(ends[place], row)) for place, row in zip((*self.roles.stacked, *self.roles.last), written)]
        inputs = [one.item for one in (*self.state, *self.row)]
        sequences = [self.operands[place].item for place in self.roles.rows]
        params = {"carried": len(self.start), "sequences": len(sequences), "length": self.count.length}
        body = Body("body", inputs, *self.step.closed([*given, *written]))
        return BlockNode(self.reader, self.operation).made("scan", [*self.start, *sequences], [body], [*like, *whole], **params)

    def _written(self, place: int) -> Held:
        item = self.step.results[place].item
        assert isinstance(item, (Written, Unfilled))
        return item.row if isinstance(item, Written) else next(iter(item.rows.values()))

    def _whole(self, end: Any, row: Held) -> Any:
        """The array of what all steps have written, or one of its shape."""
        stacked = stack(end, row.seen)
        return tf.repeat(stacked[:1], self._steps(), 0) if stacked.shape[0] != self._steps() else stacked

    def _steps(self) -> int:
        assert self.count is not None
        return int(getattr(self.count.length, "hint", self.count.length))

    def _lists(self, made: Sequence[Held], ends: Sequence[Any]) -> dict[int, Held]:
        """The lists that steps have written: arrays, and lists of the one row that the last step wrote."""
        first = len(self.roles.carried) + len(self.variables)
        outputs = dict(zip((*self.roles.stacked, *self.roles.last), made[first:]))
        found = {place: Held(outputs[place].item, ends[place]) for place in self.roles.stacked}
        for place, row in self.roles.last.items():
            found[place] = Held(Unfilled({row: self._last(place, outputs[place], made)}), ends[place])
        return found

    def _last(self, place: int, outputs: Held, made: Sequence[Held]) -> Held:
        """What the last step has written: often an array that is carried, else the last of the outputs of all steps."""
        written = self._written(place)
        same = (held for carried, held in zip(self.roles.carried, made) if self.step.results[carried].item is written.item)
        if (carried := next(same, None)) is not None:
            return carried
        dtype = outputs.item.dtype
        attributes = {"batch_dims": 0, "Tparams": dtype, "Tindices": "int32", "Taxis": "int32"}
        assert self.count is not None
        inputs = (outputs.item, self.count.length - 1, 0)
        return self.reader.call("tf.raw_ops.GatherV2", inputs, attributes, [outputs.seen[-1]], self.origin)[0]

    def _kept(self, place: int, end: Any) -> Held:
        """What stays as it is, or only counts."""
        if self.count is not None and place in self.count.counters:
            return Held(known(self.count.end(place)), end)
        return self.operands[place]

    def _check_shapes(self, results: Sequence[Held]) -> None:
        for one, held in zip(self.state, results):
            if one.spec != held.spec:
                raise UnsupportedOperation(
                    f"{self.operation.type}: {one.item.name} is {one.spec} before a step and {held.spec} after it; what a loop carries "
                    "keeps its shape\n"
                    f"    {self.origin}"
                )


READ: dict[str, Handler] = dict.fromkeys(LOOPS, while_loop)
