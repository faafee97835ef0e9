"""Rows of indexing, searching, sorting and sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import UNSIGNED, is_complex, is_inexact
from ....sizes import Size, apply, hint_of, product
from ...common.indexing import cut, read_index, write_index
from .manipulation import resize
from .table import NumpyBuilder, axis_of, rows

# -------------------------------------------------------------------------------------------------- searching
# Rows of searching, sorting and set operations.


@rows.row("where")
def where(b: NumpyBuilder, condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None:
        return nonzero(b, condition)
    kind = b.result_type(
        *(item if isinstance(item, (int, float, complex, Value, Size)) else b.array(item) for item in (x, y))
    )
    left, right = b.array(x, kind), b.array(y, kind)
    return b.where(b.astype(b.array(condition), dtype="bool"), left, right)


@rows.row("nonzero")
def nonzero(b: NumpyBuilder, a: Any) -> Any:
    return b.nonzero(b.array(a), hint=b.recorded[0].shape[0])


rows.table({
    "flatnonzero": lambda b, a: b.nonzero(
        b.reshape(a, shape=(product(a.shape),)), hint=b.recorded[0].shape[0]
    )[0],
    "argwhere": lambda b, a: b.argwhere(a, hint=b.recorded[0].shape[0]),
})  # fmt: skip


@rows.row("searchsorted")
def searchsorted(b: NumpyBuilder, a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    kind = b.result_type(b.array(a), b.array(v))
    places, values = b.array(a, kind), b.array(v, kind)
    if not isinstance(a, Value):
        places = b.array(list(a), kind)
    extra = () if sorter is None else (b.cast(sorter, "int64"),)
    return b.searchsorted(places, values, *extra, side=side)


@rows.row("digitize")
def digitize(b: NumpyBuilder, x: Any, bins: Any, right: bool = False) -> Any:
    edges, side = b.array(bins if isinstance(bins, Value) else list(bins)), "left" if right else "right"
    if not isinstance(bins, Value) and list(bins) == sorted(bins):
        return searchsorted(b, edges, x, side)
    # Whether the bins descend depends on their elements, so both cases are computed.
    descend = b.any(b.greater(cut(b, edges, 0, None, 1), cut(b, edges, 0, -1, None)))
    found = searchsorted(b, b.where(descend, b.flip(edges, axis=(0,)), edges), x, side)
    return b.where(descend, b.subtract(b.array(edges.shape[0], found.dtype), found), found)


# ---------------------------------------------------------------------------------------------- order
def _line(b: NumpyBuilder, x: Any, axis: Any) -> tuple[Value, int]:
    x = b.array(x)
    if axis is None:
        return b.reshape(x, shape=(product(x.shape),)), 0
    return x, axis_of(axis, x.ndim)


@rows.row("sort")
def sort(
    b: NumpyBuilder, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    x, place = _line(b, a, axis)
    if is_complex(x.dtype):
        return b.take_along_axis(x, _complex_order(b, x, place), axis=place)
    return b.sort(x, axis=place)


def _complex_order(b: NumpyBuilder, x: Value, axis: int) -> Value:
    # NumPy orders complex numbers by their real and then by their imaginary parts. A stable sort by the
    # second key comes first.
    order = b.argsort(b.imag(x), axis=axis, stable=True)
    return b.take_along_axis(
        order, b.argsort(b.take_along_axis(b.real(x), order, axis=axis), axis=axis, stable=True), axis=axis
    )


@rows.row("argsort")
def argsort(
    b: NumpyBuilder, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    x, place = _line(b, a, axis)
    return _complex_order(b, x, place) if is_complex(x.dtype) else b.argsort(x, axis=place, stable=True)


@rows.row("lexsort")
def lexsort(b: NumpyBuilder, keys: Any, axis: int = -1) -> Any:
    lines = (
        [b.array(key) for key in keys]
        if isinstance(keys, (list, tuple))
        else list(b.unstack(keys, axis=0, count=b.fix(keys.shape[0])))
    )
    place = axis_of(axis, lines[0].ndim)
    # Stable sorts by one key after the other leave the last one as the primary key.
    order = b.argsort(lines[0], axis=place, stable=True)
    for line in lines[1:]:
        order = b.take_along_axis(
            order, b.argsort(b.take_along_axis(line, order, axis=place), axis=place, stable=True), axis=place
        )
    return order


rows.table({
    "sort_complex": lambda b, a: sort(b, b.cast(b.array(a), b.recorded_dtype())),
    # A sorted array is one of the partitions that NumPy may return.
    "partition": lambda b, a, kth, axis=-1, kind=None, order=None: sort(b, a, axis),
    "argpartition": lambda b, a, kth, axis=-1, kind=None, order=None: argsort(b, a, axis),
})  # fmt: skip


# ---------------------------------------------------------------------------------------------- sets
def _with_one_nan(b: NumpyBuilder, x: Value, hint: int, alone: bool) -> tuple[Value, ...]:
    """Return the sorted unique elements of ``x``, with all NaN merged into one.

    If not ``alone``, also return the indices, the inverse and the counts.
    """
    values, *others = (b.unique_values(x, hint=hint),) if alone else b.unique_all(x, hint=hint)
    nan = b.isnan(values)
    before = b.logical_and(nan, b.equal(b.cumulative_sum(b.astype(nan, dtype="int64"), axis=0), 1))
    kept = b.logical_or(b.logical_not(nan), before)
    picked = b.boolean_mask(values, kept, hint=hint)
    if alone:
        return (picked,)
    index, inverse, counts = others
    of_nan = b.sum(b.where(nan, counts, b.array(0, "int64")))
    counts = b.where(before, of_nan, counts)
    last = b.subtract(b.sum(b.astype(kept, dtype="int64")), 1)
    return (
        picked,
        b.boolean_mask(index, kept, hint=hint),
        b.minimum(inverse, last),
        b.boolean_mask(counts, kept, hint=hint),
    )


@rows.row("unique")
def unique(
    b: NumpyBuilder,
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x = b.array(ar)
    if not equal_nan and is_inexact(x.dtype):
        raise UnsupportedOperation("unique with equal_nan=False has no row")
    place = None if axis is None else axis_of(axis, x.ndim)
    hint = b.recorded[0].shape[place or 0]
    alone = not (return_index or return_inverse or return_counts)
    if place is None and is_inexact(x.dtype):
        found = _with_one_nan(b, x, hint, alone)
    else:
        found = (
            (b.unique_values(x, axis=place, hint=hint),) if alone else b.unique_all(x, axis=place, hint=hint)
        )
    if alone:
        return found[0]
    values, index, inverse, counts = found
    chosen = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    return (values, *(item for wanted, item in chosen if wanted))


@rows.row("unique_values")
def unique_values(b: NumpyBuilder, x: Any) -> Any:
    return unique(b, x)


def _unique_parts(*parts: int) -> Any:
    def row(b: NumpyBuilder, x: Any) -> Any:
        found = b.unique_all(x, axis=None, hint=b.recorded[0].shape[0])
        return tuple(found[part] for part in parts)

    return row


rows.row("unique_all")(_unique_parts(0, 1, 2, 3))
rows.row("unique_inverse")(_unique_parts(0, 2))
rows.row("unique_counts")(_unique_parts(0, 3))


@rows.row("isin")
def isin(
    b: NumpyBuilder,
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    x, y = b.promote(element, test_elements)
    return b.isin(x, y, invert=bool(invert))


def _flat(b: NumpyBuilder, x: Any) -> Value:
    x = b.array(x)
    return b.reshape(x, shape=(product(x.shape),))


@rows.row("union1d")
def union1d(b: NumpyBuilder, ar1: Any, ar2: Any) -> Any:
    x, y = b.promote(ar1, ar2)
    return unique(b, b.concat(_flat(b, x), _flat(b, y), axis=0))


@rows.row("intersect1d")
def intersect1d(b: NumpyBuilder, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    return b.unique_values(_members(b, ar1, ar2, invert=False), hint=b.recorded[0].shape[0])


@rows.row("setdiff1d")
def setdiff1d(b: NumpyBuilder, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    kept = _members(b, ar1, ar2, invert=True)
    # NumPy does not sort elements that it takes for unique.
    return kept if assume_unique else unique(b, kept)


def _members(b: NumpyBuilder, ar1: Any, ar2: Any, invert: bool) -> Value:
    x, y = b.promote(ar1, ar2)
    flat = _flat(b, x)
    found: Value = b.boolean_mask(flat, b.isin(flat, _flat(b, y), invert=invert), hint=b.recorded[0].shape[0])
    return found


@rows.row("setxor1d")
def setxor1d(b: NumpyBuilder, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    hint = b.recorded[0].shape[0]
    # An element that only one array has occurs once among the unique elements of both.
    once = [_flat(b, x) if assume_unique else unique(b, _flat(b, x)) for x in b.promote(ar1, ar2)]
    values, _, _, counts = b.unique_all(b.concat(*once, axis=0), axis=None, hint=hint)
    return b.boolean_mask(values, b.equal(counts, 1), hint=hint)


# --------------------------------------------------------------------------------------------------- indexing
# For each ufunc the neutral element that replaces elements outside of a segment. None means the first element
# of the segment, which the ufunc ignores if repeated.
_NEUTRAL: dict[str, int | None] = {
    "add": 0, "multiply": 1, "maximum": None, "minimum": None, "logical_and": None, "logical_or": None,
}  # fmt: skip


def _reduceat(name: str, neutral: int | None) -> Callable[..., Any]:
    def row(b: NumpyBuilder, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Value:
        # Each segment goes from its index up to the next one. If that is not larger, it has one element.
        kind = b.recorded_dtype() if dtype is None else dtype
        given = b.array(array)
        place, last = axis_of(axis, given.ndim), given.ndim - 1
        order = (*(i for i in range(given.ndim) if i != place), place)
        x = b.permute_dims(given if name.startswith("logical") else b.cast(given, kind), axes=order)
        starts = _inside(b, indices, x.shape[-1])
        lines = b.reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))
        other = b.operand(neutral, x.dtype) if neutral is not None else _first(b, x, starts)
        parts = b.where(_segments(b, starts, x.shape[-1]), lines, other)
        whole = rows.get(f"{name}.reduce")
        assert whole is not None
        found = b.cast(whole(b, parts, axis=last + 1), b.recorded_dtype())
        return b.permute_dims(found, axes=(*range(place), last, *range(place, last)))

    return row


def _first(b: NumpyBuilder, x: Value, starts: Value) -> Value:
    taken = b.take(x, starts, axis=x.ndim - 1)
    return b.reshape(taken, shape=(*taken.shape, 1))


def _inside(b: NumpyBuilder, indices: Any, count: Any) -> Value:
    # NumPy raises for indices outside of ``[0, count)``.
    if isinstance(indices, (list, tuple)) and not any(isinstance(index, Value) for index in indices):
        b.guard(apply("gt", count, max(indices)))
        return b.array(indices, "int64")
    starts = b.array(indices, "int64")
    b.expect(b.all(b.logical_and(b.greater_equal(starts, 0), b.less(starts, b.array(count, "int64")))), True)
    return starts


def _segments(b: NumpyBuilder, starts: Value, count: Any) -> Value:
    following = b.roll(starts, shift=(-1,), axis=(0,))
    number = b.arange(start=0, stop=starts.shape[0], step=1, dtype="int64")
    is_last = b.equal(number, b.array(starts.shape[0] - 1, "int64"))
    ends = b.where(
        is_last, b.array(count, "int64"), b.where(b.greater(following, starts), following, b.add(starts, 1))
    )
    places = b.arange(start=0, stop=count, step=1, dtype="int64")
    first, end = (b.reshape(item, shape=(starts.shape[0], 1)) for item in (starts, ends))
    return b.logical_and(b.greater_equal(places, first), b.less(places, end))


for _name, _other in _NEUTRAL.items():
    rows.row(f"{_name}.reduceat")(_reduceat(_name, _other))


def numpy_index(b: NumpyBuilder, x: Any, index: Any) -> Any:
    """Return ``index`` as a tuple for :func:`read_index`, with lists as arrays."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [b.array(item) if _is_list(item) else item for item in items]
    if any(isinstance(item, Value) and item.ndim for item in items):
        # Next to an index array scalars become arrays too, because they decide where the axes of the result
        # go.
        items = [_as_array(b, item) for item in items]
    return tuple(items)


def _is_list(item: Any) -> bool:
    return isinstance(item, list)


def _as_array(b: NumpyBuilder, item: Any) -> Any:
    if isinstance(item, Value) and item.ndim == 0:
        if item.dtype == "bool":
            raise UnsupportedOperation("an index of one truth value beside index arrays has no row")
        return b.reshape(item, shape=(1,))
    is_number = not isinstance(item, (Value, bool, slice, type(None), type(Ellipsis)))
    return b.reshape(b.array(item, "int64"), shape=(1,)) if is_number else item


@rows.row("take")
def take(b: NumpyBuilder, a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    x, index = b.array(a), b.cast(b.array(indices), "int64")
    if axis is None:
        x, axis = b.reshape(x, shape=(product(x.shape),)), 0
    size = x.shape[axis_of(axis, x.ndim)]
    if mode == "clip":
        index = b.clip(index, 0, b.array(size - 1, "int64"))
    elif mode == "wrap":
        index = b.remainder(index, b.array(size, "int64"))
    return b.take(x, index, axis=axis_of(axis, x.ndim))


@rows.row("take_along_axis")
def take_along_axis(b: NumpyBuilder, arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        arr, axis = b.reshape(arr, shape=(product(arr.shape),)), 0
    return b.take_along_axis(arr, b.cast(indices, "int64"), axis=axis_of(axis, arr.ndim))


def _selected(b: NumpyBuilder, x: Value, mask: Value, axis: int) -> Value:
    if hint_of(mask.shape[0]) != hint_of(x.shape[axis]):
        # NumPy accepts a mask that is shorter than the axis, and selects nothing after its end.
        x = b.getitem(x, key=(*((None, None, 1),) * axis, (None, mask.shape[0], 1)))
    return b.boolean_mask(x, mask, axis=axis, hint=b.recorded[0].shape[axis])


@rows.row("compress")
def compress(b: NumpyBuilder, condition: Any, a: Any, axis: Any = None) -> Any:
    x = b.array(a)
    if axis is None:
        x, axis = b.reshape(x, shape=(product(x.shape),)), 0
    return _selected(b, x, b.array(b.array(condition), "bool"), axis_of(axis, x.ndim))


@rows.row("extract")
def extract(b: NumpyBuilder, condition: Any, arr: Any) -> Any:
    mask = b.astype(b.array(condition), dtype="bool")
    return compress(b, b.reshape(mask, shape=(product(mask.shape),)), arr)


# For each mode a function that brings the indices of the choices into range.
_IN_RANGE: dict[str, Callable[[NumpyBuilder, Value, int], Value]] = {
    "raise": lambda b, number, count: number,
    "clip": lambda b, number, count: b.clip(number, 0, count - 1),
    "wrap": lambda b, number, count: b.remainder(number, count),
}


@rows.row("choose")
def choose(b: NumpyBuilder, a: Any, choices: Any, mode: str = "raise") -> Any:
    several = (
        choices
        if isinstance(choices, (list, tuple))
        else b.unstack(choices, axis=0, count=b.fix(choices.shape[0]))
    )
    options = b.promote(*several)
    number = _IN_RANGE[mode](b, b.cast(b.array(a), "int64"), len(options))
    if mode == "raise":
        b.expect(b.all(b.logical_and(b.less_equal(0, number), b.less(number, len(options)))), True)
    result = options[0]
    for place, option in enumerate(options[1:], 1):
        result = b.where(b.equal(number, place), option, result)
    return b.broadcast_to(result, shape=b.add(number, b.zeros(shape=result.shape, dtype="int64")).shape)


@rows.row("select")
def select(b: NumpyBuilder, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    kind = b.recorded_dtype()
    result = b.array(default, kind)
    # The first condition that is true decides, so its choice must be written last.
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = b.where(b.array(condition), b.array(choice, kind), result)
    return result


@rows.row("diag")
def diag(b: NumpyBuilder, v: Any, k: int = 0) -> Any:
    x = b.array(v)
    return (
        b.diag_embed(x, offset=k, axis1=0, axis2=1)
        if x.ndim == 1
        else b.diagonal(x, offset=k, axis1=0, axis2=1)
    )


@rows.row("diagflat")
def diagflat(b: NumpyBuilder, v: Any, k: int = 0) -> Any:
    x = b.array(v)
    return b.diag_embed(b.reshape(x, shape=(product(x.shape),)), offset=k, axis1=0, axis2=1)


@rows.row("ix_")
def ix_(b: NumpyBuilder, *args: Any) -> Any:
    lines = [b.array(item) for item in args]
    if any(line.dtype == "bool" for line in lines):
        raise UnsupportedOperation("ix_ of truth values has no row; use nonzero")
    return tuple(
        b.reshape(line, shape=tuple(line.shape[0] if i == place else 1 for i in range(len(lines))))
        for place, line in enumerate(lines)
    )


@rows.row("unravel_index")
def unravel_index(b: NumpyBuilder, indices: Any, shape: Any, order: str = "C") -> Any:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    left, found = b.cast(b.array(indices), "int64"), []
    _refuse_outside(b, left, product(sizes))
    for size in sizes[::-1] if order == "C" else sizes:
        found.append(b.remainder(left, b.array(size, "int64")))
        left = b.floor_divide(left, b.array(size, "int64"))
    return tuple(found[::-1] if order == "C" else found)


@rows.row("ravel_multi_index")
def ravel_multi_index(
    b: NumpyBuilder, multi_index: Any, dims: Any, mode: str = "raise", order: str = "C"
) -> Any:
    if mode != "raise" or order != "C":
        raise UnsupportedOperation("mode= and order= of ravel_multi_index have no row")
    parts = (
        multi_index
        if isinstance(multi_index, (tuple, list))
        else b.unstack(multi_index, axis=0, count=b.fix(multi_index.shape[0]))
    )
    total = b.array(0, "int64")
    for part, size in zip(parts, dims):
        place = b.cast(b.array(part), "int64")
        _refuse_outside(b, place, size)
        total = b.add(b.multiply(total, b.array(size, "int64")), place)
    return total


def _refuse_outside(b: NumpyBuilder, places: Value, size: Any) -> None:
    b.refuse_negative(places)
    b.refuse_outside(places, size)


rows.table({
    "__getitem__": lambda b, x, index: read_index(b, x, numpy_index(b, x, index)),
    "ndarray.compress": lambda b, a, condition, axis=None: compress(b, condition, a, axis),
    "diagonal": lambda b, a, offset=0, axis1=0, axis2=1: b.diagonal(
        a, offset=offset, axis1=axis_of(axis1, a.ndim), axis2=axis_of(axis2, a.ndim)
    ),
})  # fmt: skip


def _setitem(b: NumpyBuilder, x: Any, index: Any, value: Any) -> Any:
    return write_index(
        b, x, numpy_index(b, x, index), b.array(value) if isinstance(value, (list, tuple)) else value
    )


def _copyto(b: NumpyBuilder, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    new = b.broadcast_to(b.array(b.array(src), dst.dtype), shape=dst.shape)
    return new if where is True else b.where(b.array(where, "bool"), new, dst)


def _putmask(b: NumpyBuilder, a: Any, mask: Any, values: Any) -> Any:
    values = b.array(b.array(values), a.dtype)
    if values.ndim and values.shape != a.shape:
        values = resize(b, values, a.shape)
    return b.where(b.array(mask, "bool"), b.broadcast_to(values, shape=a.shape), a)


def _place(b: NumpyBuilder, arr: Any, mask: Any, vals: Any) -> Any:
    vals = b.array(vals, arr.dtype) if isinstance(vals, (list, tuple)) else b.array(b.array(vals), arr.dtype)
    count, mask = product(vals.shape), b.array(mask, "bool")
    if not hint_of(count):
        # Without values NumPy writes nothing, and raises if an element is selected.
        b.fix(count)
        b.expect(b.any(mask), False)
        return arr
    b.guard(apply("gt", count, 0))
    # NumPy writes the n-th value to the n-th selected element, and starts again after the last value.
    line = b.reshape(b.cast(mask, "int64"), shape=(product(mask.shape),))
    before = b.subtract(b.cumulative_sum(line, axis=0, dtype="int64"), line)
    taken = b.take(b.reshape(vals, shape=(count,)), b.remainder(before, b.array(count, "int64")), axis=0)
    return b.where(mask, b.reshape(taken, shape=arr.shape), arr)


def _put(b: NumpyBuilder, a: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    if mode != "raise":
        raise UnsupportedOperation(f"put with mode={mode!r} has no row")
    flat = b.reshape(a, shape=(product(a.shape),))
    index = b.array(ind)
    index = b.reshape(index, shape=(product(index.shape),))
    new = b.array(b.array(v), a.dtype)
    # Values are repeated or left out, so that each index has one.
    new = resize(b, new, index.shape) if new.ndim and new.shape != index.shape else new
    return b.reshape(write_index(b, flat, index, new), shape=a.shape)


def _put_along_axis(b: NumpyBuilder, arr: Any, indices: Any, values: Any, axis: Any = -1) -> Any:
    if axis is None:
        return _put(b, arr, indices, values)
    place = axis_of(axis, arr.ndim)
    shape = tuple(indices.shape[i] if i == place else dim for i, dim in enumerate(arr.shape))
    index = b.broadcast_to(b.cast(indices, "int64"), shape=shape)
    return b.scatter(arr, index, b.broadcast_to(b.array(b.array(values), arr.dtype), shape=shape), axis=place)


def _fill_diagonal(b: NumpyBuilder, a: Any, val: Any, wrap: bool = False) -> Any:
    if a.ndim != 2 or wrap or getattr(val, "ndim", 0):
        raise UnsupportedOperation("fill_diagonal of other than a matrix with one number has no row")
    rows_, columns = (b.arange(start=0, stop=dim, step=1, dtype="int64") for dim in a.shape)
    on = b.equal(b.reshape(rows_, shape=(a.shape[0], 1)), columns)
    return b.where(on, b.array(val, a.dtype), a)


def _nan_to_num(b: NumpyBuilder, *args: Any, **kwargs: Any) -> Any:
    return rows.get("nan_to_num")(b, *args, **kwargs)  # type: ignore[misc]


def _at(reduce: str, negate: bool = False) -> Callable[..., Any]:
    def at(b: NumpyBuilder, a: Any, indices: Any, values: Any) -> Any:
        from ...common.indexing import select as select_elements
        from ...common.indexing import write_arrays, write_key

        values = b.array(values, a.dtype)
        if negate and a.dtype in UNSIGNED:
            raise UnsupportedOperation("subtract.at of unsigned integers has no row")
        values = b.negative(values) if negate else values
        selection = select_elements(b, a, numpy_index(b, a, indices))
        if not selection.arrays:
            raise UnsupportedOperation("ufunc.at without an index array has no row; write x[index] += y")
        part = selection.read(b, a)
        return write_key(b, a, selection.key, write_arrays(b, part, selection.arrays, values, reduce))

    return at


# For calls that write in place, a function that returns the new value of the array.
WRITTEN: dict[str, Callable[..., Any]] = {
    "__setitem__": _setitem,
    "fill": lambda b, x, value: b.broadcast_to(b.array(value, x.dtype), shape=x.shape),
    "sort": lambda b, x, axis=-1, kind=None, order=None, stable=None: sort(
        b, x, axis, kind, order, stable=stable
    ),
    "copyto": _copyto,
    "putmask": _putmask,
    "place": _place,
    "put": _put,
    "put_along_axis": _put_along_axis,
    "fill_diagonal": _fill_diagonal,
    "nan_to_num": _nan_to_num,
    "add.at": _at("sum"),
    "subtract.at": _at("sum", negate=True),
    "multiply.at": _at("prod"),
    "maximum.at": _at("max"),
    "minimum.at": _at("min"),
}
