"""Lifts ``While`` of a traced graph to loop nodes.

A loop whose trip count is found before it starts (that of an RNN layer) becomes a ``scan``, so its gradient
can be computed backwards. Lists that its iterations read in order become scanned sequences, and lists that
they fill in order become stacked outputs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.builder import Body
from ...ir.node import Value
from ...ops.registry import ArraySpec
from ...sizes import apply, hint_of
from .evaluation import BRANCHES, CALLS, LOOPS, branches_of, constant_of, function_of
from .known_numbers import Count, as_known_array, consumers_of, count_of, input_index, is_invariant, source_of
from .lists import (
    Arrays,
    InputRow,
    OutputList,
    PartialList,
    RepeatedRow,
    WrittenRow,
    all_sizes,
    list_to_array,
    stack_of,
    stacked_list,
)
from .reader import BlockNode, GraphReader, Handler, TracedBlock
from .variables import TensorValue

_SUMS = ("AddV2", "Add", "Sub")
_CHANGES = frozenset(
    {f"TensorList{name}" for name in ("SetItem", "PushBack", "PopBack", "Resize", "ScatterIntoExistingList")}
)


@dataclass(frozen=True)
class RowOrder:
    """Order in which a loop writes the rows of a list.

    first: index of the row that the first iteration writes, an int or a size.
    step: 1 or -1, the distance to the row that the next iteration writes.
    """

    first: Any
    step: int


@dataclass(frozen=True)
class LoopRoles:
    """Indices of the elements of a loop's state, by the role that they have in the body.

    Elements that the body does not change, and counters that only index lists, may be in none.

    carried: elements that are part of the carry.
    rows: lists of which iteration n reads row n.
    popped: lists from which each iteration pops the last row.
    stacked: lists of which each iteration writes another row, with the order.
    last: lists of which each iteration overwrites the same row, with the index of that row.
    """

    carried: list[int]
    rows: list[int]
    popped: list[int]
    stacked: Mapping[int, RowOrder]
    last: Mapping[int, int]


def roles_of(body: Any, operands: Sequence[TensorValue], count: Count | None) -> LoopRoles:
    """Return the roles of the elements of a loop's state, whose initial values are ``operands``."""
    places = range(len(operands))
    if count is None:
        return LoopRoles(
            [place for place in places if operands[place].item is not None and not is_invariant(body, place)],
            [],
            [],
            {},
            {},
        )
    lists = [place for place in places if body.inputs[place].dtype == tf.variant]
    filled = [place for place in lists if isinstance(operands[place].item, Value)]
    rows = [place for place in filled if _is_read_in_order(body, place, count)]
    popped = [
        place
        for place in lists
        if isinstance(operands[place].item, (Value, RepeatedRow)) and _pop(body, place) is not None
    ]
    writes = {place: write for place in lists if (write := _write(body, place, operands)) is not None}
    stacked = {
        place: filling
        for place, write in writes.items()
        if (filling := _filling(body, write, count, operands, operands[place].item)) is not None
    }
    last = {
        place: int(constant_of(found.op))
        for place, write in writes.items()
        if (found := _constant_place(write)) is not None
    }
    handled = [
        *(writes[place] for place in (*stacked, *last)),
        *(use for place in rows for use in consumers_of(body.inputs[place])),
    ]
    idle = [place for place in count.counters if _only_counts(body, place, handled)]
    others = {*rows, *popped, *stacked, *last, *idle}
    carried = [
        place
        for place in places
        if operands[place].item is not None and not is_invariant(body, place) and place not in others
    ]
    return LoopRoles(carried, rows, popped, stacked, last)


# ------------------------------------------------------------------------------------- lists
def _is_read_in_order(body: Any, place: int, count: Count) -> bool:
    uses = (
        list(consumers_of(body.inputs[place]))
        if is_invariant(body, place) and not _is_returned_elsewhere(body, place)
        else []
    )
    return bool(uses) and all(
        use.type == "TensorListGetItem" and count.is_number_of_step(input_index(body, use.inputs[1]))
        for use in uses
    )


def _pop(body: Any, place: int) -> Any:
    end = source_of(body.outputs[place]).op
    is_alone = list(consumers_of(body.inputs[place])) == [end] and not _is_returned_elsewhere(body, place)
    return end if end.type == "TensorListPopBack" and is_alone else None


def _write(body: Any, place: int, operands: Sequence[TensorValue]) -> Any:
    if not isinstance(operands[place].item, PartialList) or is_invariant(body, place):
        return None
    end = source_of(body.outputs[place]).op
    is_alone = list(consumers_of(body.inputs[place])) == [end] and not _is_returned_elsewhere(body, place)
    return end if end.type in ("TensorListSetItem", "TensorListPushBack") and is_alone else None


def _filling(
    body: Any, write: Any, count: Count, operands: Sequence[TensorValue], before: PartialList
) -> RowOrder | None:
    if write.type == "TensorListPushBack":
        return RowOrder(before.length, 1)
    found = _AffineNumbers(body, count, operands).of(write.inputs[1])
    # Rows with gaps between them are not the stacked outputs of a loop.
    return RowOrder(*found) if found is not None and found[1] in (1, -1) else None


def _constant_place(write: Any) -> Any:
    found = source_of(write.inputs[1]) if write.type == "TensorListSetItem" else None
    return found if found is not None and found.op.type == "Const" else None


@dataclass(frozen=True)
class _AffineNumbers:
    body: Any
    count: Count
    operands: Sequence[TensorValue]

    def of(self, tensor: Any) -> tuple[Any, int] | None:
        """Return ``(first, step)`` of a tensor found to be ``first + step * n`` in iteration n, or None."""
        operation = source_of(tensor).op
        place = input_index(self.body, tensor)
        if place is not None and place in self.count.counters:
            return self.count.counters[place]
        number = self.count.number_in(self.body, tensor)
        if number is not None:
            return number, 0
        parts = [self.of(one) for one in operation.inputs] if operation.type in _SUMS else [None]
        if None in parts:
            return None
        sign = -1 if operation.type == "Sub" else 1
        (first, step), (other, more) = parts  # type: ignore[misc]
        return first + sign * other, step + sign * more


# ------------------------------------------------------------------------------------- counters
def _only_counts(body: Any, place: int, handled: Sequence[Any]) -> bool:
    added = source_of(body.outputs[place]).op
    return _only_indexes_rows(body.inputs[place], added, handled) and not _is_returned_elsewhere(body, place)


def _only_indexes_rows(number: Any, added: Any, handled: Sequence[Any]) -> bool:
    def is_idle(use: Any) -> bool:
        if use.type in _SUMS and (use is added or list(consumers_of(use.outputs[0]))):
            return _only_indexes_rows(use.outputs[0], added, handled)
        place, row = (
            (source_of(use.inputs[1]), source_of(use.inputs[-1])) if len(use.inputs) > 1 else (None, None)
        )
        return (
            any(use is one for one in handled) and place is source_of(number) and row is not source_of(number)
        )

    return all(map(is_idle, consumers_of(number)))


def _is_returned_elsewhere(body: Any, place: int) -> bool:
    return any(
        other != place and input_index(body, tensor) == place for other, tensor in enumerate(body.outputs)
    )


# ------------------------------------------------------------------------------------- rows
def is_written(tensor: Any) -> bool:
    inner = (
        (outer, one)
        for use in consumers_of(tensor)
        for graph, inputs in _graphs_of(use)
        for outer, one in zip(inputs, graph.inputs)
    )
    return any(use.type in _CHANGES for use in consumers_of(tensor)) or any(
        outer is tensor and is_written(one) for outer, one in inner
    )


def static_row_shape(tensor: Any) -> tuple[int, ...] | None:
    """Return the static shape of a row that is written into the list ``tensor``, or None."""
    for use in consumers_of(tensor):
        if use.type in ("TensorListSetItem", "TensorListPushBack"):
            shape = use.inputs[-1].shape
            return tuple(shape.as_list()) if shape.is_fully_defined() else None
        for graph, inputs in _graphs_of(use):
            for outer, inner in zip(inputs, graph.inputs):
                if outer is tensor and (found := static_row_shape(inner)) is not None:
                    return found
    return None


def _graphs_of(operation: Any) -> Iterator[tuple[Any, Sequence[Any]]]:
    if operation.type in BRANCHES:
        yield from ((graph, operation.inputs[1:]) for graph in branches_of(operation))
    elif operation.type in LOOPS:
        yield function_of(operation, "body"), operation.inputs
    elif operation.type in CALLS:
        yield function_of(operation, "f"), operation.inputs


def while_loop(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    body = function_of(operation, "body")
    operands = [
        TensorValue(None, held.seen) if _is_unread(reader, operation, place, held) else held
        for place, held in enumerate(operands)
    ]
    # With a trip count, lists become scanned sequences and stacked outputs. Without one, they are carried.
    count = count_of(function_of(operation, "cond"), body, [operand.item for operand in operands])
    roles = roles_of(body, operands, count)
    arrays = Arrays(reader, operation)
    given = list(operands)
    for place in roles.carried:
        if isinstance(operands[place].item, PartialList):
            shape = static_row_shape(body.inputs[place])
            given[place] = list_to_array(
                arrays,
                operands[place],
                _shape_of_a_row(reader, operation, operands, place) if shape is None else shape,
            )
    loop = _WhileLoop(reader, operation, given, count, roles)
    # A variable that the body assigns joins the carry, which changes what the body reads. So it is read again
    # until it assigns no further ones.
    while more := loop.read():
        loop.variables += more
    return loop.results()


def _is_unread(reader: GraphReader, operation: Any, place: int, held: TensorValue) -> bool:
    end = operation.outputs[place]
    is_empty = isinstance(held.item, PartialList) and held.item.length == 0 and not held.item.rows
    return is_empty and not list(consumers_of(end)) and id(end) not in reader.wanted


def _shape_of_a_row(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue], number: int
) -> tuple[int, ...] | None:
    """Run the loop, and return the shape of a row of the list ``number`` of its state, or None."""
    dtype = tf.as_dtype(operands[number].item.dtype)
    with reader.evaluator.trying():
        tensors = reader.evaluator.operation(operation, [operand.seen for operand in operands])[number]
    for place in range(int(tf.raw_ops.TensorListLength(input_handle=tensors))):
        # TensorFlow raises this for a row that was never written.
        with contextlib.suppress(tf.errors.InvalidArgumentError):
            row = tf.raw_ops.TensorListGetItem(
                input_handle=tensors, index=place, element_shape=-1, element_dtype=dtype
            )
            return tuple(row.shape)
    return None


@dataclass
class _WhileLoop:
    reader: GraphReader
    operation: Any
    operands: Sequence[TensorValue]
    count: Count | None
    roles: LoopRoles
    # Handle numbers of the variables that the body assigns.
    variables: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.origin, self.arrays = self.reader.origin(self.operation), Arrays(self.reader, self.operation)
        popped = [place for place in self.roles.popped if isinstance(self.operands[place].item, Value)]
        # A loop that pops rows reads them from the last one to the first, so these sequences are reversed.
        whole = [stacked_list(self.operands[place]) for place in (*self.roles.rows, *popped)]
        count = len(self.roles.rows)
        self.sequences = dict(
            zip((*self.roles.rows, *popped), [*whole[:count], *map(self.arrays.reverse, whole[count:])])
        )

    def read(self) -> list[int]:
        """Read the body, and the condition if the trip count is unknown, and store their blocks.

        Return the handle numbers of variables that the body assigns and that are not in the carry yet.
        """
        reader = self.reader
        held = [
            *(self.operands[place] for place in self.roles.carried),
            *(reader.variables[number] for number in self.variables),
        ]
        self.start = [reader.value(one) for one in held]
        self.state = [
            TensorValue(Value(value.name, value.spec), one.seen) for value, one in zip(self.start, held)
        ]
        self.row = [self._first_row(sequence) for sequence in self.sequences.values()]
        inputs = [one.item for one in (*self.state, *self.row)]
        self.step = TracedBlock(reader, inputs, lambda: self._run(function_of(self.operation, "body")))
        if self.count is None:
            self.goes_on = TracedBlock(reader, inputs, lambda: self._run(function_of(self.operation, "cond")))
        return [number for number in self.step.assigned if number not in self.variables]

    def _first_row(self, sequence: TensorValue) -> TensorValue:
        spec = ArraySpec(sequence.spec.shape[1:], sequence.spec.dtype)
        # The body is read even if the sequence is empty.
        first = sequence.seen[0] if sequence.made.shape[0] else tf.zeros(spec.hints, spec.dtype)
        return TensorValue(Value("row", spec), first)

    def _run(self, graph: Any) -> list[TensorValue]:
        carried = len(self.roles.carried)
        self.reader.variables.update(zip(self.variables, self.state[carried:]))
        given = dict(zip(self.roles.carried, self.state))
        given.update(
            (place, TensorValue(InputRow(row), self.operands[place].seen))
            for place, row in zip(self.sequences, self.row)
        )
        given.update((place, TensorValue(OutputList(), self.operands[place].seen)) for place in self._written)
        # Without an iteration, the body may fail on the arrays of the call.
        with self.reader.hypothetically(not self._has_steps()):
            return self.reader.results(
                graph, [given.get(place, operand) for place, operand in enumerate(self.operands)]
            )

    def _has_steps(self) -> bool:
        if self.count is not None:
            return self._steps() != 0
        with self.reader.evaluator.trying():
            return bool(
                self.reader.evaluator.graph(
                    function_of(self.operation, "cond"), [operand.seen for operand in self.operands]
                )[0]
            )

    @property
    def _written(self) -> list[int]:
        return [*self.roles.stacked, *self.roles.last]

    # ------------------------------------------------------------------------------ results
    def results(self) -> list[TensorValue]:
        """Append the loop node and return the results of the operation.

        :meth:`read` must have returned an empty list.
        """
        # The whole loop runs once on the arrays of the call, for the arrays that its results have there.
        ends = self.reader.evaluator.operation(self.operation, [operand.seen for operand in self.operands])
        given = [
            *(self.step.results[place] for place in self.roles.carried),
            *(self.step.variables[number] for number in self.variables),
        ]
        self._check_shapes(given)
        seen = [
            *(ends[place] for place in self.roles.carried),
            *(self.reader.variables[number].seen for number in self.variables),
        ]
        like = [TensorValue(one.item, array) for one, array in zip(self.state, seen)]
        made = self._while(given, like) if self.count is None else self._scan(given, like, ends)
        for number, held in zip(self.variables, made[len(self.roles.carried) :]):
            self.reader.variables[number], self.reader.assigned[number] = held, self.step.names[number]
        found = {**dict(zip(self.roles.carried, made)), **self._lists(made, ends)}
        return [
            found.get(place) or self._invariant_result(place, ends[place])
            for place in range(len(self.operands))
        ]

    def _while(self, given: Sequence[TensorValue], like: Sequence[TensorValue]) -> list[TensorValue]:
        inputs = [one.item for one in self.state]
        condition = Body("condition", inputs, *self.goes_on.closed(self.goes_on.results))
        bodies = [condition, Body("body", inputs, *self.step.closed(given))]
        return BlockNode(self.reader, self.operation).add(
            "while_loop", self.start, bodies, like, carried=len(self.start), most=None
        )

    def _scan(
        self, given: Sequence[TensorValue], like: Sequence[TensorValue], ends: Sequence[Any]
    ) -> list[TensorValue]:
        assert self.count is not None
        written = {place: self._row(place) for place in self._stacked()}
        whole = [
            TensorValue(None, self._stacked_rows(place, ends[place], row)) for place, row in written.items()
        ]
        inputs = [one.item for one in (*self.state, *self.row)]
        sequences = [sequence.item for sequence in self.sequences.values()]
        params = {"carried": len(self.start), "sequences": len(sequences), "length": self.count.length}
        body = Body("body", inputs, *self.step.closed([*given, *written.values()]))
        return BlockNode(self.reader, self.operation).add(
            "scan", [*self.start, *sequences], [body], [*like, *whole], **params
        )

    def _row(self, place: int) -> TensorValue:
        item = self.step.results[place].item
        assert isinstance(item, WrittenRow)
        return item.row

    def _stacked(self) -> list[int]:
        return [place for place in self._written if not self._is_repeated(place)]

    def _is_repeated(self, place: int) -> bool:
        return self.operands[place].item == PartialList(
            0, self.operands[place].item.dtype, self.operands[place].item.shape
        ) and not isinstance(self._row(place).item, Value)

    def _stacked_rows(self, place: int, end: Any, row: TensorValue) -> Any:
        count, filling = self._steps(), self.roles.stacked.get(place)
        if count == 0 or filling is None:
            return tf.repeat(row.seen[None], count, 0)
        first = hint_of(_lowest_row(filling, count))
        rows = stack_of(end, row.made.shape, row.made.dtype)[first : first + count]
        return rows if filling.step == 1 else tf.reverse(rows, [0])

    def _steps(self) -> int:
        assert self.count is not None
        return int(hint_of(self.count.length))

    # ------------------------------------------------------------------------------ lists
    def _lists(self, made: Sequence[TensorValue], ends: Sequence[Any]) -> dict[int, TensorValue]:
        first = len(self.roles.carried) + len(self.variables)
        outputs = dict(zip(self._stacked(), made[first:]))
        found = {
            place: TensorValue(RepeatedRow(self._row(place)), ends[place])
            for place in self._written
            if place not in outputs
        }
        for place, array in outputs.items():
            item = (
                self._overwritten_list(place, array, made)
                if place in self.roles.last
                else self._filled_array(place, array)
            )
            found[place] = TensorValue(item, ends[place])
        return found

    def _filled_array(self, place: int, rows: TensorValue) -> Any:
        assert self.count is not None
        filling, before, count = self.roles.stacked[place], self.operands[place], self.count.length
        if filling.step == -1:
            rows = self.arrays.reverse(rows)
        low = _lowest_row(filling, count)
        rest = before.item.length - low - count if not self._grows(place) else 0
        sizes = all_sizes(rows.item)[1:]
        parts = [
            self._unwritten_rows(before, 0, low, sizes),
            rows,
            self._unwritten_rows(before, low + count, rest, sizes),
        ]
        return self.arrays.concat([part for part in parts if part is not None]).item

    def _grows(self, place: int) -> bool:
        before, count = self.operands[place].item, self.count
        assert count is not None
        end = before.length - _lowest_row(self.roles.stacked[place], count.length) - count.length
        return bool(hint_of(end) <= 0) and self._holds(apply("le", end, 0))

    def _holds(self, condition: Any) -> bool:
        return bool(
            self.reader.recorder.decide_size(condition, self.origin)
            if hasattr(condition, "hint")
            else condition
        )

    def _unwritten_rows(
        self, before: TensorValue, first: Any, count: Any, sizes: Sequence[Any]
    ) -> TensorValue | None:
        if hint_of(count) == 0 and self._holds(apply("eq", count, 0)):
            return None
        rows = before.item.rows
        if (
            isinstance(first, int)
            and isinstance(count, int)
            and all(place in rows for place in range(first, first + count))
        ):
            return self.arrays.stack([rows[place] for place in range(first, first + count)])
        if not rows:
            return self.arrays.zeros((count, *sizes), before.item.dtype)
        return self.arrays.slice_rows(stacked_list(list_to_array(self.arrays, before, sizes)), first, count)

    def _overwritten_list(self, place: int, outputs: TensorValue, made: Sequence[TensorValue]) -> PartialList:
        before, row, written = self.operands[place].item, self.roles.last[place], self._row(place)
        assert self.count is not None
        # Without iterations, the row is the earlier one.
        if not self._holds(apply("ge", self.count.length, 1)):
            return before
        # If the body writes what it carries, the row is the final value of the carried array.
        same = (
            held
            for carried, held in zip(self.roles.carried, made)
            if self.step.results[carried].item is written.item
        )
        if (found := next(same, None)) is None:
            last = self.count.length - 1
            seen = outputs.seen[-1] if outputs.made.shape[0] else written.seen
            found = self.arrays.row(
                outputs, TensorValue(as_known_array(last), tf.constant(hint_of(last))), seen
            )
        return PartialList(
            apply("max", before.length, row + 1), before.dtype, before.shape, {**before.rows, row: found}
        )

    def _invariant_result(self, place: int, end: Any) -> TensorValue:
        if self.count is not None and place in self.count.counters:
            return TensorValue(as_known_array(self.count.end(place)), end)
        if place in self.roles.popped:
            item = self.operands[place].item
            return TensorValue(
                item if isinstance(item, RepeatedRow) else PartialList(0, item.spec.dtype), end
            )
        return self.operands[place]

    def _check_shapes(self, results: Sequence[TensorValue]) -> None:
        for one, held in zip(self.state, results):
            if one.spec != held.spec:
                if isinstance(one.seen, tf.Tensor) and one.made.dtype == tf.variant:
                    raise UnsupportedOperation(
                        f"{self.operation.type}: a TensorArray grows in a loop whose number of steps is "
                        "not known before it begins; give "
                        "it the size that it needs at most (tf.TensorArray(..., size=...)), and cut it "
                        f"afterwards\n    {self.origin}"
                    )
                raise UnsupportedOperation(
                    f"{self.operation.type}: {one.item.name} is {one.spec} before a step and "
                    f"{held.spec} after it; what a loop carries "
                    "keeps its shape\n"
                    f"    {self.origin}"
                )


def _lowest_row(filling: RowOrder, count: Any) -> Any:
    return filling.first if filling.step == 1 else filling.first - (count - 1)


READ: dict[str, Handler] = dict.fromkeys(LOOPS, while_loop)
