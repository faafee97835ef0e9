"""Lifting table of JAX, the builder of its rows, and ranges of integer elements.

Rows of public functions are registered by dotted name (``jax.nn.softmax``, ``jax.Array.__getitem__``),
rows of primitives by name with ``_p`` (``dot_general_p``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....ir import Graph, Value
from ....ir.node import Node
from ....ops.dtypes import is_integer
from ....ops.registry import ArraySpec
from ....ops.rules import at_most
from ....sizes import Size, apply
from ...common.builder import LiftingBuilder
from ...common.indexing import holds_with_guard
from ...common.lifter import LiftingTable
from ..dtypes import dtype_name

# ----------------------------------------------------------------------------------------------------- ranges
# Ranges of integer elements, which show where JAX's clamping of indices is not needed.
#
# A range is a lower and an upper bound of all elements, as ints or sizes.

Range = tuple[Any, Any]
_WIDE = ("int32", "int64")


def clamp_index(b: JaxBuilder, index: Value, size: Any) -> Value:
    """Return ``index``, clamped to ``[-size, size)`` unless its range shows that it is inside."""
    found = range_of(b, index)
    if found is not None and holds_with_guard(b, -size, found[0]) and holds_with_guard(b, found[1] + 1, size):
        return index
    # A narrow dtype may not represent the size.
    index = index if index.dtype in _WIDE else b.astype(index, dtype="int64")
    return b.clip(index, *(_number(b, end, index.dtype) for end in (-size, size - 1)))


def is_inside(b: JaxBuilder, index: Value, least: Any, greatest: Any) -> bool:
    found = range_of(b, index)
    return (
        found is not None and holds_with_guard(b, least, found[0]) and holds_with_guard(b, found[1], greatest)
    )


def range_of(b: JaxBuilder, item: Any) -> Range | None:
    """Infer inclusive bounds ``(lower, upper)`` of an integer, size or array's elements, or return None."""
    if isinstance(item, (int, np.integer)) or (
        isinstance(item, Size) and item.type is int and not item.reads_elements()
    ):
        return (item, item) if isinstance(item, Size) else (int(item), int(item))
    if not isinstance(item, Value) or not is_integer(item.dtype):
        return None
    if item in b.ranges:
        return b.ranges[item]
    node = b.maker(item)
    rule = _RULES.get(node.op) if node is not None else None
    found = _of_constant(b, item) if node is None else None if rule is None else rule(b, node)
    b.ranges[item] = _unless_wrapped(found, item.dtype)
    return b.ranges[item]


def _unless_wrapped(found: Range | None, dtype: str) -> Range | None:
    """Return ``found``, or None if elements of ``dtype`` may have wrapped around instead.

    Sizes are assumed to be representable in ``int32`` and ``int64``, but in no other dtype.
    """
    if found is None:
        return None
    held = np.iinfo(dtype)
    fits = (held.min <= end <= held.max if isinstance(end, int) else dtype in _WIDE for end in found)
    return found if all(fits) else None


def note_scan_inputs(b: JaxBuilder, node: Node, operands: Sequence[Any], inputs: Sequence[Value]) -> None:
    """Store the known ranges of the inputs of a ``scan`` body."""
    if node.op != "scan":
        return
    carried, length, block = node.params["carried"], node.params["length"], node.regions[0].block
    for place, (operand, value) in enumerate(zip(operands, inputs)):
        if place >= carried:
            b.ranges[value] = range_of(b, operand)
        elif not isinstance(length, Size) and _counts(block.nodes, block.inputs[place], block.outputs[place]):
            first = range_of(b, operand)
            ends = None if first is None else (first[0], first[1] + max(length - 1, 0))
            b.ranges[value] = _unless_wrapped(ends, value.dtype)


def _counts(nodes: Sequence[Node], before: Value, after: Any) -> bool:
    made = next((node for node in nodes if after in node.outputs), None)
    return (
        made is not None and made.op == "jax.lax.add_p" and made.inputs[0] is before and made.inputs[1] == 1
    )


def _of_constant(b: JaxBuilder, item: Value) -> Range | None:
    array = next((array for value, array in b.graph.constants.values() if value is item), None)
    if array is None or not np.size(array):
        return None
    elements = np.asarray(array)
    return int(elements.min()), int(elements.max())


def _number(b: JaxBuilder, number: Any, dtype: str) -> Any:
    return number if isinstance(number, int) else b.full(shape=(), fill_value=number, dtype=dtype)


# ------------------------------------------------------------------------------------- operations
def _input_range(b: JaxBuilder, node: Node) -> Range | None:
    return range_of(b, node.inputs[0])


def _any_of(b: JaxBuilder, items: Sequence[Any]) -> Range | None:
    return _extremes([range_of(b, item) for item in items])


def _extremes(found: Sequence[Range | None]) -> Range | None:
    known = [item for item in found if item is not None]
    if len(known) < len(found) or not known:
        return None
    least, greatest = known[0]
    for low, high in known[1:]:
        least, greatest = _extreme("min", least, low), _extreme("max", greatest, high)
    return least, greatest


def _extreme(function: str, one: Any, other: Any) -> Any:
    if one == other:
        return one
    if isinstance(one, Size) or isinstance(other, Size):
        return apply(function, one, other)
    return min(one, other) if function == "min" else max(one, other)


def _places(b: JaxBuilder, node: Node) -> Range | None:
    axis = node.params["axis"]
    return (0, node.inputs[0].shape[axis] - 1) if isinstance(axis, int) else None


def _counted(b: JaxBuilder, node: Node) -> Range | None:
    start, stop, step = (node.params[name] for name in ("start", "stop", "step"))
    whole = all(isinstance(item, (int, Size)) for item in (start, stop))
    return (start, stop - 1) if whole and step == 1 else None


def _sum(b: JaxBuilder, node: Node) -> Range | None:
    one, other = (range_of(b, item) for item in node.inputs[:2])
    if one is None or other is None:
        return None
    return (
        (one[0] + other[0], one[1] + other[1]) if node.op == "add" else (one[0] - other[1], one[1] - other[0])
    )


def _product(b: JaxBuilder, node: Node) -> Range | None:
    for factor, item in (node.inputs[:2], node.inputs[1::-1]):
        by, found = range_of(b, factor), range_of(b, item)
        if by is not None and found is not None and by[0] == by[1] and isinstance(by[0], int):
            ends = (found[0] * by[0], found[1] * by[0])
            return ends if by[0] >= 0 else ends[::-1]
    return None


def _clipped(b: JaxBuilder, node: Node) -> Range | None:
    low, high = (range_of(b, item) for item in node.inputs[1:3])
    if low is None or high is None:
        return None
    # The result is the maximum where the minimum is above it. The last index of an axis may be -1, but then
    # there is nothing to index.
    is_last = isinstance(high[0], Size) and at_most(low[0], high[0] + 1)
    return (low[0] if is_last else _extreme("min", low[0], high[0])), high[1]


def _selected(b: JaxBuilder, node: Node) -> Range | None:
    condition, one, other = node.inputs[:3]
    asked, found = b.maker(condition), range_of(b, other)
    # JAX writes negative indices as ``where(index < 0, index + size, index)``.
    is_from_the_end = (
        asked is not None and asked.op == "less" and asked.inputs[0] is other and asked.inputs[1] == 0
    )
    if is_from_the_end and found is not None and at_most(0, found[0]):
        return found
    return _any_of(b, (one, other))


def _permuted(b: JaxBuilder, node: Node) -> Range | None:
    return 0, node.params["n"] - 1


def _drawn(b: JaxBuilder, node: Node) -> Range | None:
    ends = node.params["low"], node.params["high"]
    return (ends[0], ends[1] - 1) if all(isinstance(end, (int, Size)) for end in ends) else None


def _picked(b: JaxBuilder, node: Node) -> Range | None:
    source, keys = b.maker(node.inputs[0]), node.params["key"]
    if (
        source is None
        or source.op != "concat"
        or source.params["axis"] != len(keys) - 1
        or not isinstance(keys[-1], int)
    ):
        return _input_range(b, node)
    place = keys[-1]
    for part in source.inputs:
        size = part.shape[len(keys) - 1]
        if not isinstance(size, int) or place < 0:
            break
        if place < size:
            return range_of(b, part)
        place -= size
    return _input_range(b, node)


_RULES: dict[str, Callable[[JaxBuilder, Node], Range | None]] = {
    **dict.fromkeys(
        (
            "astype",
            "broadcast_to",
            "copy",
            "expand_dims",
            "flip",
            "permute_dims",
            "reshape",
            "roll",
            "sort",
            "squeeze",
            "take",
        ),
        _input_range,
    ),
    **dict.fromkeys(("argmax", "argmin", "argsort"), _places),
    **dict.fromkeys(("concat", "stack"), lambda b, node: _any_of(b, node.inputs)),
    "add": _sum,
    "arange": _counted,
    "clip": _clipped,
    "full": lambda b, node: range_of(b, node.params["fill_value"]),
    "getitem": _picked,
    "multiply": _product,
    "random_integers": _drawn,
    "random_permutation": _permuted,
    "subtract": _sum,
    "where": _selected,
}


# ------------------------------------------------------------------------------------------------------ table
rows = LiftingTable("jax")


class JaxBuilder(LiftingBuilder):
    """Builder for the rows of JAX, with ranges of integers, which show where indices need no clamping.

    ranges: cached ranges of the elements of integer values; None if unknown.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.ranges: dict[Value, Range | None] = {}

    def enter(self, node: Node, operands: Sequence[Any], inputs: Sequence[Value]) -> None:
        note_scan_inputs(self, node, operands, inputs)

    def result_type(self, *operands: Any) -> str:
        found = [item.dtype for item in operands if isinstance(item, Value)]
        return found[0] if found else dtype_name(type(operands[0]))

    def index_out_of_bounds(self, index: Any, size: Any) -> None:
        raise NotImplementedError(f"index {index} of an axis of size {size}")

    @property
    def result(self) -> ArraySpec:
        return self.recorded[0]

    def without_elements(self, *operands: Value) -> Value:
        for size in (size for operand in operands for size in operand.shape):
            self.fix(size)
        return self.zeros(shape=self.result.hints, dtype=self.result.dtype)

    def as_result(self, x: Any) -> Any:
        return self.array(x, self.result.dtype)


def int_tuple(axes: Any) -> tuple[int, ...]:
    return tuple(int(axis) for axis in axes)
