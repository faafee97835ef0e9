"""Loops of a traced graph as nodes that run blocks: ``While`` of TensorFlow.

A loop that counts (``for i in tf.range(n)``, a layer that goes through time) becomes a ``scan``: the number of its steps is known before it
begins, so that gradients go through it in every target. What its steps read from a list of tensors, one after the other, are the rows of a
sequence, and what they write into one are their outputs. A list that is used otherwise is an array that the loop carries.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.closing import Body
from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...sizes import apply, hint_of
from .blocks import Block, BlockNode
from .counting import Count, count_of, uses_of
from .evaluation import LOOPS, function_of
from .held import Held
from .known_numbers import known
from .list_arrays import Arrays, all_sizes
from .lists import Awaited, Repeated, Rows, Unfilled, Written, elements_of, filled, stack_of
from .loop_state_roles import Filling, Roles, roles_of, static_row_shape
from .reader import Handler, Reader


def while_loop(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``While``: as a ``scan`` where it counts. Variables that a step assigns are carried, too."""
    body = function_of(operation, "body")
    operands = [Held(None, held.seen) if _is_unread(reader, operation, place, held) else held for place, held in enumerate(operands)]
    count = count_of(function_of(operation, "cond"), body, [operand.item for operand in operands])
    roles = roles_of(body, operands, count)
    arrays = Arrays(reader, operation)
    given = list(operands)
    for place in roles.carried:
        if isinstance(operands[place].item, Unfilled):
            shape = static_row_shape(body.inputs[place])
            given[place] = filled(arrays, operands[place], _shape_of_a_row(reader, operation, operands, place) if shape is None else shape)
    loop = _Loop(reader, operation, given, count, roles)
    while more := loop.read():
        loop.variables += more
    return loop.results()


def _is_unread(reader: Reader, operation: Any, place: int, held: Held) -> bool:
    """Whether a list that begins empty is read by nobody: a gradient outside of the function has added it to the graph of the loop."""
    end = operation.outputs[place]
    is_empty = isinstance(held.item, Unfilled) and held.item.length == 0 and not held.item.rows
    return is_empty and not list(uses_of(end)) and id(end) not in reader.wanted


def _shape_of_a_row(reader: Reader, operation: Any, operands: Sequence[Held], number: int) -> tuple[int, ...] | None:
    """The shape of the first row of a list that a loop writes, on the arrays of the call."""
    dtype = tf.as_dtype(operands[number].item.dtype)
    with reader.evaluator.trying():
        tensors = reader.evaluator.operation(operation, [operand.seen for operand in operands])[number]
    for place in range(int(tf.raw_ops.TensorListLength(input_handle=tensors))):
        with contextlib.suppress(tf.errors.InvalidArgumentError):
            row = tf.raw_ops.TensorListGetItem(input_handle=tensors, index=place, element_shape=-1, element_dtype=dtype)
            return tuple(row.shape)
    return None


@dataclass
class _Loop:
    """One loop as it is read."""

    reader: Reader
    operation: Any
    operands: Sequence[Held]
    count: Count | None
    roles: Roles
    variables: list[int] = field(default_factory=list)  # numbers of the variables that steps assign

    def __post_init__(self) -> None:
        self.origin, self.arrays = self.reader.origin(self.operation), Arrays(self.reader, self.operation)
        popped = [place for place in self.roles.popped if isinstance(self.operands[place].item, Value)]
        whole = [elements_of(self.operands[place]) for place in (*self.roles.rows, *popped)]
        count = len(self.roles.rows)
        self.sequences = dict(zip((*self.roles.rows, *popped), [*whole[:count], *map(self.arrays.reversed, whole[count:])]))

    def read(self) -> list[int]:
        """Reads a step; the numbers of variables that it assigns and that are not carried yet."""
        reader = self.reader
        held = [*(self.operands[place] for place in self.roles.carried), *(reader.variables[number] for number in self.variables)]
        self.start = [reader.value(one) for one in held]
        self.state = [Held(Value(value.name, value.spec), one.seen) for value, one in zip(self.start, held)]
        self.row = [self._first_row(sequence) for sequence in self.sequences.values()]
        inputs = [one.item for one in (*self.state, *self.row)]
        self.step = Block(reader, inputs, lambda: self._run(function_of(self.operation, "body")))
        if self.count is None:
            self.goes_on = Block(reader, inputs, lambda: self._run(function_of(self.operation, "cond")))
        return [number for number in self.step.assigned if number not in self.variables]

    def _first_row(self, sequence: Held) -> Held:
        spec = ArraySpec(sequence.spec.shape[1:], sequence.spec.dtype)
        first = sequence.seen[0] if sequence.made.shape[0] else tf.zeros(spec.hints, spec.dtype)
        return Held(Value("row", spec), first)

    def _run(self, graph: Any) -> list[Held]:
        carried = len(self.roles.carried)
        self.reader.variables.update(zip(self.variables, self.state[carried:]))
        given = dict(zip(self.roles.carried, self.state))
        given.update((place, Held(Rows(row), self.operands[place].seen)) for place, row in zip(self.sequences, self.row))
        given.update((place, Held(Awaited(), self.operands[place].seen)) for place in self._written)
        with self.reader.hypothetically(not self._has_steps()):
            return self.reader.results(graph, [given.get(place, operand) for place, operand in enumerate(self.operands)])

    def _has_steps(self) -> bool:
        """Whether the loop takes a step on the arrays of the call."""
        if self.count is not None:
            return self._steps() != 0
        with self.reader.evaluator.trying():
            return bool(self.reader.evaluator.graph(function_of(self.operation, "cond"), [operand.seen for operand in self.operands])[0])

    @property
    def _written(self) -> list[int]:
        """The lists that steps write."""
        return [*self.roles.stacked, *self.roles.last]

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
        return BlockNode(self.reader, self.operation).made("while_loop", self.start, bodies, like, carried=len(self.start), most=None)

    def _scan(self, given: Sequence[Held], like: Sequence[Held], ends: Sequence[Any]) -> list[Held]:
        assert self.count is not None
        written = {place: self._row(place) for place in self._stacked()}
        whole = [Held(None, self._whole(place, ends[place], row)) for place, row in written.items()]
        inputs = [one.item for one in (*self.state, *self.row)]
        sequences = [sequence.item for sequence in self.sequences.values()]
        params = {"carried": len(self.start), "sequences": len(sequences), "length": self.count.length}
        body = Body("body", inputs, *self.step.closed([*given, *written.values()]))
        return BlockNode(self.reader, self.operation).made("scan", [*self.start, *sequences], [body], [*like, *whole], **params)

    def _row(self, place: int) -> Held:
        item = self.step.results[place].item
        assert isinstance(item, Written)
        return item.row

    def _stacked(self) -> list[int]:
        """The lists whose rows are outputs of the steps: not those of which all rows are the same known numbers."""
        return [place for place in self._written if not self._is_repeated(place)]

    def _is_repeated(self, place: int) -> bool:
        """Whether all rows of a list are the same known numbers."""
        return self.operands[place].item == Unfilled(
            0, self.operands[place].item.dtype, self.operands[place].item.shape
        ) and not isinstance(self._row(place).item, Value)

    def _whole(self, place: int, end: Any, row: Held) -> Any:
        """The array of what all steps have written, in the order of the steps."""
        count, filling = self._steps(), self.roles.stacked.get(place)
        if count == 0 or filling is None:
            return tf.repeat(row.seen[None], count, 0)
        first = hint_of(_lowest(filling, count))
        rows = stack_of(end, row.made.shape, row.made.dtype)[first : first + count]
        return rows if filling.step == 1 else tf.reverse(rows, [0])

    def _steps(self) -> int:
        assert self.count is not None
        return int(hint_of(self.count.length))

    # ------------------------------------------------------------------------------ lists
    def _lists(self, made: Sequence[Held], ends: Sequence[Any]) -> dict[int, Held]:
        """The lists that steps have written: arrays, and lists of the one row that the last step wrote."""
        first = len(self.roles.carried) + len(self.variables)
        outputs = dict(zip(self._stacked(), made[first:]))
        found = {place: Held(Repeated(self._row(place)), ends[place]) for place in self._written if place not in outputs}
        for place, array in outputs.items():
            item = self._last(place, array, made) if place in self.roles.last else self._joined(place, array)
            found[place] = Held(item, ends[place])
        return found

    def _joined(self, place: int, rows: Held) -> Any:
        """The rows that steps have written, with what stood before and behind them in the list."""
        assert self.count is not None
        filling, before, count = self.roles.stacked[place], self.operands[place], self.count.length
        if filling.step == -1:
            rows = self.arrays.reversed(rows)
        low = _lowest(filling, count)
        rest = before.item.length - low - count if not self._grows(place) else 0
        sizes = all_sizes(rows.item)[1:]
        parts = [self._kept_rows(before, 0, low, sizes), rows, self._kept_rows(before, low + count, rest, sizes)]
        return self.arrays.joined([part for part in parts if part is not None]).item

    def _grows(self, place: int) -> bool:
        """Whether the list ends where the last step has written."""
        before = self.operands[place].item
        end = before.length - _lowest(self.roles.stacked[place], self.count.length) - self.count.length  # type: ignore[union-attr]
        return bool(hint_of(end) <= 0) and self._holds(apply("le", end, 0))

    def _holds(self, condition: Any) -> bool:
        return bool(self.reader.recorder.decide_size(condition, self.origin) if hasattr(condition, "hint") else condition)

    def _kept_rows(self, before: Held, first: Any, count: Any, sizes: Sequence[Any]) -> Held | None:
        """Rows of the list that no step writes; None where there are none."""
        if hint_of(count) == 0 and self._holds(apply("eq", count, 0)):
            return None
        rows = before.item.rows
        if isinstance(first, int) and isinstance(count, int) and all(place in rows for place in range(first, first + count)):
            return self.arrays.stack([rows[place] for place in range(first, first + count)])
        if not rows:
            return self.arrays.zeros((count, *sizes), before.item.dtype)
        return self.arrays.part(elements_of(filled(self.arrays, before, sizes)), first, count)

    def _last(self, place: int, outputs: Held, made: Sequence[Held]) -> Unfilled:
        """The list with what the last step has written: often an array that is carried, else the last of the outputs of all steps."""
        before, row, written = self.operands[place].item, self.roles.last[place], self._row(place)
        same = (held for carried, held in zip(self.roles.carried, made) if self.step.results[carried].item is written.item)
        if (found := next(same, None)) is None:
            assert self.count is not None
            last = self.count.length - 1
            seen = outputs.seen[-1] if outputs.made.shape[0] else written.seen
            found = self.arrays.row(outputs, Held(known(last), tf.constant(hint_of(last))), seen)
        return Unfilled(apply("max", before.length, row + 1), before.dtype, before.shape, {**before.rows, row: found})

    def _kept(self, place: int, end: Any) -> Held:
        """What stays as it is, or only counts."""
        if self.count is not None and place in self.count.counters:
            return Held(known(self.count.end(place)), end)
        if place in self.roles.popped:
            item = self.operands[place].item
            return Held(item if isinstance(item, Repeated) else Unfilled(0, item.spec.dtype), end)
        return self.operands[place]

    def _check_shapes(self, results: Sequence[Held]) -> None:
        for one, held in zip(self.state, results):
            if one.spec != held.spec:
                if isinstance(one.seen, tf.Tensor) and one.made.dtype == tf.variant:
                    raise UnsupportedOperation(
                        f"{self.operation.type}: a TensorArray grows in a loop whose number of steps is not known before it begins; give "
                        f"it the size that it needs at most (tf.TensorArray(..., size=...)), and cut it afterwards\n    {self.origin}"
                    )
                raise UnsupportedOperation(
                    f"{self.operation.type}: {one.item.name} is {one.spec} before a step and {held.spec} after it; what a loop carries "
                    "keeps its shape\n"
                    f"    {self.origin}"
                )


def _lowest(filling: Filling, count: Any) -> Any:
    """The place of the first row that is written, counted from the front."""
    return filling.first if filling.step == 1 else filling.first - (count - 1)


READ: dict[str, Handler] = dict.fromkeys(LOOPS, while_loop)
