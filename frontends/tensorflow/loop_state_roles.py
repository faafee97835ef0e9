"""What the parts of the state of a loop are, told by the graph of its body: arrays that change, lists that are read or written in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ...ir.node import Value
from .counting import Count, behind, input_behind, is_steady, uses_of
from .evaluation import BRANCHES, CALLS, LOOPS, branches_of, constant_of, function_of
from .held import Held
from .lists import Repeated, Unfilled

_SUMS = ("AddV2", "Add", "Sub")
_CHANGES = frozenset({f"TensorList{name}" for name in ("SetItem", "PushBack", "PopBack", "Resize", "ScatterIntoExistingList")})


@dataclass(frozen=True)
class Filling:
    """A list of which step n writes the row ``first + n * step``, where ``step`` is 1 or -1."""

    first: Any
    step: int


@dataclass(frozen=True)
class Roles:
    """Places in the state of a loop, by what is there. Others stay as they are, or count and are read by nobody.

    ``rows`` are lists that step n reads at n, ``popped`` lists that each step takes the last row of, ``stacked`` lists that steps fill in
    order, ``last`` lists whose one row each step writes anew (with the place of the row).
    """

    carried: list[int]
    rows: list[int]
    popped: list[int]
    stacked: Mapping[int, Filling]
    last: Mapping[int, int]


def roles_of(body: Any, operands: Sequence[Held], count: Count | None) -> Roles:
    """The roles of the parts of a state that begins as ``operands``; in a loop that does not count, all that changes is carried."""
    places = range(len(operands))
    if count is None:
        return Roles([place for place in places if operands[place].item is not None and not is_steady(body, place)], [], [], {}, {})
    lists = [place for place in places if body.inputs[place].dtype == tf.variant]
    filled = [place for place in lists if isinstance(operands[place].item, Value)]
    rows = [place for place in filled if _is_read_in_order(body, place, count)]
    popped = [place for place in lists if isinstance(operands[place].item, (Value, Repeated)) and _pop(body, place) is not None]
    writes = {place: write for place in lists if (write := _write(body, place, operands)) is not None}
    stacked = {place: filling for place, write in writes.items() if (filling := _filling(body, write, count, operands)) is not None}
    last = {place: int(constant_of(found.op)) for place, write in writes.items() if (found := _constant_place(write)) is not None}
    handled = [*(writes[place] for place in (*stacked, *last)), *(use for place in rows for use in uses_of(body.inputs[place]))]
    idle = [place for place in count.counters if _only_counts(body, place, handled)]
    others = {*rows, *popped, *stacked, *last, *idle}
    carried = [place for place in places if operands[place].item is not None and not is_steady(body, place) and place not in others]
    return Roles(carried, rows, popped, stacked, last)


# ------------------------------------------------------------------------------------- lists
def _is_read_in_order(body: Any, place: int, count: Count) -> bool:
    uses = list(uses_of(body.inputs[place])) if is_steady(body, place) and not _leaves(body, place) else []
    return bool(uses) and all(
        use.type == "TensorListGetItem" and count.is_number_of_step(input_behind(body, use.inputs[1])) for use in uses
    )


def _pop(body: Any, place: int) -> Any:
    """The operation by which a step takes the last row of a list, where nothing else is done with it."""
    end = behind(body.outputs[place]).op
    is_alone = list(uses_of(body.inputs[place])) == [end] and not _leaves(body, place)
    return end if end.type == "TensorListPopBack" and is_alone else None


def _write(body: Any, place: int, operands: Sequence[Held]) -> Any:
    """The operation by which a step writes a row into a list in the making, where nothing else is done with it."""
    if not isinstance(operands[place].item, Unfilled) or is_steady(body, place):
        return None
    end = behind(body.outputs[place]).op
    is_alone = list(uses_of(body.inputs[place])) == [end] and not _leaves(body, place)
    return end if end.type in ("TensorListSetItem", "TensorListPushBack") and is_alone else None


def _filling(body: Any, write: Any, count: Count, operands: Sequence[Held]) -> Filling | None:
    if write.type == "TensorListPushBack":
        return Filling(0, 1)
    found = _Affine(body, count, operands).of(write.inputs[1])
    return Filling(*found) if found is not None and found[1] in (1, -1) else None


def _constant_place(write: Any) -> Any:
    found = behind(write.inputs[1]) if write.type == "TensorListSetItem" else None
    return found if found is not None and found.op.type == "Const" else None


@dataclass(frozen=True)
class _Affine:
    """Whole numbers in a step that are ``first + step * n`` in step n."""

    body: Any
    count: Count
    operands: Sequence[Held]

    def of(self, tensor: Any) -> tuple[Any, int] | None:
        """(first, step); None where the number is computed otherwise."""
        operation = behind(tensor).op
        place = input_behind(self.body, tensor)
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
    """Whether nothing but the counting itself, and lists that follow the steps, reads a counter."""
    added = behind(body.outputs[place]).op
    return _only_tells_rows(body.inputs[place], added, handled) and not _leaves(body, place)


def _only_tells_rows(number: Any, added: Any, handled: Sequence[Any]) -> bool:
    """Whether a number is only read by the counting, and by lists as the place of a row, also as part of a sum."""

    def is_idle(use: Any) -> bool:
        if use.type in _SUMS and (use is added or list(uses_of(use.outputs[0]))):
            return _only_tells_rows(use.outputs[0], added, handled)
        place, row = (behind(use.inputs[1]), behind(use.inputs[-1])) if len(use.inputs) > 1 else (None, None)
        return any(use is one for one in handled) and place is behind(number) and row is not behind(number)

    return all(map(is_idle, uses_of(number)))


def _leaves(body: Any, place: int) -> bool:
    """Whether a step gives a part of the state on as another part."""
    return any(other != place and input_behind(body, tensor) == place for other, tensor in enumerate(body.outputs))


# ------------------------------------------------------------------------------------- rows
def is_changed(tensor: Any) -> bool:
    """Whether something writes to a list of tensors."""
    inner = ((outer, one) for use in uses_of(tensor) for graph, inputs in _graphs_of(use) for outer, one in zip(inputs, graph.inputs))
    return any(use.type in _CHANGES for use in uses_of(tensor)) or any(outer is tensor and is_changed(one) for outer, one in inner)


def static_row_shape(tensor: Any) -> tuple[int, ...] | None:
    """The sizes of the rows that are written into a list, where the traced graph knows them all."""
    for use in uses_of(tensor):
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
