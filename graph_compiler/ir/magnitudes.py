"""How large the whole numbers of a program may become, where they are Python's own: its have any size, those of arrays wrap around.

Interval arithmetic of magnitudes over values without axes. A number is :data:`OF_ARRAY` where it is an element of an array, and
:data:`MIXED` where it is computed of such and of numbers. What loops carry is run until it stays within a bound; a counter, which grows by
little in each step, has the number of steps for its bound.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ops.dtypes import is_integer
from .block import Region
from .graph import Graph
from .node import Node, Value

OF_ARRAY, MIXED = -1.0, -2.0
_STEPS = float(1 << 15)  # of a loop: what is computed from two of its numbers still fits
_GIVEN = float(1 << 30)  # whole numbers that are arguments, and sizes: no product of them fits
_MOST = float((1 << 31) - 1)  # the narrowest type that a target has for Python's numbers
_LITTLE = 64  # what a counter counts in one step
_ROUNDS = 5
_Sizes = Mapping[Value, float]


def outgrows(graph: Graph) -> bool:
    """Whether a whole number of Python in a canonical graph may become larger than the types of arrays hold, as far as can be told."""
    known = {value: _GIVEN if _is_number(value) else OF_ARRAY for value in graph.sources()}
    for value, array in graph.constants.values():
        known[value] = abs(float(array)) if _is_number(value) else OF_ARRAY
    return not _run(graph.nodes, known)


def _is_number(value: Value) -> bool:
    return not value.shape and is_integer(value.dtype)


def _run(nodes: Sequence[Node], known: dict[Value, float]) -> bool:
    """Notes the magnitudes of all results; False where one is too large."""
    for node in nodes:
        made = _BLOCKS[node.op](node, known) if node.op in _BLOCKS else [_magnitude(node, known)] * len(node.outputs)
        if node.op in _BLOCKS and math.inf in made:  # whatever it gives, a number inside of it is too large
            return False
        for value, size in zip(node.outputs, made):
            known[value] = size if _is_number(value) else OF_ARRAY
            if known[value] > _MOST:
                return False
    return True


def _of(item: Any, known: _Sizes) -> float:
    if isinstance(item, Value):
        return 1.0 if item.dtype == "bool" else known.get(item, OF_ARRAY)
    return abs(float(item)) if isinstance(item, (bool, int, float)) else _GIVEN


def _magnitude(node: Node, known: _Sizes) -> float:
    if node.op == "full":
        return _of(node.params["fill_value"], known)
    if any(isinstance(item, Value) and item.shape for item in node.inputs):
        return OF_ARRAY
    sizes = [_of(item, known) for item in node.inputs]
    if node.op in ("remainder", "bitwise_and") and len(sizes) == 2 and sizes[1] >= 0:
        return sizes[1]
    if node.op in _CHOICES:
        return _either(sizes[_CHOICES[node.op] :])
    if min(sizes, default=0) < 0:
        is_mixed = MIXED in sizes or any(isinstance(item, Value) and known[item] >= 0 for item in node.inputs)
        return MIXED if is_mixed else OF_ARRAY
    return _RULES[node.op](sizes) if node.op in _RULES else math.inf


_CHOICES = {"minimum": 0, "maximum": 0, "where": 1, "astype": 0, "copy": 0}  # the first of the operands that they give one of
_RULES: dict[str, Callable[[list[float]], float]] = {
    **dict.fromkeys(("add", "subtract"), sum),
    **dict.fromkeys(("negative", "abs", "positive", "floor_divide", "sign", "bitwise_right_shift"), operator.itemgetter(0)),
    "multiply": math.prod,
}


def _either(sizes: Sequence[float]) -> float:
    """What is one of these: the largest, or what can be told least of."""
    return math.inf if math.inf in sizes else min(sizes) if min(sizes, default=0) < 0 else max(sizes, default=0)


# ------------------------------------------------------------------------------------- blocks
def _inside(region: Region, given: Sequence[float], known: dict[Value, float]) -> list[float]:
    """The magnitudes of what a block gives."""
    known.update(zip(region.block.inputs, given))
    fits = _run(region.block.nodes, known)
    return [_of(item, known) if fits else math.inf for item in region.block.outputs]


def _branch(node: Node, known: dict[Value, float]) -> list[float]:
    given = [_of(item, known) for item in node.inputs[1:]]
    return [_either(sizes) for sizes in zip(*(_inside(region, given, known) for region in node.regions))]


def _call(node: Node, known: dict[Value, float]) -> list[float]:
    return _inside(node.regions[0], [_of(item, known) for item in node.inputs], known)


def _loop(node: Node, known: dict[Value, float]) -> list[float]:
    """What a loop carries, at its largest; what it stacks is an array."""
    count, given = node.params["carried"], [_of(item, known) for item in node.inputs]
    rows = node.params.get("sequences", 0)
    carried, rest = given[:count], [*[OF_ARRAY] * rows, *given[count + rows :]]
    for _ in range(_ROUNDS):
        asked = [size for region in node.regions[:-1] for size in _inside(region, [*carried, *rest], known)]
        made = [_either(pair) for pair in zip(carried, _inside(node.regions[-1], [*carried, *rest], known))]
        if math.inf in (*asked, *made) or any(new == MIXED != old for old, new in zip(carried, made)):
            break
        if all(map(_stays, carried, made)):
            return [*carried, *[OF_ARRAY] * (len(node.outputs) - count)]
        carried = list(map(_widened, carried, made))
    return [math.inf] * len(node.outputs)


def _stays(old: float, new: float) -> bool:
    return new == old or old >= _STEPS and new <= old + _LITTLE


def _widened(old: float, new: float) -> float:
    """A number that has grown by little is taken for a counter."""
    return max(new, _STEPS) if 0 <= old < new <= old + _LITTLE else new


_BLOCKS: dict[str, Callable[[Node, dict[Value, float]], list[float]]] = {
    "branch": _branch,
    "call": _call,
    "scan": _loop,
    "while_loop": _loop,
}
