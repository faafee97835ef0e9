"""Rows that change shapes and the order of axes and elements, and that join, split, insert and delete."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir import Value
from ....sizes import Size, apply, hint_of, product
from ...common.indexing import cut, slice_item
from .table import NumpyBuilder, axes_of, axis_of, dtype_name, rows, shape_of


def complete_shape(shape: tuple[Any, ...], total: Any) -> tuple[Any, ...]:
    """Return ``shape`` with -1 replaced by the size that an array of ``total`` elements has there."""
    places = [i for i, dim in enumerate(shape) if isinstance(dim, int) and dim == -1]
    if not places:
        return shape
    rest = product(dim for i, dim in enumerate(shape) if i != places[0])
    return (*shape[: places[0]], total // rest if hint_of(rest) else 0, *shape[places[0] + 1 :])


@rows.row("reshape")
def reshape(
    b: NumpyBuilder, a: Any, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    wanted = b.fix_negative(shape_of(shape if newshape is None else newshape))
    x = b.array(a)
    if order == "F":
        # Column-major order is row-major order of the reversed axes.
        flipped = b.permute_dims(x, axes=tuple(reversed(range(x.ndim))))
        turned = b.reshape(flipped, shape=complete_shape(wanted, product(x.shape))[::-1])
        return b.permute_dims(turned, axes=tuple(reversed(range(turned.ndim))))
    if order not in ("C", None):
        raise UnsupportedOperation(
            f"order={order!r} depends on how the elements lie in memory, which has no meaning in other "
            "frameworks"
        )
    return b.reshape(x, shape=complete_shape(wanted, product(x.shape)))


rows.table({
    # The method also takes the sizes as separate arguments.
    "ndarray.reshape": lambda b, a, *shape, order="C", copy=None: reshape(
        b, a, shape[0] if len(shape) == 1 else shape, order
    ),
    "flatten": lambda b, a, order="C": b.copy(reshape(b, a, (-1,), order)),
    "broadcast_to": lambda b, array, shape, subok=False: b.broadcast_to(
        b.array(array), shape=shape_of(shape)
    ),
})  # fmt: skip


@rows.row("ravel")
def ravel(b: NumpyBuilder, a: Any, order: str = "C") -> Any:
    return reshape(b, a, (-1,), order)


@rows.row("transpose", "permute_dims")
def transpose(b: NumpyBuilder, a: Any, axes: Any = None) -> Any:
    x = b.array(a)
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(axis_of(axis, x.ndim) for axis in axes)
    return b.permute_dims(x, axes=order)


@rows.row("ndarray.transpose")
def transpose_method(b: NumpyBuilder, a: Any, *axes: Any) -> Any:
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return transpose(b, a, order)


@rows.row("T")
def transposed_attribute(b: NumpyBuilder, x: Any) -> Any:
    return transpose(b, x)


@rows.row("mT", "matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(b: NumpyBuilder, x: Any, /) -> Any:
    return swapaxes(b, x, -1, -2)


@rows.row("swapaxes")
def swapaxes(b: NumpyBuilder, a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    first, second = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    order[first], order[second] = second, first
    return b.permute_dims(a, axes=tuple(order))


@rows.row("moveaxis")
def moveaxis(b: NumpyBuilder, a: Any, source: Any, destination: Any) -> Any:
    sources = [axis_of(axis, a.ndim) for axis in shape_of(source)]
    places = [axis_of(axis, a.ndim) for axis in shape_of(destination)]
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    return b.permute_dims(a, axes=tuple(order))


@rows.row("rollaxis")
def rollaxis(b: NumpyBuilder, a: Any, axis: int, start: int = 0) -> Any:
    axis, start = axis_of(axis, a.ndim), start + a.ndim if start < 0 else start
    order = [i for i in range(a.ndim) if i != axis]
    # ``start`` counts the axes before ``axis`` is taken out.
    order.insert(start - (axis < start), axis)
    return b.permute_dims(a, axes=tuple(order))


@rows.row("squeeze")
def squeeze(b: NumpyBuilder, a: Any, axis: Any = None) -> Any:
    gone = axes_of(axis, a.ndim)
    if gone is None:
        # At other sizes the result may have other axes.
        gone = tuple(i for i, dim in enumerate(a.shape) if hint_of(dim) == 1)
        for i, dim in enumerate(a.shape):
            b.guard(apply("eq" if i in gone else "ne", dim, 1))
    return b.reshape(a, shape=tuple(dim for i, dim in enumerate(a.shape) if i not in gone))


@rows.row("expand_dims")
def expand_dims(b: NumpyBuilder, a: Any, axis: Any) -> Any:
    rank = a.ndim + len(shape_of(axis))
    new = {axis_of(one, rank) for one in shape_of(axis)}
    sizes = iter(a.shape)
    return b.reshape(a, shape=tuple(1 if i in new else next(sizes) for i in range(rank)))


def _at_least(rank: int) -> Any:
    def row(b: NumpyBuilder, *arys: Any) -> Any:
        made = tuple(_raised_to(b, b.array(x), rank) for x in arys)
        return made[0] if len(made) == 1 else made

    return row


def _raised_to(b: NumpyBuilder, x: Value, rank: int) -> Value:
    if x.ndim >= rank:
        return x
    if rank == 3 and x.ndim:
        # ``atleast_3d`` puts a vector on the middle axis and a matrix on the first two.
        return b.reshape(x, shape=(1, x.shape[0], 1) if x.ndim == 1 else (*x.shape, 1))
    return b.reshape(x, shape=(*(1,) * (rank - x.ndim), *x.shape))


for _rank in (1, 2, 3):
    rows.row(f"atleast_{_rank}d")(_at_least(_rank))


# ------------------------------------------------------------------------------------------ order of elements
@rows.row("flip")
def flip(b: NumpyBuilder, m: Any, axis: Any = None) -> Any:
    x = b.array(m)
    axes = axes_of(axis, x.ndim)
    return b.flip(x, axis=tuple(range(x.ndim)) if axes is None else axes)


rows.table({
    "fliplr": lambda b, m: flip(b, m, 1),
    "flipud": lambda b, m: flip(b, m, 0),
    "tile": lambda b, A, reps: b.tile(b.array(A), repetitions=shape_of(reps)),
})  # fmt: skip


@rows.row("rot90")
def rot90(b: NumpyBuilder, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = (axis_of(axis, m.ndim) for axis in axes)
    k = b.fix(k)
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return flip(b, flip(b, m, first), second)
    if k % 4 == 1:
        return swapaxes(b, flip(b, m, second), first, second)
    return flip(b, swapaxes(b, m, first, second), second)


@rows.row("roll")
def roll(b: NumpyBuilder, a: Any, shift: Any, axis: Any = None) -> Any:
    if isinstance(shift, Value):
        raise UnsupportedOperation("roll by a computed number has no row; take int(..) of it")
    if axis is None:
        return b.reshape(b.roll(b.reshape(a, shape=(product(a.shape),)), shift=shift, axis=0), shape=a.shape)
    axes, shifts = axes_of(axis, a.ndim) or (), shape_of(shift)
    if not axes or not shifts:
        return b.copy(a)
    # NumPy broadcasts ``shift`` and ``axis`` against each other.
    pairs = [(axes[i % len(axes)], shifts[i % len(shifts)]) for i in range(max(len(axes), len(shifts)))]
    for place, by in pairs:
        a = b.roll(a, shift=by, axis=place)
    return a


@rows.row("repeat")
def repeat(b: NumpyBuilder, a: Any, repeats: Any, axis: Any = None) -> Any:
    x = b.array(a)
    if axis is None:
        x, axis = b.reshape(x, shape=(product(x.shape),)), 0
    place = axis_of(axis, x.ndim)
    if isinstance(repeats, (list, tuple)):
        # A single count applies to all elements.
        repeats = b.array(repeats) if len(repeats) > 1 else repeats[0]
    if isinstance(repeats, Value):
        repeats = b.broadcast_to(b.cast(repeats, "int64"), shape=(x.shape[place],))
        return b.repeat(x, repeats, axis=place, hint=b.recorded[0].shape[place])
    return b.repeat(x, repeats, axis=place)


# ---------------------------------------------------------------------------------------------- differences
@rows.row("diff")
def diff(b: NumpyBuilder, a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x, place = b.array(a), axis_of(axis, a.ndim)
    left, right = (
        item if isinstance(item, (Value, Size, int, float, list, tuple)) else None
        for item in (prepend, append)
    )
    parts = [
        _slab(b, x, item, place) if item is not x else x for item in (left, x, right) if item is not None
    ]
    x = b.concat(*b.promote(*parts), axis=place) if len(parts) > 1 else x
    for _ in range(n):
        before, after = cut(b, x, place, None, -1), cut(b, x, place, 1, None)
        # NumPy has no subtraction of booleans.
        x = b.not_equal(after, before) if x.dtype == "bool" else b.subtract(after, before)
    return x


def _slab(b: NumpyBuilder, x: Value, item: Any, place: int) -> Value:
    item = b.array(item)
    return (
        item
        if item.ndim
        else b.broadcast_to(item, shape=tuple(1 if i == place else dim for i, dim in enumerate(x.shape)))
    )


@rows.row("ediff1d")
def ediff1d(b: NumpyBuilder, ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = b.reshape(ary, shape=(product(ary.shape),))
    parts = [diff(b, x)]
    parts = ([_vector(b, to_begin, x.dtype)] if to_begin is not None else []) + parts
    parts += [_vector(b, to_end, x.dtype)] if to_end is not None else []
    return b.concat(*parts, axis=0) if len(parts) > 1 else parts[0]


def _vector(b: NumpyBuilder, item: Any, dtype: str) -> Value:
    made = b.array(b.array(item), dtype)
    return b.reshape(made, shape=(product(made.shape),))


# ------------------------------------------------------------------------------------------ windows on memory
@rows.row("sliding_window_view")
def sliding_window_view(
    b: NumpyBuilder,
    x: Any,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    sizes = shape_of(window_shape)
    axes = tuple(range(x.ndim)) if axis is None else axes_of(axis, x.ndim) or ()
    for place, size in zip(axes, sizes):
        x = b.sliding_window(x, axis=place, size=size)
    return x


@rows.row("as_strided")
def as_strided(
    b: NumpyBuilder,
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
) -> Any:
    """Lift ``as_strided`` of an array in row-major order."""
    from ....ops.dtypes import ITEMSIZE

    width = ITEMSIZE[x.dtype]
    sizes = x.shape if shape is None else tuple(shape)
    if strides is None:
        raise UnsupportedOperation("as_strided without strides has no row")
    steps = tuple(step // width for step in strides)
    if any(hint_of(step) % width for step in strides):
        raise UnsupportedOperation(
            "as_strided with steps between the elements has no meaning in other frameworks"
        )
    if 0 not in map(hint_of, sizes):
        last = sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
        is_inside = apply("lt", last, product(x.shape))
        if not hint_of(is_inside) or any(hint_of(step) < 0 for step in steps):
            raise UnsupportedOperation("as_strided that reads elements outside of its array has no row")
        b.guard(is_inside)
    return b.as_strided(x, shape=sizes, strides=steps)


def _arrays(b: NumpyBuilder, arrays: Any, dtype: Any = None) -> list[Value]:
    if isinstance(arrays, Value):
        arrays = b.unstack(arrays, axis=0, count=b.fix(arrays.shape[0]))
    made = [b.array(item) for item in arrays]
    kind = b.result_type(*made) if dtype is None else dtype_name(dtype)
    return [b.cast(item, kind) for item in made]


@rows.row("concatenate", "concat")
def concatenate(
    b: NumpyBuilder, arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    parts = _arrays(b, arrays, dtype)
    if axis is None:
        parts, axis = [b.reshape(part, shape=(product(part.shape),)) for part in parts], 0
    return b.concat(*parts, axis=axis_of(axis, parts[0].ndim))


@rows.row("stack")
def stack(
    b: NumpyBuilder, arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    parts = _arrays(b, arrays, dtype)
    return b.stack(*parts, axis=axis_of(axis, parts[0].ndim + 1))


def _joined(rank: int, axis: Callable[[int], int]) -> Callable[..., Any]:
    def row(b: NumpyBuilder, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
        parts = [_raised_to(b, part, rank) for part in _arrays(b, tup, dtype)]
        return b.concat(*parts, axis=axis(parts[0].ndim))

    return row


rows.row("vstack", "row_stack")(_joined(2, lambda rank: 0))
rows.row("hstack")(_joined(1, lambda rank: 0 if rank == 1 else 1))
rows.row("dstack")(_joined(3, lambda rank: 2))


@rows.row("column_stack")
def column_stack(b: NumpyBuilder, tup: Any) -> Any:
    parts = [
        b.reshape(part, shape=(*part.shape, *(1,) * (2 - part.ndim))) if part.ndim < 2 else part
        for part in _arrays(b, tup)
    ]
    return b.concat(*parts, axis=1)


@rows.row("block")
def block(b: NumpyBuilder, arrays: Any) -> Any:
    depth = _depth(arrays)
    leaves = [b.array(item) for item in _leaves(arrays)]
    kind, rank = b.result_type(*leaves), max(depth, *(leaf.ndim for leaf in leaves))

    def joined(item: Any, level: int) -> Value:
        if not isinstance(item, list):
            made = b.cast(b.array(item), kind)
            return b.reshape(made, shape=(*(1,) * (rank - made.ndim), *made.shape))
        return b.concat(*(joined(part, level + 1) for part in item), axis=rank - depth + level)

    return joined(arrays, 0)


def _depth(item: Any) -> int:
    return 1 + _depth(item[0]) if isinstance(item, list) else 0


def _leaves(item: Any) -> list[Any]:
    return [leaf for part in item for leaf in _leaves(part)] if isinstance(item, list) else [item]


# ---------------------------------------------------------------------------------------------- splitting
def _split(b: NumpyBuilder, x: Value, sections: Any, axis: int) -> list[Value]:
    if isinstance(sections, Value):
        raise UnsupportedOperation("split at computed places has no row")
    if isinstance(sections, (list, tuple, np.ndarray)):
        bounds = [None, *sections, None]
        return [cut(b, x, axis, first, last) for first, last in itertools.pairwise(bounds)]
    count = b.fix(sections) if isinstance(sections, Size) else int(sections)
    size = x.shape[axis]
    rest = hint_of(size) % count
    b.guard(apply("eq", size % count, rest))
    # Some parts then have one more element, and which ones depends on the size.
    if rest:
        size = b.fix(size)
    each = size // count
    sizes = [each + (number < rest) for number in range(count)]
    starts: list[Any] = [0]
    for part in sizes:
        starts.append(starts[-1] + part)
    return [cut(b, x, axis, first, last) for first, last in zip(starts[:-1], [*starts[1:-1], None])]


rows.table({
    ("split", "array_split"): lambda b, ary, indices_or_sections, axis=0: _split(
        b, ary, indices_or_sections, axis_of(axis, ary.ndim)
    ),
    "hsplit": lambda b, ary, indices_or_sections: _split(
        b, ary, indices_or_sections, 0 if ary.ndim == 1 else 1
    ),
    "vsplit": lambda b, ary, indices_or_sections: _split(b, ary, indices_or_sections, 0),
    "dsplit": lambda b, ary, indices_or_sections: _split(b, ary, indices_or_sections, 2),
})  # fmt: skip


@rows.row("unstack")
def unstack(b: NumpyBuilder, x: Any, /, *, axis: int = 0) -> Any:
    place = axis_of(axis, x.ndim)
    return b.unstack(x, axis=place, count=b.fix(x.shape[place]))


def _line(b: NumpyBuilder, arr: Any, axis: Any) -> tuple[Value, int]:
    x = b.array(arr)
    return (b.reshape(x, shape=(product(x.shape),)), 0) if axis is None else (x, axis_of(axis, x.ndim))


@rows.row("append")
def append(b: NumpyBuilder, arr: Any, values: Any, axis: Any = None) -> Any:
    x, y = b.promote(arr, values)
    if axis is None:
        return b.concat(*(b.reshape(item, shape=(product(item.shape),)) for item in (x, y)), axis=0)
    return b.concat(x, y, axis=axis_of(axis, x.ndim))


@rows.row("resize")
def resize(b: NumpyBuilder, a: Any, new_shape: Any) -> Any:
    flat, place = _line(b, a, None)
    shape = shape_of(new_shape)
    size = flat.shape[place]
    if not hint_of(size):
        b.fix(size)
        # NumPy makes zeros of an array without elements.
        return b.zeros(shape=shape, dtype=flat.dtype)
    places = b.remainder(
        b.arange(start=0, stop=product(shape), step=1, dtype="int64"), b.array(size, "int64")
    )
    return b.reshape(b.take(flat, places, axis=0), shape=shape)


# ---------------------------------------------------------------------------------------------- deletion
@rows.row("delete")
def delete(b: NumpyBuilder, arr: Any, obj: Any, axis: Any = None) -> Any:
    x, place = _line(b, arr, axis)
    if isinstance(obj, slice):
        return _without_slice(b, x, place, obj)
    if isinstance(obj, (list, tuple)):
        obj = [_without_numpy_bool(b, item) for item in obj]
    if isinstance(obj, list) and obj and all(isinstance(item, bool) for item in obj):
        # A list of bools is a mask, although bools are ints in Python. Among other ints they are indices.
        obj = b.array(obj, "bool")
    if isinstance(obj, Value) and obj.ndim:
        return _without_masked(b, x, place, obj)
    gone = (
        sorted(set(map(int, obj)))
        if isinstance(obj, list) and all(isinstance(item, int) for item in obj)
        else [obj]
    )
    if not all(isinstance(item, (int, Size)) for item in gone) or not _from_one_end(gone):
        raise UnsupportedOperation(
            "delete of elements that are counted from both ends has no row; use a mask"
        )
    ends = [item + x.shape[place] if hint_of(item) < 0 else item for item in gone]
    starts = [None, *(item + 1 for item in ends)]
    return b.concat(
        *(cut(b, x, place, start, stop) for start, stop in zip(starts, (*ends, None))), axis=place
    )


def _without_numpy_bool(b: NumpyBuilder, item: Any) -> Any:
    """Convert a constant of the class ``np.bool_`` to a bool, and return other items unchanged."""
    known = next((array for value, array in b.graph.constants.values() if value is item), None)
    return bool(known) if isinstance(known, np.bool_) else item


def _from_one_end(places: list[Any]) -> bool:
    return len({hint_of(item) < 0 for item in places}) <= 1


def _without_slice(b: NumpyBuilder, x: Value, axis: int, gone: slice) -> Value:
    if gone.step not in (None, 1):
        raise UnsupportedOperation("delete of a slice with a step has no row; use a mask")
    first, last, _ = slice_item(b, gone, x.shape[axis])
    parts = [cut(b, x, axis, None, 0 if first is None else first)]
    return b.concat(*parts, *([] if last is None else [cut(b, x, axis, last, None)]), axis=axis)


def _without_masked(b: NumpyBuilder, x: Value, axis: int, marked: Value) -> Value:
    size = x.shape[axis]
    if marked.dtype == "bool":
        b.guard(apply("eq", marked.shape[0], size))
    else:
        b.refuse_outside(marked, size)
        inside = b.where(b.less(marked, 0), b.add(marked, b.array(size, marked.dtype)), marked)
        marked = b.isin(b.arange(start=0, stop=size, step=1, dtype=marked.dtype), inside, invert=False)
    return b.boolean_mask(x, b.logical_not(marked), axis=axis, hint=b.recorded[0].shape[axis])


# ---------------------------------------------------------------------------------------------- insertion
@rows.row("insert")
def insert(b: NumpyBuilder, arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    x, place = _line(b, arr, axis)
    if (
        isinstance(obj, (list, tuple))
        and len(obj) > 1
        and {type(item) for item in obj} == {int}
        and _from_one_end(list(obj))
    ):
        return _at_places(b, x, place, list(obj), b.array(b.array(values), x.dtype))
    if not isinstance(obj, (int, Size)):
        raise UnsupportedOperation(
            "insert at computed places, or at such that are counted from both ends, has no row; concatenate "
            "the parts"
        )
    b.guard(apply("lt" if hint_of(obj) < 0 else "ge", obj, 0))
    first = obj + x.shape[place] if hint_of(obj) < 0 else obj
    new = b.array(b.array(values), x.dtype)
    if new.ndim < x.ndim and new.ndim:
        new = b.reshape(new, shape=(*new.shape[:place], 1, *new.shape[place:])) if x.ndim > 1 else new
    slot = (
        tuple(1 if i == place else dim for i, dim in enumerate(x.shape))
        if x.ndim > 1 or not new.ndim
        else new.shape
    )
    new = b.broadcast_to(new, shape=slot)
    return b.concat(cut(b, x, place, None, first), new, cut(b, x, place, first, None), axis=place)


def _at_places(b: NumpyBuilder, x: Value, axis: int, places: list[int], new: Value) -> Value:
    new = b.broadcast_to(new, shape=tuple(len(places) if i == axis else dim for i, dim in enumerate(x.shape)))
    order = sorted(range(len(places)), key=places.__getitem__)
    bounds = [None, *(place + x.shape[axis] if place < 0 else place for place in sorted(places)), None]
    parts = [cut(b, x, axis, first, last) for first, last in itertools.pairwise(bounds)]
    put = [cut(b, new, axis, number, number + 1) for number in order]
    return b.concat(
        *(part for pair in itertools.zip_longest(parts, put) for part in pair if part is not None), axis=axis
    )
