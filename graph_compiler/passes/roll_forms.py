"""How a dialect takes rows of an array and stacks arrays: the calls that a loop has operands and results of its own for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.node import Node, Value
from ..ops.registry import ArraySpec
from ..trees import iterate_structure

_STACKS = frozenset({"array", "stack", "stack_p"})
_JOINS = frozenset({"concat"})
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


def joined(node: Node) -> Sequence[Any] | None:
    """The arrays that a node puts side by side, or one after the other, along a first axis; None where it is another one."""
    name = name_of(node)
    if name not in (_STACKS | _JOINS if node.record is None else _STACKS) or not node.params.keys() <= {"axis", "dim"}:
        return None
    if any(part for part in iterate_structure((node.params, node.inputs[1:])) if not isinstance(part, Value)):
        return None
    is_list = len(node.inputs) == 1 and isinstance(node.inputs[0], (list, tuple))
    items = node.inputs[0] if is_list else node.inputs if node.record is None or name != "array" else ()
    return items if items and all(isinstance(item, Value) for item in items) else None


def parts_joined(node: Node, first: int, steps: Value) -> Sequence[Node]:
    """Canonical nodes that make of ``steps`` what ``node`` makes of the arrays that stand from the ``first`` on: all steps stacked, between
    those that stand before and after."""
    scratch = Graph("scratch", "canonical")
    build, is_stack = Builder(scratch, node.origin), name_of(node) in _STACKS
    count, item = steps.shape[0], steps.shape[1:]
    whole = steps if is_stack else build.reshape(steps, shape=(count * item[0], *item[1:]))
    others = (node.inputs[:first], node.inputs[first + count :])
    before, after = ([build.getitem(each, key=(None,)) if is_stack else each for each in some] for some in others)
    if len(parts := [*before, whole, *after]) > 1:
        build.concat(*parts, axis=0)
    *nodes, last = scratch.nodes
    return [*nodes, replace(last, outputs=node.outputs)]
