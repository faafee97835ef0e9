"""How a dialect takes rows of an array and stacks arrays: the calls that a loop has operands and results of its own for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..ir.node import Node, Value
from ..ops.registry import ArraySpec
from ..trees import iterate_structure

_STACKS = frozenset({"stack", "stack_p"})
_ROWS = frozenset({"__getitem__", "getitem"})
_WHOLE = (None, None, 1)  # of a canonical key


def name_of(node: Node) -> str:
    """The bare name of a recorded call, or the canonical operation."""
    return node.key or node.op


def takes_row(node: Node) -> bool:
    """Whether it is ``x[i]`` or ``x[i, ...]`` with a number ``i``: its leaves are ``x``, then ``i``."""
    if name_of(node) not in _ROWS or not isinstance(node.inputs[0], Value) or len(node.outputs) != 1:
        return False
    key = _key(node)
    return type(key[0] if isinstance(key, tuple) and key else key) is int


def _key(node: Node) -> Any:
    return node.inputs[1] if node.record is not None else node.params["key"]


def rows(node: Node, first: int, by: int, count: int) -> Node:
    """A node that takes ``count`` rows of the array of which ``node`` takes one: ``x[first : ... : by]``."""
    (array, *_), end = node.inputs, first + by * (count - 1) + 1
    stop = None if end == 0 else end  # behind the last row, where rows are counted from the end
    value = Value(array.name, ArraySpec((count, *array.shape[1:]), array.dtype))
    if node.record is None:
        return replace(node, params={"key": ((first, stop, by),)}, outputs=(value,))
    return _recorded(node, array, slice(first, stop, None if by == 1 else by), value)


def rest(node: Node, row: Value) -> Node | None:
    """What is left of ``node`` once the row is taken: of ``x[i, 1:]`` it is ``row[1:]``. None where that is the row itself."""
    key = _key(node)
    left = key[1:] if isinstance(key, tuple) else ()
    if all(part in (_WHOLE, Ellipsis) for part in left):
        return None
    value = Value(node.outputs[0].name, node.outputs[0].spec)
    if node.record is None:
        return replace(node, inputs=(row,), params={"key": left}, outputs=(value,))
    return _recorded(node, row, left if len(left) > 1 else left[0], value)


def _recorded(node: Node, array: Value, index: Any, value: Value) -> Node:
    assert node.record is not None
    record = replace(node.record, result=value, views={0: array} if node.views else {})
    return replace(node, inputs=(array, index), outputs=(value,), record=record)


def stacked(node: Node) -> Sequence[Any] | None:
    """The arrays that a node puts side by side along a new first axis; None where it is another one."""
    if name_of(node) not in _STACKS or not node.params.keys() <= {"axis", "dim"}:
        return None
    if any(part for part in iterate_structure((node.params, node.inputs[1:])) if not isinstance(part, Value)):
        return None
    items = node.inputs[0] if len(node.inputs) == 1 and isinstance(node.inputs[0], (list, tuple)) else node.inputs
    return items if all(isinstance(item, Value) for item in items) else None


__all__ = ["name_of", "rest", "rows", "stacked", "takes_row"]
