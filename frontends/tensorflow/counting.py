"""Trip counts of loops, derived from the traced graphs of the condition and the body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensorflow.python.framework import tensor_util

from ...ops.bounds import nonnegative
from ...sizes import Size, apply
from .known_numbers import nested

_SAME = ("Identity", "Cast")
_COMPARED = {"Less": "lt", "LessEqual": "le", "Greater": "gt", "GreaterEqual": "ge"}


@dataclass(frozen=True)
class Count:
    """Trip count of a loop, and the parts of its state that only count.

    length: the trip count, an int or a ``Size``.
    counters: start value and increment of each counter, by its index in the state.
    number_in: function of a graph and a tensor; it returns the integer that the tensor equals in every
        iteration, or None if that is not known or may change.
    """

    length: Any
    counters: Mapping[int, tuple[Any, int]]
    number_in: Callable[[Any, Any], Any]

    def is_number_of_step(self, place: int | None) -> bool:
        return place is not None and self.counters.get(place) == (0, 1)

    def end(self, place: int) -> Any:
        first, step = self.counters[place]
        return first + step * self.length


def count_of(condition: Any, body: Any, start: Sequence[Any]) -> Count | None:
    """Return the trip count of a loop whose state starts as ``start`` (values, known arrays or others).

    Return None unless the condition is built from comparisons of a counter with a loop-invariant integer
    or size that is known while recording, joined by ``and``.
    """
    counting = _Counting(condition, body, start)
    steps = counting.steps(condition.outputs[0])
    if steps is None or isinstance(steps, bool):
        return None
    pairs = ((place, (counting.first(place), counting.step(place))) for place in range(len(start)))
    return Count(
        # The counter may start beyond its bound, and then there is no iteration.
        steps if nonnegative(steps) else apply("max", steps, 0),
        {place: pair for place, pair in pairs if None not in pair},
        counting.number,
    )


@dataclass(frozen=True)
class _Counting:
    condition: Any
    body: Any
    start: Sequence[Any]

    def steps(self, tensor: Any) -> Any:
        """Return for how many iterations ``tensor``, a part of the condition, holds.

        True stands for always, False for never, None for unknown.
        """
        operation = source_of(tensor).op
        if operation.type == "Const":
            return bool(tensor_util.MakeNdarray(operation.get_attr("value")))
        if operation.type in ("LogicalAnd", "LogicalOr"):
            return _combine(operation.type, *map(self.steps, operation.inputs))
        if operation.type not in _COMPARED:
            return None
        return self._compared_trip_count(operation.type, *operation.inputs)

    def _compared_trip_count(self, kind: str, left: Any, right: Any) -> Any:
        numbers = [self.number(self.condition, one) for one in (left, right)]
        if None not in numbers:
            found = apply(_COMPARED[kind], *numbers)
            return None if isinstance(found, Size) else bool(found)
        place = input_index(self.condition, left)
        first, step, end = self.first(place), self.step(place), numbers[1]
        # A counter that moves away from its bound ends the loop at once or never.
        if None in (first, step, end) or (step > 0) != kind.startswith("Less"):
            return None
        way = end - first if step > 0 else first - end
        return (way + int(kind.endswith("Equal")) + abs(step) - 1) // abs(step)

    def number(self, graph: Any, tensor: Any) -> Any:
        """Return the integer or size that ``tensor`` equals in every iteration, or None if unknown."""
        operation = source_of(tensor).op
        if operation.type == "Const":
            found = tensor_util.MakeNdarray(operation.get_attr("value"))
            return found.item() if found.ndim == 0 and found.dtype.kind in "iu" else None
        place = input_index(graph, tensor)
        return self.first(place) if place is not None and is_invariant(self.body, place) else None

    def first(self, place: int | None) -> Any:
        """Return the integer or size at which an element of the state starts, or None if it is unknown."""
        item = None if place is None else self.start[place]
        return (
            nested(item)
            if isinstance(item, np.ndarray) and item.ndim == 0 and type(nested(item)) in (int, Size)
            else None
        )

    def step(self, place: int | None) -> Any:
        """Return the nonzero int by which an element of the state grows per iteration, or None if unknown.

        Only ``x + c`` and ``x - c`` are recognized.
        """
        operation = None if place is None else source_of(self.body.outputs[place]).op
        if (
            operation is None
            or operation.type not in ("AddV2", "Add", "Sub")
            or input_index(self.body, operation.inputs[0]) != place
        ):
            return None
        added = self.number(self.body, operation.inputs[1])
        return (-added if operation.type == "Sub" else added) if type(added) is int and added != 0 else None


def _combine(kind: str, left: Any, right: Any) -> Any:
    """Return the trip count for ``LogicalAnd`` or ``LogicalOr`` of two parts of a condition.

    True stands for a part that always holds, False for one that never does. Return None if the count is
    unknown.
    """
    # A constant True decides an ``or``, a constant False an ``and``.
    decides = kind == "LogicalOr"
    if decides in [part for part in (left, right) if isinstance(part, bool)]:
        return decides
    if isinstance(left, bool) or isinstance(right, bool):
        return right if isinstance(left, bool) else left
    return None if kind == "LogicalOr" or left is None or right is None else apply("min", left, right)


def is_invariant(body: Any, place: int) -> bool:
    return input_index(body, body.outputs[place]) == place


def source_of(tensor: Any) -> Any:
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[0]
    return tensor


def input_index(graph: Any, tensor: Any) -> int | None:
    found = source_of(tensor)
    return next((place for place, one in enumerate(graph.inputs) if one is found), None)


def consumers_of(tensor: Any) -> Iterator[Any]:
    """Yield the operations that read ``tensor``, with those that read it through ``Identity``."""
    for operation in tensor.consumers():
        if operation.type == "Identity":
            yield from consumers_of(operation.outputs[0])
        else:
            yield operation
