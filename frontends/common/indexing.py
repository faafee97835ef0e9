"""Reads and writes of arrays at Python indices.

An index is split into a ``getitem`` key (integers, slices, new axes) and index arrays, each at an axis of
the array that the key selects.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import Value
from ...ir.node import Node, values_in
from ...ops.manipulation import arange_length
from ...ops.registry import Unknown
from ...ops.rules import at_most, nonnegative
from ...sizes import Size, apply, hint_of, product
from .builder import HEAVIEST, Interval, LiftingBuilder

WHOLE = (None, None, 1)
# The element-wise operation of each reduction of a scatter.
ELEMENTWISE = {"sum": "add", "prod": "multiply", "min": "minimum", "max": "maximum"}


def holds_with_guard(b: LiftingBuilder, small: Any, large: Any) -> bool:
    """Return True, with a guard if needed, if ``small <= large`` held while recording; otherwise False."""
    if at_most(small, large):
        return True
    if hint_of(small) > hint_of(large):
        return False
    b.guard(apply("le", small, large))
    return True


def index_inside(b: LiftingBuilder, index: Any, size: Any) -> Any:
    """Return the int or size ``index`` as an item of a ``getitem`` key, and guard that it is in bounds.

    If it was out of bounds while recording, call ``b.index_out_of_bounds``.
    """
    if isinstance(index, Size) and _is_negative_with_guard(b, index):
        index = index + size
        if not holds_with_guard(b, 0, index):
            b.index_out_of_bounds(index, size)
    if not holds_with_guard(b, -index if isinstance(index, int) and index < 0 else index + 1, size):
        b.index_out_of_bounds(index, size)
    return index


def slice_inside(b: LiftingBuilder, start: Any, stop: Any, step: Any, size: Any) -> tuple[Any, Any, Any]:
    """Return the ``getitem`` key item for ``start:stop:step`` on an axis of ``size``, with clamped bounds.

    ``step`` must be positive or None.
    """
    first, last = _clamped(b, start, size, 0), _clamped(b, stop, size, size)
    # A slice whose stop is before its start is empty.
    if not holds_with_guard(b, first, last):
        last = apply("max", first, last)
    step = 1 if step is None else step
    return (
        None if first == 0 else _short(first, start, size),
        None if last == size else _short(last, stop, size),
        step,
    )


def _clamped(b: LiftingBuilder, given: Any, size: Any, absent: Any) -> Any:
    if given is None:
        return absent
    bound = given + size if _is_negative_with_guard(b, given) else given
    if not holds_with_guard(b, 0, bound):
        return 0 if isinstance(bound, int) else apply("max", bound, 0)
    return bound if holds_with_guard(b, bound, size) else apply("min", bound, size)


def _is_negative_with_guard(b: LiftingBuilder, bound: Any) -> bool:
    if isinstance(bound, int) or nonnegative(bound):
        return isinstance(bound, int) and bound < 0
    b.guard(apply("lt" if bound.hint < 0 else "ge", bound, 0))
    return bool(bound.hint < 0)


def _short(bound: Any, given: Any, size: Any) -> Any:
    before_end = size - bound
    if (
        isinstance(before_end, int)
        and before_end > 0
        and (isinstance(bound, Size) or (isinstance(given, int) and given < 0))
    ):
        # Counted from the end, the bound does not depend on the size.
        return -before_end
    return bound


def slice_item(b: LiftingBuilder, given: slice, size: Any) -> tuple[Any, Any, Any]:
    return slice_inside(b, given.start, given.stop, given.step, size)


def along(axis: int, item: Any) -> tuple[Any, ...]:
    return (*(WHOLE,) * axis, item)


def cut(b: LiftingBuilder, x: Value, axis: int, start: Any = None, stop: Any = None, step: Any = 1) -> Value:
    return b.getitem(x, key=along(axis, slice_inside(b, start, stop, step, x.shape[axis])))


def pick(b: LiftingBuilder, x: Value, axis: int, index: Any) -> Value:
    if isinstance(index, Value):
        return b.take(x, index, axis=axis)
    return b.getitem(x, key=along(axis, index_inside(b, index, x.shape[axis])))


def cut_to(b: LiftingBuilder, x: Value, shape: tuple[Any, ...], but: int | None = None) -> Value:
    """Cut ``x`` to at most the sizes ``shape``, except on the axis ``but``."""
    for axis, (have, want) in enumerate(zip(x.shape, shape, strict=False)):
        if axis == but or have == want:
            continue
        if hint_of(have) == hint_of(want):
            b.guard(apply("eq", have, want))
        else:
            x = cut(b, x, axis, None, want)
    return x


_SCATTERS = ("ScatterNd", *(f"TensorScatter{kind}" for kind in ("Update", "Add", "Sub", "Min", "Max")))
_OF_VECTORS, _BY_VECTORS = frozenset({"GatherNd", *_SCATTERS}), frozenset({"gather_nd", "scatter_nd"})
OF_TENSORFLOW = frozenset({"Gather", "GatherV2", "StridedSlice", "TensorStridedSliceUpdate", *_OF_VECTORS})
# Calls that do not accept negative indices.
_FROM_THE_FRONT = frozenset(
    {
        *(OF_TENSORFLOW - {"StridedSlice", "TensorStridedSliceUpdate"}),
        *("gather", "index_select", "index_select_copy", "scatter", "scatter_add", "scatter_reduce"),
        *("index_add", "index_copy", "index_reduce", "multi_margin_loss", "take_along_dim"),
    }
)
# Operations whose indices begin with 1.
_FIRST = {"lu_unpack": 1, "lu_solve": 1}
# Upper bound for indices of which only the lower bound is checked.
MOST = 2**62
_PARTS = frozenset({"getitem"})
_SAME_ELEMENTS = frozenset({"reshape", "permute_dims", "expand_dims", "squeeze", "broadcast_to", "copy"})

Picked = Iterator[tuple[Value, Any, int | None]]


def _along_axis(node: Node) -> Picked:
    yield node.inputs[1], node.inputs[0].shape[node.params["axis"]], None


def _along_axes(node: Node) -> Picked:
    indices = node.inputs[1:] if node.op == "gather_nd" else node.inputs[2:]
    yield from (
        (index, node.inputs[0].shape[axis], None)
        for index, axis in zip(indices, node.params["axes"], strict=True)
    )


def _rows_of_table(node: Node) -> Picked:
    yield node.inputs[1], node.inputs[0].shape[0], None


def _classes(node: Node) -> Picked:
    yield node.inputs[0], node.params["num_classes"], None


def _targets(node: Node) -> Picked:
    scores = node.inputs[0]
    yield node.inputs[1], scores.shape[min(1, scores.ndim - 1)], node.params["ignore_index"]


def _offsets(node: Node) -> Picked:
    yield from _rows_of_table(node)
    yield node.inputs[2], node.inputs[1].shape[0] + 1, None


def _counted(node: Node) -> Picked:
    yield node.inputs[0], MOST, None


def _repeated(node: Node) -> Picked:
    if len(node.inputs) > 1:
        yield node.inputs[1], MOST, None


def _lengths(node: Node) -> Picked:
    scores, targets, steps, lengths = node.inputs
    yield steps, scores.shape[0] + 1, None
    yield lengths, targets.shape[1] + 1, None


def _swapped_rows(node: Node) -> Picked:
    yield node.inputs[1], node.inputs[0].shape[-2] + 1, None


def _unpooled(node: Node) -> Picked:
    yield node.inputs[1], product(node.params["size"]), None


_ALONG_AXES = frozenset({"take", "take_along_axis", "scatter", "gather_nd", "scatter_nd"})
# For each operation: its index arrays, each with its exclusive upper bound and a number allowed besides.
PICKING: dict[str, Callable[[Node], Picked]] = {
    "take": _along_axis,
    "take_along_axis": _along_axis,
    "scatter": _along_axis,
    "gather_nd": _along_axes,
    "scatter_nd": _along_axes,
    "embedding": _rows_of_table,
    "embedding_bag": _offsets,
    "bincount": _counted,
    "repeat": _repeated,
    "ctc_loss": _lengths,
    "one_hot": _classes,
    "nll_loss": _targets,
    "cross_entropy": _targets,
    "max_unpool": _unpooled,
    "lu_unpack": _swapped_rows,
    "lu_solve": _swapped_rows,
}


def _of_vectors(node: Node) -> Picked:
    indices = node.inputs[1:] if node.op == "gather_nd" else node.inputs[2:]
    # The index vectors are one array, whose elements belong to different axes, so the longest axis is the
    # bound.
    sizes = [node.inputs[0].shape[axis] for axis in node.params["axes"]]
    yield indices[0], functools.reduce(functools.partial(apply, "max"), sizes), None


def check_bounds(b: LiftingBuilder, key: str, made: Iterable[Node]) -> None:
    """Add assumptions and guards that index arrays of the operations ``made`` are in bounds."""
    for node in made:
        picked = _of_vectors if key in _OF_VECTORS and node.op in _BY_VECTORS else PICKING.get(node.op)
        for indices, size, besides in picked(node) if picked is not None else ():
            first = -size if node.op in _ALONG_AXES and key not in _FROM_THE_FRONT else _FIRST.get(node.op, 0)
            if (given := _as_given(b, indices, key)) is not None:
                b.bound(given, first, size, besides)
            elif (interval := _interval(b, indices)) is not None:
                _guard_interval(b, interval, first, size)


def _as_given(b: LiftingBuilder, value: Any, key: str) -> Value | None:
    """Return the integer input of the graph from which ``value`` takes its elements, or None."""
    while isinstance(value, Value) and value not in b.graph.inputs:
        node = b.maker(value)
        # A part of an array of index vectors is checked by the bounds of the array.
        if node is None or not (
            node.op in _SAME_ELEMENTS or _widens(node) or node.op in _PARTS and key in _OF_VECTORS
        ):
            return None
        value = node.inputs[0]
    return value if isinstance(value, Value) and "int" in value.dtype else None


def _widens(node: Node) -> bool:
    return node.op == "astype" and node.params["dtype"] == "int64"


# ------------------------------------------------------------------------------ intervals of computed indices
def _guard_interval(b: LiftingBuilder, interval: Interval, first: Any, size: Any) -> None:
    least, greatest = interval
    if not any(isinstance(item, Unknown) for item in (least, greatest, size)) and all(
        source in b.graph.inputs for source in values_in((least, greatest, size))
    ):
        holds_with_guard(b, first, least)
        holds_with_guard(b, greatest + 1, size)


def _interval(b: LiftingBuilder, item: Any) -> Interval | None:
    """Return a lower and an upper bound of an int, a size or an array of indices, or None.

    The bounds hold unless an operation overflows.
    """

    def is_open(each: Any) -> bool:
        return isinstance(each, Value) and each not in b.intervals

    waiting = [item] if is_open(item) else []
    # Without recursion, because positions may be computed by a thousand operations, as in an unrolled loop.
    while waiting:
        if missing := [each for each in _terms(b, waiting[-1]) if is_open(each)]:
            waiting += missing
        else:
            value = waiting.pop()
            b.intervals[value] = _interval_of_value(b, value)
    return _bounds(b, item)


def _terms(b: LiftingBuilder, item: Any) -> Sequence[Any]:
    node = b.maker(item)
    if node is None or node.op not in _INTERVALS or item.dtype not in ("int32", "int64"):
        return ()
    return node.inputs


def _bounds(b: LiftingBuilder, item: Any) -> Interval | None:
    if isinstance(item, (int, Size)):
        return int(item) if isinstance(item, bool) else item, item
    return b.intervals.get(item) if isinstance(item, Value) else None


def _interval_of_value(b: LiftingBuilder, value: Value) -> Interval | None:
    if value.dtype not in ("bool", "int32", "int64"):
        return None
    if value.dtype == "bool":
        return 0, 1
    node = b.maker(value)
    if node is None:
        return _interval_of_constant(b, value)
    if node.op == "arange":
        return _interval_of_arange(**node.params)
    if node.op in _KNOWN:
        return _interval_of_numbers([*_flat(node.params[_KNOWN[node.op]])])
    operands = [_bounds(b, operand) for operand in node.inputs]
    if node.op not in _INTERVALS or None in operands:
        return None
    found = _INTERVALS[node.op](node, *operands)
    is_long = any(isinstance(bound, Size) and bound.weight > HEAVIEST for bound in found or ())
    return None if is_long else found


# Operations that make arrays of known numbers, and the parameter that has the numbers.
_KNOWN = {"asarray": "data", "full": "fill_value"}


def _interval_of_constant(b: LiftingBuilder, value: Value) -> Interval | None:
    array: Any = next((array for own, array in b.graph.constants.values() if own is value), None)
    # A tensor on the device ``meta`` has no elements, and TensorFlow's have no such methods.
    if not hasattr(array, "min") or getattr(array, "is_meta", False) or 0 in array.shape:
        return None
    return int(array.min()), int(array.max())


def _interval_of_numbers(numbers: Sequence[Any]) -> Interval | None:
    if len(numbers) == 1 and isinstance(numbers[0], Size):
        return numbers[0], numbers[0]
    return (min(numbers), max(numbers)) if numbers and all(type(item) is int for item in numbers) else None


def _interval_of_arange(*, stop: Any, start: Any = 0, step: Any = 1, dtype: str) -> Interval | None:
    if not isinstance(step, int) or not all(isinstance(end, (int, Size)) for end in (start, stop)):
        return None
    last = start + (arange_length(start, stop, step) - 1) * step
    return (start, last) if step > 0 else (last, start)


def _interval_of_product(node: Node, one: Interval, other: Interval) -> Interval | None:
    if not (nonnegative(one[0]) and nonnegative(other[0])):
        return None
    return one[0] * other[0], one[1] * other[1]


def _interval_of_sums(node: Node, terms: Interval) -> Interval | None:
    # Each sum has at least one term, and at most the size of the axis.
    return (terms[0], terms[1] * node.inputs[0].shape[node.params["axis"]]) if nonnegative(terms[0]) else None


_INTERVALS: dict[str, Callable[..., Interval | None]] = {
    **dict.fromkeys((*_SAME_ELEMENTS, *_PARTS, "astype"), lambda node, x: x),
    "add": lambda node, x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda node, x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _interval_of_product,
    "cumulative_sum": _interval_of_sums,
}


Arrays = list[tuple[int, Value]]


@dataclass
class Selection:
    """A Python index split into parts.

    key: ``getitem`` key of integers, slices and new axes.
    arrays: pairs ``(axis, array)`` of an index array or mask, and the axis that it indexes in the array that
        ``key`` selects.
    empty: axes of length 0, which ``False`` in the index adds.
    """

    key: tuple[Any, ...]
    arrays: Arrays
    empty: list[int]

    def read(self, b: LiftingBuilder, x: Value) -> Value:
        selected = b.getitem(x, key=self.key)
        for axis in self.empty:
            selected = b.getitem(selected, key=along(axis, (None, 0, 1)))
        return selected


# ------------------------------------------------------------------------------------------ negative steps
def with_positive_steps(b: LiftingBuilder, x: Value, index: Any) -> tuple[Value, tuple[int, ...], Any]:
    """Replace slices with negative int steps by slices with positive steps of a flipped array.

    Return the array, the axes that were flipped, and the new index.
    """
    if not any(
        isinstance(item, slice) and isinstance(item.step, int) and item.step < 0 for item in _items(b, index)
    ):
        return x, (), index
    items, axis, turned = _expanded(b, x.ndim, _items(b, index)), 0, []
    for place, item in enumerate(items):
        if isinstance(item, slice) and isinstance(item.step, int) and item.step < 0:
            size = x.shape[axis]
            items[place] = slice(
                _from_the_end(b, item.start, size), _from_the_end(b, item.stop, size), -item.step
            )
            turned.append(axis)
        axis += _width(b, item)
    return b.flip(x, axis=tuple(turned)), tuple(turned), tuple(items)


def _from_the_end(b: LiftingBuilder, bound: Any, size: Any) -> Any:
    """Return a slice bound counted from the other end, at least 0; None for None."""
    if bound is None:
        return None
    if isinstance(bound, Size):
        b.guard(apply("lt" if hint_of(bound) < 0 else "ge", bound, 0))
    counted = -1 - bound if hint_of(bound) < 0 else size - 1 - bound
    b.guard(apply("lt" if hint_of(counted) < 0 else "ge", counted, 0))
    return 0 if hint_of(counted) < 0 else counted


# --------------------------------------------------------------------------------------------- index analysis
def select(b: LiftingBuilder, x: Value, index: Any) -> Selection:
    items = [_plain(b, item) for item in _expanded(b, x.ndim, _items(b, index))]
    several = any((isinstance(item, Value) and item.ndim) or isinstance(item, tuple) for item in items)
    key: list[Any] = []
    result = Selection((), [], [])
    # The next axis of x, and that of the selection.
    axis = place = 0
    for item in items:
        if item is None or isinstance(item, bool):
            key.append(None)
            _new_axis(b, result, place, item, several)
        elif isinstance(item, (Value, tuple)):
            arrays = _arrays(b, item, x.shape[axis:])
            result.arrays += [(place + i, array) for i, array in arrays]
            width = (
                item.ndim
                if isinstance(item, Value) and item.dtype == "bool"
                else len(item)
                if isinstance(item, tuple)
                else 1
            )
            key += [WHOLE] * width
            axis, place = axis + width, place + width
            continue
        else:
            size, axis = x.shape[axis], axis + 1
            key.append(slice_item(b, item, size) if isinstance(item, slice) else index_inside(b, item, size))
            place -= not isinstance(item, slice)
        place += 1
    result.key = tuple(key)
    return result


def _new_axis(b: LiftingBuilder, result: Selection, place: int, item: bool | None, several: bool) -> None:
    if item is not None and several:
        # Next to index arrays a bool is one of them: an index of its new axis that is broadcast with the
        # others.
        result.arrays.append((place, b.asarray(data=(0,) if item else (), dtype="int64")))
    elif item is False:
        result.empty.append(place)


def _items(b: LiftingBuilder, index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return list(index)
    # torch decides by this rule, which it took from NumPy 1, including the limit of 32 items.
    nested = (Value, list, tuple, slice, range, np.ndarray, type(None), type(Ellipsis))
    if (
        b.lists_are_tuples
        and isinstance(index, list)
        and len(index) < 32
        and any(isinstance(item, nested) for item in index)
    ):
        return list(index)
    return [index]


def _expanded(b: LiftingBuilder, rank: int, items: list[Any]) -> list[Any]:
    """Replace the first ellipsis in ``items`` by full slices, and drop any other, which torch allows."""
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if not places:
        return items
    missing = rank - sum(_width(b, item) for item in items)
    after = [item for item in items[places[0] + 1 :] if item is not Ellipsis]
    return [*items[: places[0]], *[slice(None)] * missing, *after]


def _width(b: LiftingBuilder, item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, Value):
        return item.ndim if item.dtype in b.masks else 1
    return (
        int(np.ndim(item))
        if isinstance(item, (list, tuple, np.ndarray)) and _static(item).dtype == bool
        else 1
    )


def _static(item: Any) -> np.ndarray[Any, Any]:
    if any(isinstance(part, (Value, Size)) for part in _flat(item)):
        return np.empty(0, dtype=object)
    array = np.asarray(item)
    # NumPy makes an empty list float64, which is no dtype of an index.
    return array.astype(np.int64) if array.size == 0 and array.dtype != bool else array


def _flat(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        for part in item:
            yield from _flat(part)
    else:
        yield item


def _plain(b: LiftingBuilder, item: Any) -> Any:
    """Normalize an item of an index for :func:`select`."""
    is_single = isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype == bool
    if is_single or isinstance(item, (bool, np.bool_)):
        return bool(item)
    if isinstance(item, (list, tuple, range, np.ndarray)):
        return _listed(b, item)
    if isinstance(item, Value) and item.dtype in b.masks:
        return b.cast(item, "bool")
    return int(item) if isinstance(item, (int, np.integer)) else item


def _listed(b: LiftingBuilder, item: Any) -> Any:
    array = _static(list(item) if isinstance(item, range) else item)
    if array.dtype == object:
        # The list contains values or sizes, which a NumPy array cannot hold.
        return b.stack(*(_entry(b, part) for part in item), axis=0)
    if array.dtype == bool:
        return tuple(nested_tuple(places) for places in array.nonzero())
    return b.asarray(data=nested_tuple(array), dtype="int64")


def _entry(b: LiftingBuilder, part: Any) -> Value:
    entry = _listed(b, part) if isinstance(part, (list, tuple)) else b.array(part, "int64")
    return b.cast(entry, "int64")


def nested_tuple(array: Any) -> Any:
    return (
        tuple(map(nested_tuple, array))
        if np.ndim(array)
        else array.item()
        if hasattr(array, "item")
        else array
    )


def _arrays(b: LiftingBuilder, item: Any, shape: tuple[Any, ...]) -> list[tuple[int, Value]]:
    if isinstance(item, Value):
        return [(0, item)]
    for size in shape[: len(item)]:
        # A mask written as a list has the size of the axis.
        b.fix(size)
    return [(i, b.asarray(data=places, dtype="int64")) for i, places in enumerate(item)]


# ---------------------------------------------------------------------------------------------- reading
def read_index(b: LiftingBuilder, x: Value, index: Any) -> Value:
    x, _, index = with_positive_steps(b, x, index)
    selection = select(b, x, index)
    hints = b.recorded[0].hints if b.recorded else ()
    return read_arrays(b, selection.read(b, x), selection.arrays, hints)


def read_arrays(b: LiftingBuilder, x: Value, arrays: Arrays, hints: tuple[int, ...] = ()) -> Value:
    """Index ``x`` by ``arrays``, pairs of an axis and an index array or mask.

    ``hints`` is the recorded shape of the result, or ``()`` if it is unknown.
    """
    scalars, arrays = _parted(arrays)
    x = _at_scalars(b, x, scalars)
    if len(arrays) == 1 and arrays[0][1].dtype == "bool":
        axis, mask = arrays[0]
        return b.boolean_mask(x, mask, axis=axis, hint=hints[axis] if hints else 0)
    axes, indices = _integers(b, x, arrays, hints)
    if len(axes) > 1:
        return b.gather_nd(x, *indices, axes=axes)
    return b.take(x, indices[0], axis=axes[0]) if axes else x


def _at_scalars(b: LiftingBuilder, x: Value, scalars: Arrays) -> Value:
    # One gather_nd, so that compilers do not materialize a row of x for x[i, j].
    axes, places = _inside(b, x, scalars)
    if len(axes) > 1:
        return b.gather_nd(x, *places, axes=axes)
    return b.take(x, places[0], axis=axes[0]) if axes else x


def _inside(b: LiftingBuilder, x: Value, scalars: Arrays) -> tuple[tuple[int, ...], list[Value]]:
    for axis, array in scalars:
        b.refuse_outside(array, x.shape[axis])
    return tuple(axis for axis, _ in scalars), [array for _, array in scalars]


def _parted(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Split index arrays into 0-d integers, which remove their axes, and the others.

    The axes of the others are counted without the removed ones.
    """
    scalars = [(axis, array) for axis, array in arrays if array.ndim == 0 and array.dtype != "bool"]
    gone = [axis for axis, _ in scalars]
    others = [
        (axis - sum(g < axis for g in gone), array)
        for axis, array in arrays
        if array.ndim or array.dtype == "bool"
    ]
    return scalars, others


def _integers(
    b: LiftingBuilder, x: Value, arrays: Arrays, hints: tuple[int, ...]
) -> tuple[tuple[int, ...], list[Value]]:
    for axis, array in arrays:
        made = b.maker(array)
        # A number next to an index array. Known ones are checked with the other index arrays.
        if made is not None and made.op == "reshape" and not made.inputs[0].ndim and not _interval(b, array):
            b.refuse_outside(made.inputs[0], x.shape[axis])
    axes: list[int] = []
    indices: list[Value] = []
    beside = (hint_of(array.shape[-1]) for _, array in arrays if array.dtype != "bool" and array.ndim)
    # An index array with one element is broadcast to the number of true elements of a mask.
    found = next((count for count in beside if count != 1), None)
    for axis, array in arrays:
        masked = array.dtype == "bool"
        hint = found if found is not None else hints[_place_of_indices(arrays)] if hints else 1
        places = b.nonzero(array, hint=hint) if masked else (array,)
        axes += range(axis, axis + len(places))
        indices += places
    return tuple(axes), indices


def _place_of_indices(arrays: Arrays) -> int:
    taken = [axis + i for axis, array in arrays for i in range(array.ndim if array.dtype == "bool" else 1)]
    front = taken[0] if taken == [*range(taken[0], taken[0] + len(taken))] else 0
    return front + max(1 if array.dtype == "bool" else array.ndim for _, array in arrays) - 1


def _hints_of_written(x: Value, arrays: Arrays, value: Any) -> tuple[int, ...]:
    taken = sum(array.ndim if array.dtype == "bool" else 1 for _, array in arrays)
    rank = x.ndim - taken + max(1 if array.dtype == "bool" else array.ndim for _, array in arrays)
    own = tuple(map(hint_of, value.shape)) if isinstance(value, Value) else ()
    return (*(1,) * (rank - len(own)), *own[max(len(own) - rank, 0) :])


# ---------------------------------------------------------------------------------------------- writing
def write_index(b: LiftingBuilder, x: Value, index: Any, value: Any) -> Value:
    x, turned, index = with_positive_steps(b, x, index)
    selection = select(b, x, index)
    value = b.operand(value, x.dtype)
    if not selection.empty and selection.arrays:
        part = selection.read(b, x)
        value = write_arrays(b, part, selection.arrays, value)
    # A write to an empty selection changes nothing.
    written = x if selection.empty else write_key(b, x, selection.key, value)
    return b.flip(written, axis=turned) if turned else written


def write_key(b: LiftingBuilder, x: Value, key: tuple[Any, ...], value: Any) -> Value:
    if all(item == WHOLE for item in key):
        if not isinstance(value, Value):
            return b.full(shape=x.shape, fill_value=value, dtype=x.dtype)
        return b.broadcast_to(without_leading_ones(b, value, x.ndim), shape=x.shape)
    rank = x.ndim + sum((item is None) - (item is not None and not isinstance(item, tuple)) for item in key)
    return b.setitem(x, without_leading_ones(b, value, rank), key=key)


def without_leading_ones(b: LiftingBuilder, value: Any, rank: int) -> Any:
    if not isinstance(value, Value) or value.ndim <= rank:
        return value
    # Frameworks ignore leading axes of size 1 of what is assigned.
    return b.reshape(value, shape=value.shape[value.ndim - rank :])


def write_arrays(b: LiftingBuilder, x: Value, arrays: Arrays, value: Any, reduce: str | None = None) -> Value:
    """Return ``x`` with ``value`` written to the elements that ``arrays`` select.

    With ``reduce``, a key of ``ELEMENTWISE``, ``value`` is combined with the old elements instead.
    """
    scalars, others = _parted(arrays)
    if scalars:
        if others:
            # The part at the scalars is reduced here and then written back as a whole.
            value, reduce = write_arrays(b, _at_scalars(b, x, scalars), others, value, reduce), None
        axes, places = _inside(b, x, scalars)
        return b.scatter_nd(
            x, without_leading_ones(b, value, x.ndim - len(axes)), *places, axes=axes, reduce=reduce
        )
    if len(others) == 1 and others[0][1].dtype == "bool":
        return write_mask(b, x, *others[0], value, reduce)
    axes, indices = _integers(b, x, others, _hints_of_written(x, others, value))
    rank = x.ndim - len(axes) + max(index.ndim for index in indices)
    return b.scatter_nd(x, without_leading_ones(b, value, rank), *indices, axes=axes, reduce=reduce)


def write_mask(b: LiftingBuilder, x: Value, axis: int, mask: Value, value: Any, reduce: str | None) -> Value:
    """Return ``x`` with ``value`` written where ``mask`` is true. The axes of the mask begin at ``axis``.

    With ``reduce``, a key of ``ELEMENTWISE``, ``value`` is combined with the old elements instead.
    """
    behind = x.ndim - axis - mask.ndim
    aligned = b.reshape(mask, shape=(*mask.shape, *(1,) * behind))
    value = without_leading_ones(b, value, x.ndim - mask.ndim + 1)
    spread = _broadcastable_value(b, x, axis, mask, value, behind)
    if spread is not None:
        return b.where(aligned, spread if reduce is None else getattr(b, ELEMENTWISE[reduce])(x, spread), x)
    if reduce is not None:
        places = b.nonzero(mask, hint=hint_of(value.shape[-1 - behind]))
        return b.scatter_nd(x, value, *places, axes=tuple(range(axis, axis + mask.ndim)), reduce=reduce)
    return _write_in_order(b, x, axis, mask, value, behind)


def _broadcastable_value(b: LiftingBuilder, x: Value, axis: int, mask: Value, value: Any, behind: int) -> Any:
    """Return a value that broadcasts against ``x`` and equals ``value`` where ``mask`` is true, or None.

    behind: number of axes of ``x`` after those of the mask.
    """
    if not isinstance(value, Value) or value.ndim <= behind:
        return value
    place = value.ndim - behind - 1
    made = b.maker(value)
    if (
        made is not None
        and made.op == "boolean_mask"
        and made.inputs[1] is mask
        and made.params["axis"] == axis
    ):
        source = made.inputs[0]
        if source.shape == x.shape and value.ndim == x.ndim - mask.ndim + 1:
            # x[mask] = y[mask]
            return source
    # If the mask selected one element while recording, a value of size 1 may still be one element for each.
    if hint_of(value.shape[place]) != 1 or _is_count_of_mask(b, value.shape[place], mask, axis):
        return None
    # A value with several elements is assigned one by one, which needs another recording.
    b.fix(value.shape[place])
    return b.reshape(value, shape=(*value.shape[:place], *(1,) * mask.ndim, *value.shape[place + 1 :]))


def _is_count_of_mask(b: LiftingBuilder, size: Any, mask: Value, axis: int) -> bool:
    symbol = next(size.symbols(), None) if isinstance(size, Size) else None
    made = b.maker(symbol.source) if symbol is not None and size == Size.of(symbol) else None
    if symbol is None or made is None or made.op != "boolean_mask":
        return False
    return made.inputs[1] is mask and made.params["axis"] == axis == symbol.axis


def _write_in_order(b: LiftingBuilder, x: Value, axis: int, mask: Value, value: Value, behind: int) -> Value:
    front = tuple(range(axis, axis + mask.ndim))
    order = (*front, *(i for i in range(x.ndim) if i not in front))
    moved = b.permute_dims(x, axes=order)
    others = moved.shape[mask.ndim :]
    count = value.shape[value.ndim - behind - 1]
    whole = b.broadcast_to(value, shape=(*x.shape[:axis], count, *x.shape[axis + mask.ndim :]))
    source = b.permute_dims(whole, axes=(axis, *(i for i in range(whole.ndim) if i != axis)))
    everywhere = b.broadcast_to(b.reshape(mask, shape=(*mask.shape, *(1,) * len(others))), shape=moved.shape)
    back = tuple(order.index(i) for i in range(x.ndim))
    # The operation assigns in the order of the elements, so the axes of the mask are in front.
    return b.permute_dims(b.masked_scatter(moved, everywhere, source), axes=back)
