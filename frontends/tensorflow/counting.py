"""Loops that count: how many steps they take, told by the graphs of their condition and body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensorflow.python.framework import tensor_util

from ...sizes import Size, apply
from .known import nested

_SAME = ("Identity", "Cast")


@dataclass(frozen=True)
class Count:
    """How many steps a loop takes (an int or a ``Size``), and the places of its state that hold the number of the step."""

    length: Any
    from_zero: frozenset[int]


def count_of(condition: Any, body: Any, start: Sequence[Any]) -> Count | None:
    """The count of a loop whose state begins as ``start`` (values, known arrays, others); None where it depends on what steps compute."""
    steps = _steps(condition, body, start, condition.outputs[0])
    if steps is None or isinstance(steps, bool):
        return None
    counters = (place for place, item in enumerate(start) if _is_counter(body, place) and isinstance(item, np.ndarray) and item.ndim == 0)
    length = apply("max", steps, 0) if isinstance(steps, Size) else max(steps, 0)
    return Count(length, frozenset(place for place in counters if nested(start[place]) == 0))


def _steps(condition: Any, body: Any, start: Sequence[Any], tensor: Any) -> Any:
    """For how many steps a part of a condition holds: a number, True for always, False for never; None where that is not known."""
    operation = behind(tensor).op
    if operation.type == "Const":
        return bool(tensor_util.MakeNdarray(operation.get_attr("value")))
    if operation.type in ("LogicalAnd", "LogicalOr"):
        return _both(operation.type, *(_steps(condition, body, start, one) for one in operation.inputs))
    if operation.type not in ("Less", "LessEqual", "Greater", "GreaterEqual"):
        return None
    left, right = operation.inputs
    if (numbers := [_number(condition, body, start, one) for one in (left, right)]) and None not in numbers:
        function = {"Less": "lt", "LessEqual": "le", "Greater": "gt", "GreaterEqual": "ge"}[operation.type]
        found = apply(function, *numbers)
        return None if isinstance(found, Size) else bool(found)
    place, end = input_behind(condition, left), _number(condition, body, start, right)
    first = _first(start, place)
    if operation.type not in ("Less", "LessEqual") or end is None or first is None or not _is_counter(body, place):
        return None
    return end - first + (operation.type == "LessEqual")


def _both(kind: str, left: Any, right: Any) -> Any:
    """What holds for the shorter of two counts, or of either where one never holds."""
    for one, other in ((left, right), (right, left)):
        if one is (kind == "LogicalAnd"):
            return other
        if one is (kind != "LogicalAnd"):
            return one
    return None if kind == "LogicalOr" or left is None or right is None else apply("min", left, right)


def _number(condition: Any, body: Any, start: Sequence[Any], tensor: Any) -> Any:
    """A number that stays the same in all steps, where it is known."""
    operation = behind(tensor).op
    if operation.type == "Const":
        found = tensor_util.MakeNdarray(operation.get_attr("value"))
        return found.item() if found.ndim == 0 and found.dtype.kind in "iu" else None
    place = input_behind(condition, tensor)
    is_steady = place is not None and input_behind(body, body.outputs[place]) == place
    return _first(start, place) if is_steady else None


def _first(start: Sequence[Any], place: int | None) -> Any:
    item = None if place is None else start[place]
    return nested(item) if isinstance(item, np.ndarray) and item.ndim == 0 and type(nested(item)) in (int, Size) else None


def _is_counter(body: Any, place: int | None) -> bool:
    """Whether a step adds 1 to a part of the state."""
    operation = None if place is None else behind(body.outputs[place]).op
    if operation is None or operation.type not in ("AddV2", "Add"):
        return False
    one = behind(operation.inputs[1]).op
    return (
        input_behind(body, operation.inputs[0]) == place
        and one.type == "Const"
        and np.array_equal(tensor_util.MakeNdarray(one.get_attr("value")), 1)
    )


def behind(tensor: Any) -> Any:
    """The tensor that others only pass on."""
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[0]
    return tensor


def input_behind(graph: Any, tensor: Any) -> int | None:
    """The place of the input of a graph that a tensor is, None where it is none."""
    found = behind(tensor)
    return next((place for place, one in enumerate(graph.inputs) if one is found), None)
