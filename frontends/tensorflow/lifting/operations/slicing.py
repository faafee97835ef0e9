"""Slices: of bounds that are known, and of places that are computed."""

from __future__ import annotations

from typing import Any

from .....ir import Value
from .....sizes import hint_of
from ....indexing import read_index, write_index
from ....read_numbers import as_index
from ..table import Computed, TensorFlowBuilder, known, numbers, rows


def entries(b: TensorFlowBuilder, operand: Any, count: int) -> tuple[Any, ...]:
    """The elements of a vector as numbers and sizes, those that are computed as 0-d arrays."""
    if isinstance(operand, tuple):
        return operand
    if not isinstance(operand, Value):
        return (operand,)
    node = b.maker(operand)
    if node is not None and node.op == "stack":
        return tuple(_entry(b, item) for item in node.inputs)
    return tuple(b.getitem(operand, key=(place,)) for place in range(count))


def _entry(b: TensorFlowBuilder, item: Any) -> Any:
    node = b.maker(item)
    return node.params["fill_value"] if node is not None and node.op == "full" else item


def _has(mask: int, place: int) -> bool:
    return bool(mask >> place & 1)


class _Bounds:
    """The operands and masks of a strided slice."""

    def __init__(self, b: TensorFlowBuilder, begin: Any, end: Any, strides: Any, masks: dict[str, Any]) -> None:
        steps = numbers(strides, "the step of a slice")
        count = len(steps)
        self.begin, self.end, self.steps = entries(b, begin, count), entries(b, end, count), steps
        self.masks = {name: int(masks.get(f"{name}_mask", 0)) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}

    def index(self) -> tuple[Any, ...]:
        """The index as Python has it."""
        return tuple(self._item(place) for place in range(len(self.steps)))

    def _item(self, place: int) -> Any:
        if _has(self.masks["ellipsis"], place):
            return Ellipsis
        if _has(self.masks["new_axis"], place):
            return None
        if _has(self.masks["shrink_axis"], place):
            return self.begin[place]
        start = None if _has(self.masks["begin"], place) else known(self.begin[place], "the beginning of a slice")
        stop = None if _has(self.masks["end"], place) else known(self.end[place], "the end of a slice")
        return slice(start, stop, self.steps[place])


@rows.row("StridedSlice", static=("begin", "end", "strides"), takes_read=True)
def strided_slice(b: TensorFlowBuilder, input: Any, begin: Any, end: Any, strides: Any, **masks: Any) -> Any:
    """As Python slices, with new axes and an ellipsis."""
    return read_index(b, input, as_index(b, input, _Bounds(b, begin, end, strides, masks).index()))


@rows.row("StridedSliceGrad", static=("shape", "begin", "end", "strides"))
def strided_slice_grad(b: TensorFlowBuilder, shape: Any, begin: Any, end: Any, strides: Any, dy: Any, **masks: Any) -> Any:
    """Zeros with ``dy`` where the slice was taken."""
    whole = b.zeros(shape=numbers(shape, "the shape"), dtype=dy.dtype)
    return write_index(b, whole, _Bounds(b, begin, end, strides, masks).index(), dy)


@rows.row("TensorStridedSliceUpdate", static=("begin", "end", "strides"))
def tensor_strided_slice_update(b: TensorFlowBuilder, input: Any, begin: Any, end: Any, strides: Any, value: Any, **masks: Any) -> Any:
    """``input`` with ``value`` in the place of the slice."""
    return write_index(b, input, _Bounds(b, begin, end, strides, masks).index(), value)


@rows.row("Slice", static=("begin", "size"))
def slice_(b: TensorFlowBuilder, input: Any, begin: Any, size: Any, **_: Any) -> Any:
    """Parts of these sizes from these places on; -1 is the rest."""
    sizes = numbers(size, "the size of a slice")
    for axis, (start, length) in enumerate(zip(entries(b, begin, input.ndim), sizes)):
        input = _part(b, input, axis, start, length)
    return input


def _part(b: TensorFlowBuilder, x: Value, axis: int, start: Any, length: Any) -> Any:
    rest = isinstance(length, int) and length == -1
    if isinstance(start, Value):
        if rest:
            raise Computed("a slice from a computed place to the end, whose size depends on elements")
        places = b.arange(start=0, stop=length, step=1, dtype=start.dtype)
        return b.take(x, b.add(places, start), axis=axis)
    if hint_of(start) == 0 and isinstance(start, int) and (rest or length == x.shape[axis]):
        return x
    stop = None if rest else start + length
    return read_index(b, x, (*(slice(None),) * axis, slice(start, stop)))
