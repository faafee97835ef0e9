"""Range analysis of Python integers in a graph: they have no bounds in Python, but overflow in arrays.

The analysis is interval arithmetic. The carry of a loop is iterated toward a fixed point with widening; a
counter, which changes by a small amount per iteration, is bounded by an assumed trip count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..sizes import Size, Symbol
from ..sizes.bounds import upper_bound
from .graph import Graph
from .node import Node, Region, Value

Range = tuple[float, float]
"""The least and the greatest of the numbers that a value may be."""

# Empty intervals, which contain no number. MIXED is the greater tuple, so ``max`` returns it.
OF_ARRAY, MIXED = (1.0, -1.0), (2.0, -2.0)
_ENDLESS = (-math.inf, math.inf)
# Assumed trip count of a loop. The product of two counters below it fits in int32.
_STEPS = float(1 << 15)
# Assumed bound of integer arguments and sizes. The sum of two and some counters fits in int32, not a product.
_GIVEN = float((1 << 30) - (1 << 17))
# The narrowest dtype that a target uses for Python integers is int32.
_MOST = float((1 << 31) - 1)
# Largest increment of a counter per iteration.
_LITTLE = 64
_ROUNDS = 5
# Dtypes of Python integers in a graph.
_NUMBERS = frozenset({"int32", "int64"})
_ANY = (-_GIVEN, _GIVEN)
_Ranges = Mapping[Value, Range]


def outgrows(graph: Graph) -> bool:
    """Estimate if a Python integer in a canonical graph may exceed int32, the narrowest dtype used for it."""
    known = {value: _ANY if _is_number(value) else OF_ARRAY for value in graph.sources()}
    for value, array in graph.constants.values():
        known[value] = _point(array) if _is_number(value) else OF_ARRAY
    return not _run(graph.nodes, known)


def _is_number(value: Value) -> bool:
    return not value.shape and value.dtype in _NUMBERS


def _is_interval(numbers: Range) -> bool:
    return numbers[0] <= numbers[1]


def _point(number: Any) -> Range:
    return float(number), float(number)


def _within(most: float) -> Range:
    return -most, most


def _largest(numbers: Range) -> float:
    return max(-numbers[0], numbers[1])


def _run(nodes: Sequence[Node], known: dict[Value, Range]) -> bool:
    """Enter the ranges of results in ``known``; return False at the first number that may exceed int32."""
    for node in nodes:
        made = (
            _BLOCKS[node.op](node, known) if node.op in _BLOCKS else [_range(node, known)] * len(node.outputs)
        )
        # A number inside of the region is too large, even if no result is.
        if node.op in _BLOCKS and _ENDLESS in made:
            return False
        for value, numbers in zip(node.outputs, made):
            known[value] = numbers if _is_number(value) else OF_ARRAY
            if _largest(known[value]) > _MOST:
                return False
    return True


def _of(item: Any, known: _Ranges) -> Range:
    if isinstance(item, Value):
        return (0.0, 1.0) if item.dtype == "bool" else known.get(item, OF_ARRAY)
    if isinstance(item, Size):
        return -_greatest(-item), _greatest(item)
    return _point(item) if isinstance(item, (bool, int, float)) else _ANY


def _greatest(size: Any) -> float:
    found = upper_bound(size, _ends)
    return _GIVEN if found is None else max(-_GIVEN, min(_GIVEN, float(found)))


def _ends(symbol: Symbol) -> tuple[int, int]:
    return 0 if symbol.kind == "size" else -int(_GIVEN), int(_GIVEN)


def _range(node: Node, known: _Ranges) -> Range:
    if node.op == "full":
        return _of(node.params["fill_value"], known)
    if any(isinstance(item, Value) and item.shape for item in node.inputs):
        return OF_ARRAY
    operands = [_of(item, known) for item in node.inputs]
    if node.op in _BOUNDED and _is_interval(operands[1]) and operands[1][0] >= _BOUNDED[node.op]:
        return _within(_largest(operands[1]))
    if node.op in _CHOICES or node.op in _EXTREMES and not all(map(_is_interval, operands)):
        return _union(operands[_CHOICES.get(node.op, 0) :])
    if not all(map(_is_interval, operands)):
        is_mixed = MIXED in operands or any(
            isinstance(item, Value) and _is_interval(known[item]) for item in node.inputs
        )
        return MIXED if is_mixed else OF_ARRAY
    return _RULES[node.op](*operands) if node.op in _RULES else _ENDLESS


def _as_large(numbers: Range, *others: Range) -> Range:
    return _within(_largest(numbers))


def _products(one: Range, other: Range) -> Range:
    products = [first * second for first in one for second in other]
    return min(products), max(products)


def _bits(*ranges: Range) -> Range:
    most = 2.0 ** math.ceil(math.log2(1 + max(max(-1 - low, high) for low, high in ranges)))
    return (0.0 if all(low >= 0 for low, _ in ranges) else -most), most - 1


def _quotients(one: Range, other: Range) -> Range:
    return _products(one, (1 / other[1], 1 / other[0])) if other[0] > 0 else _within(_largest(one))


def _shifted(one: Range, by: Range) -> Range:
    return _products(one, (1.0, 2.0 ** by[1])) if by[0] >= 0 and by[1] < 64 else _ENDLESS


# The result is bounded by the second operand if that is at least this number.
_BOUNDED = {"remainder": -math.inf, "fmod": -math.inf, "bitwise_and": 0.0}
# Operations that return one of their operands from this index on.
_CHOICES = {"where": 1, "astype": 0, "copy": 0}
_EXTREMES: dict[str, Callable[..., Range]] = {
    "minimum": lambda one, other: (min(one[0], other[0]), min(one[1], other[1])),
    "maximum": lambda one, other: (max(one[0], other[0]), max(one[1], other[1])),
}
_RULES: dict[str, Callable[..., Range]] = {
    **_EXTREMES,
    "add": lambda one, other: (one[0] + other[0], one[1] + other[1]),
    "subtract": lambda one, other: (one[0] - other[1], one[1] - other[0]),
    "negative": lambda numbers: (-numbers[1], -numbers[0]),
    "positive": lambda numbers: numbers,
    **dict.fromkeys(("abs", "sign", "bitwise_right_shift"), _as_large),
    "multiply": _products,
    "floor_divide": _quotients,
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"), _bits),
    "bitwise_left_shift": _shifted,
}


def _union(ranges: Sequence[Range]) -> Range:
    untold = [numbers for numbers in ranges if not _is_interval(numbers)]
    if _ENDLESS in ranges or not ranges:
        return _ENDLESS if ranges else (0.0, 0.0)
    return max(untold) if untold else (min(low for low, _ in ranges), max(high for _, high in ranges))


# ----------------------------------------------------------------------------------------------------- blocks
def _inside(region: Region, given: Sequence[Range], known: dict[Value, Range]) -> list[Range]:
    known.update(zip(region.block.inputs, given))
    fits = _run(region.block.nodes, known)
    return [_of(item, known) if fits else _ENDLESS for item in region.block.outputs]


def _branch(node: Node, known: dict[Value, Range]) -> list[Range]:
    given = [_of(item, known) for item in node.inputs[1:]]
    return [_union(ranges) for ranges in zip(*(_inside(region, given, known) for region in node.regions))]


def _call(node: Node, known: dict[Value, Range]) -> list[Range]:
    return _inside(node.regions[0], [_of(item, known) for item in node.inputs], known)


def _loop(node: Node, known: dict[Value, Range]) -> list[Range]:
    """Return the ranges of a loop's outputs; the carry is iterated toward a fixed point with widening."""
    count, given = node.params["carried"], [_of(item, known) for item in node.inputs]
    rows = node.params.get("sequences", 0)
    carried, rest = given[:count], [*[OF_ARRAY] * rows, *given[count + rows :]]
    for turn in range(_ROUNDS):
        asked = [
            numbers for region in node.regions[:-1] for numbers in _inside(region, [*carried, *rest], known)
        ]
        after = _inside(node.regions[-1], [*carried, *rest], known)
        made = [_union(pair) for pair in zip(carried, after)]
        if _ENDLESS in (*asked, *made) or any(new == MIXED != old for old, new in zip(carried, made)):
            break
        if all(map(_stays, carried, made)):
            length = node.params.get("length")
            # What enters a loop leaves it only if there may be no iteration.
            final = after[:count] if type(length) is int and length > 0 else carried
            return [*final, *[OF_ARRAY] * (len(node.outputs) - count)]
        carried = list(map(_widened if turn < _ROUNDS - 2 else _widest, carried, made))
    return [_ENDLESS] * len(node.outputs)


def _stays(old: Range, new: Range) -> bool:
    return (
        new == old
        or _is_interval(new)
        and all(
            one == other or abs(one) >= _STEPS and abs(one - other) <= _LITTLE for one, other in zip(old, new)
        )
    )


def _widened(old: Range, new: Range) -> Range:
    if not (_is_interval(old) and _is_interval(new)):
        return new
    # A bound that moves by a small amount belongs to a counter, so it moves by this amount in each of the
    # assumed number of iterations.
    below, above = old[0] - new[0], new[1] - old[1]
    low = min(new[0], -below * _STEPS) if 0 < below <= _LITTLE else new[0]
    return low, max(new[1], above * _STEPS) if 0 < above <= _LITTLE else new[1]


def _widest(old: Range, new: Range) -> Range:
    if not (_is_interval(old) and _is_interval(new)):
        return new
    # The range of arguments suffices for values that approach a limit, such as ``(low + high) // 2``.
    return min(new[0], -_GIVEN) if new[0] < old[0] else new[0], max(new[1], _GIVEN) if new[1] > old[
        1
    ] else new[1]


_BLOCKS: dict[str, Callable[[Node, dict[Value, Range]], list[Range]]] = {
    "branch": _branch,
    "call": _call,
    "scan": _loop,
    "while_loop": _loop,
}
