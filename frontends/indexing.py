"""Reading and writing arrays at an index as Python writes it.

An index is taken apart into a *key* (integers, slices, new axes: ``getitem``) and *arrays*, each at an axis of what the key selects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir import Value
from ..sizes import Size, apply, hint_of
from .building import RaisingBuilder
from .slicing import WHOLE, along, index_inside, slice_item

Arrays = list[tuple[int, Value]]


@dataclass
class Selection:
    """An index taken apart; ``empty`` are axes made by ``False``, which hold nothing."""

    key: tuple[Any, ...]
    arrays: Arrays
    empty: list[int]

    def read(self, b: RaisingBuilder, x: Value) -> Value:
        """What the key selects."""
        selected = b.getitem(x, key=self.key)
        for axis in self.empty:
            selected = b.getitem(selected, key=along(axis, (None, 0, 1)))
        return selected


# ---------------------------------------------------------------------------------------------- steps back
def straightened(b: RaisingBuilder, x: Value, index: Any) -> tuple[Value, tuple[int, ...], Any]:
    """``x`` turned round along the axes that a slice goes through backwards, these axes, and the index with steps forward."""
    if not any(isinstance(item, slice) and isinstance(item.step, int) and item.step < 0 for item in _items(b, index)):
        return x, (), index
    items, axis, turned = _expanded(b, x.ndim, _items(b, index)), 0, []
    for place, item in enumerate(items):
        if isinstance(item, slice) and isinstance(item.step, int) and item.step < 0:
            size = x.shape[axis]
            items[place] = slice(_from_the_end(b, item.start, size), _from_the_end(b, item.stop, size), -item.step)
            turned.append(axis)
        axis += _width(b, item)
    return b.flip(x, axis=tuple(turned)), tuple(turned), tuple(items)


def _from_the_end(b: RaisingBuilder, bound: Any, size: Any) -> Any:
    """A bound of a slice with a step back, counted from the other end."""
    if bound is None:
        return None
    if isinstance(bound, Size):
        b.guard(apply("lt" if hint_of(bound) < 0 else "ge", bound, 0))
    counted = -1 - bound if hint_of(bound) < 0 else size - 1 - bound
    b.guard(apply("lt" if hint_of(counted) < 0 else "ge", counted, 0))
    return 0 if hint_of(counted) < 0 else counted


# ---------------------------------------------------------------------------------------------- taking an index apart
def select(b: RaisingBuilder, x: Value, index: Any) -> Selection:
    """The selection that ``index`` means on ``x``."""
    items = [_plain(b, item) for item in _expanded(b, x.ndim, _items(b, index))]
    several = any((isinstance(item, Value) and item.ndim) or isinstance(item, tuple) for item in items)
    key: list[Any] = []
    result = Selection((), [], [])
    axis = place = 0  # the next axis of x, and of the selection
    for item in items:
        if item is None or isinstance(item, bool):
            key.append(None)
            _new_axis(b, result, place, item, several)
        elif isinstance(item, (Value, tuple)):
            arrays = _arrays(b, item, x.shape[axis:])
            result.arrays += [(place + i, array) for i, array in arrays]
            width = item.ndim if isinstance(item, Value) and item.dtype == "bool" else len(item) if isinstance(item, tuple) else 1
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


def _new_axis(b: RaisingBuilder, result: Selection, place: int, item: bool | None, several: bool) -> None:
    """``x[True]`` adds an axis of length 1, ``x[False]`` one of length 0; both count as index arrays beside others."""
    if item is not None and several:
        result.arrays.append((place, b.asarray(data=(0,) if item else (), dtype="int64")))
    elif item is False:
        result.empty.append(place)


def _items(b: RaisingBuilder, index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return list(index)
    nested = (Value, list, tuple, slice, range, np.ndarray, type(None), type(Ellipsis))
    if b.lists_are_tuples and isinstance(index, list) and len(index) < 32 and any(isinstance(item, nested) for item in index):
        return list(index)
    return [index]


def _expanded(b: RaisingBuilder, rank: int, items: list[Any]) -> list[Any]:
    """The items with slices for an ellipsis; torch takes a second one, which stands for no axes."""
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if not places:
        return items
    missing = rank - sum(_width(b, item) for item in items)
    after = [item for item in items[places[0] + 1 :] if item is not Ellipsis]
    return [*items[: places[0]], *[slice(None)] * missing, *after]


def _width(b: RaisingBuilder, item: Any) -> int:
    """How many axes an item of an index takes up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, Value):
        return item.ndim if item.dtype in b.masks else 1
    return int(np.ndim(item)) if isinstance(item, (list, tuple, np.ndarray)) and _static(item).dtype == bool else 1


def _static(item: Any) -> np.ndarray[Any, Any]:
    """A list as an array; of objects where it holds canonical values."""
    if any(isinstance(part, (Value, Size)) for part in _flat(item)):
        return np.empty(0, dtype=object)
    array = np.asarray(item)
    return array.astype(np.int64) if array.size == 0 and array.dtype != bool else array


def _flat(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        for part in item:
            yield from _flat(part)
    else:
        yield item


def _plain(b: RaisingBuilder, item: Any) -> Any:
    """An item as None, bool, int, Size, slice, an index array or mask, or, for a mask known now, a tuple of index tuples."""
    if isinstance(item, (bool, np.bool_)):
        return bool(item)
    if isinstance(item, (list, tuple, range, np.ndarray)):
        return _listed(b, item)
    if isinstance(item, Value) and item.dtype in b.masks:
        return b.cast(item, "bool")
    return int(item) if isinstance(item, (int, np.integer)) else item


def _listed(b: RaisingBuilder, item: Any) -> Any:
    array = _static(list(item) if isinstance(item, range) else item)
    if array.dtype == object:
        return b.stack(*(_entry(b, part) for part in item), axis=0)
    if array.dtype == bool:
        return tuple(nested_tuple(places) for places in array.nonzero())
    return b.asarray(data=nested_tuple(array), dtype="int64")


def _entry(b: RaisingBuilder, part: Any) -> Value:
    entry = _listed(b, part) if isinstance(part, (list, tuple)) else b.array(part, "int64")
    return b.cast(entry, "int64")


def nested_tuple(array: Any) -> Any:
    """The numbers of an array as nested tuples."""
    return tuple(map(nested_tuple, array)) if np.ndim(array) else array.item() if hasattr(array, "item") else array


def _arrays(b: RaisingBuilder, item: Any, shape: tuple[Any, ...]) -> list[tuple[int, Value]]:
    if isinstance(item, Value):
        return [(0, item)]
    for size in shape[: len(item)]:
        b.fix(size)  # a mask written as a list has the size of the axis
    return [(i, b.asarray(data=places, dtype="int64")) for i, places in enumerate(item)]


# ---------------------------------------------------------------------------------------------- reading
def read_index(b: RaisingBuilder, x: Value, index: Any) -> Value:
    """``x[index]``; ``b.recorded`` tells how many elements a mask picked."""
    x, _, index = straightened(b, x, index)
    selection = select(b, x, index)
    hints = b.recorded[0].hints if b.recorded else ()
    return read_arrays(b, selection.read(b, x), selection.arrays, hints)


def read_arrays(b: RaisingBuilder, x: Value, arrays: Arrays, hints: tuple[int, ...] = ()) -> Value:
    """``x`` indexed by arrays at some of its axes; ``hints`` is the shape that this gave while recording."""
    scalars, arrays = _parted(arrays)
    x = _at_scalars(b, x, scalars)
    if len(arrays) == 1 and arrays[0][1].dtype == "bool":
        axis, mask = arrays[0]
        return b.boolean_mask(x, mask, axis=axis, hint=hints[axis] if hints else 0)
    axes, indices = _integers(b, arrays, hints)
    if len(axes) > 1:
        return b.gather_nd(x, *indices, axes=axes)
    return b.take(x, indices[0], axis=axes[0]) if axes else x


def _at_scalars(b: RaisingBuilder, x: Value, scalars: Arrays) -> Value:
    """``x`` at one place of some of its axes, looked up in one go: a compiler makes no row of ``x[i, j]`` then."""
    axes, places = _inside(b, x, scalars)
    if len(axes) > 1:
        return b.gather_nd(x, *places, axes=axes)
    return b.take(x, places[0], axis=axes[0]) if axes else x


def _inside(b: RaisingBuilder, x: Value, scalars: Arrays) -> tuple[tuple[int, ...], list[Value]]:
    """The axes and the places of 0-d integers, refused where they lie outside."""
    for axis, array in scalars:
        b.refuse_outside(array, x.shape[axis])
    return tuple(axis for axis, _ in scalars), [array for _, array in scalars]


def _parted(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """0-d integers, each of which takes its axis away; the others, at the axes that remain."""
    scalars = [(axis, array) for axis, array in arrays if array.ndim == 0 and array.dtype != "bool"]
    gone = [axis for axis, _ in scalars]
    others = [(axis - sum(g < axis for g in gone), array) for axis, array in arrays if array.ndim or array.dtype == "bool"]
    return scalars, others


def _integers(b: RaisingBuilder, arrays: Arrays, hints: tuple[int, ...]) -> tuple[tuple[int, ...], list[Value]]:
    """The axes and index arrays, masks as the places of their true elements."""
    axes: list[int] = []
    indices: list[Value] = []
    beside = (hint_of(array.shape[-1]) for _, array in arrays if array.dtype != "bool" and array.ndim)
    # An array of one element, as a number is here, is broadcast to the places of a mask.
    found = next((count for count in beside if count != 1), None)
    for axis, array in arrays:
        masked = array.dtype == "bool"
        hint = found if found is not None else hints[_place_of_indices(arrays)] if hints else 1
        places = b.nonzero(array, hint=hint) if masked else (array,)
        axes += range(axis, axis + len(places))
        indices += places
    return tuple(axes), indices


def _place_of_indices(arrays: Arrays) -> int:
    """Return the last axis of a result that index arrays make: where the first of them stands, or in front if others stand between."""
    taken = [axis + i for axis, array in arrays for i in range(array.ndim if array.dtype == "bool" else 1)]
    front = taken[0] if taken == [*range(taken[0], taken[0] + len(taken))] else 0
    return front + max(1 if array.dtype == "bool" else array.ndim for _, array in arrays) - 1


def _hints_of_written(x: Value, arrays: Arrays, value: Any) -> tuple[int, ...]:
    """Return the shape that a value is written to, from the axes that it has itself."""
    taken = sum(array.ndim if array.dtype == "bool" else 1 for _, array in arrays)
    rank = x.ndim - taken + max(1 if array.dtype == "bool" else array.ndim for _, array in arrays)
    own = tuple(map(hint_of, value.shape)) if isinstance(value, Value) else ()
    return (*(1,) * (rank - len(own)), *own[max(len(own) - rank, 0) :])


# ---------------------------------------------------------------------------------------------- writing
def write_index(b: RaisingBuilder, x: Value, index: Any, value: Any) -> Value:
    """The whole of ``x`` after ``x[index] = value``."""
    x, turned, index = straightened(b, x, index)
    selection = select(b, x, index)
    value = b.operand(value, x.dtype)
    if not selection.empty and selection.arrays:
        part = selection.read(b, x)
        value = write_arrays(b, part, selection.arrays, value)
    written = x if selection.empty else write_key(b, x, selection.key, value)
    return b.flip(written, axis=turned) if turned else written


def write_key(b: RaisingBuilder, x: Value, key: tuple[Any, ...], value: Any) -> Value:
    """``x`` with ``value`` in the place of ``x[key]``."""
    if all(item == WHOLE for item in key):
        if not isinstance(value, Value):
            return b.full(shape=x.shape, fill_value=value, dtype=x.dtype)
        return b.broadcast_to(without_leading_ones(b, value, x.ndim), shape=x.shape)
    rank = x.ndim + sum((item is None) - (item is not None and not isinstance(item, tuple)) for item in key)
    return b.setitem(x, without_leading_ones(b, value, rank), key=key)


def without_leading_ones(b: RaisingBuilder, value: Any, rank: int) -> Any:
    """A value that is broadcast into ``rank`` axes may have more of size 1 in front."""
    if not isinstance(value, Value) or value.ndim <= rank:
        return value
    return b.reshape(value, shape=value.shape[value.ndim - rank :])


def write_arrays(b: RaisingBuilder, x: Value, arrays: Arrays, value: Any, reduce: str | None = None) -> Value:
    """``x`` with ``value`` written to (or with ``reduce``, added to) what :func:`read_arrays` reads."""
    scalars, others = _parted(arrays)
    if scalars:
        if others:
            value, reduce = write_arrays(b, _at_scalars(b, x, scalars), others, value, reduce), None
        axes, places = _inside(b, x, scalars)
        return b.scatter_nd(x, without_leading_ones(b, value, x.ndim - len(axes)), *places, axes=axes, reduce=reduce)
    if len(others) == 1 and others[0][1].dtype == "bool":
        return write_mask(b, x, *others[0], value, reduce)
    axes, indices = _integers(b, others, _hints_of_written(x, others, value))
    rank = x.ndim - len(axes) + max(index.ndim for index in indices)
    return b.scatter_nd(x, without_leading_ones(b, value, rank), *indices, axes=axes, reduce=reduce)


def write_mask(b: RaisingBuilder, x: Value, axis: int, mask: Value, value: Any, reduce: str | None) -> Value:
    """``x`` with ``value`` where ``mask``, whose axes begin at ``axis``, is true; without sizes that depend on data where that can be."""
    behind = x.ndim - axis - mask.ndim
    aligned = b.reshape(mask, shape=(*mask.shape, *(1,) * behind))
    value = without_leading_ones(b, value, x.ndim - mask.ndim + 1)
    spread = _spread(b, x, axis, mask, value, behind)
    if spread is not None:
        return b.where(aligned, spread if reduce is None else b.add(x, spread), x)
    if reduce is not None:
        places = b.nonzero(mask, hint=hint_of(value.shape[-1 - behind]))
        return b.scatter_nd(x, value, *places, axes=tuple(range(axis, axis + mask.ndim)), reduce=reduce)
    return _write_in_order(b, x, axis, mask, value, behind)


def _spread(b: RaisingBuilder, x: Value, axis: int, mask: Value, value: Any, behind: int) -> Any:
    """The value broadcast over the axes of the mask; None if it has one element for each True of the mask."""
    if not isinstance(value, Value) or value.ndim <= behind:
        return value
    place = value.ndim - behind - 1
    made = b.maker(value)
    if made is not None and made.op == "boolean_mask" and made.inputs[1] is mask and made.params["axis"] == axis:
        source = made.inputs[0]
        if source.shape == x.shape and value.ndim == x.ndim - mask.ndim + 1:
            return source  # x[mask] = y[mask]
    if hint_of(value.shape[place]) != 1 or _counts(b, value.shape[place], mask, axis):
        return None
    b.fix(value.shape[place])
    return b.reshape(value, shape=(*value.shape[:place], *(1,) * mask.ndim, *value.shape[place + 1 :]))


def _counts(b: RaisingBuilder, size: Any, mask: Value, axis: int) -> bool:
    """Whether a size is how many elements the mask selects, be it 1 while recording."""
    symbol = next(size.symbols(), None) if isinstance(size, Size) else None
    made = b.maker(symbol.source) if symbol is not None and size == Size.of(symbol) else None
    if symbol is None or made is None or made.op != "boolean_mask":
        return False
    return made.inputs[1] is mask and made.params["axis"] == axis == symbol.axis


def _write_in_order(b: RaisingBuilder, x: Value, axis: int, mask: Value, value: Value, behind: int) -> Value:
    """The slices of ``value``, one for each true element of the mask, in row-major order."""
    front = tuple(range(axis, axis + mask.ndim))
    order = (*front, *(i for i in range(x.ndim) if i not in front))
    moved = b.permute_dims(x, axes=order)
    others = moved.shape[mask.ndim :]
    count = value.shape[value.ndim - behind - 1]
    whole = b.broadcast_to(value, shape=(*x.shape[:axis], count, *x.shape[axis + mask.ndim :]))
    source = b.permute_dims(whole, axes=(axis, *(i for i in range(whole.ndim) if i != axis)))
    everywhere = b.broadcast_to(b.reshape(mask, shape=(*mask.shape, *(1,) * len(others))), shape=moved.shape)
    back = tuple(order.index(i) for i in range(x.ndim))
    return b.permute_dims(b.masked_scatter(moved, everywhere, source), axes=back)
