"""Rows of searching, sorting and set operations."""

from __future__ import annotations

from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....ops.dtypes import is_complex, is_inexact
from ....sizes import Size, product
from ...common.indexing import cut
from .table import NumpyBuilder, axis_of, rows


@rows.row("where")
def where(b: NumpyBuilder, condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Lift ``numpy.where``; a condition alone returns the indices where it is true."""
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
    """Lift ``numpy.digitize``; descending bins are reversed."""
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
    """Lift ``numpy.lexsort``, whose last key is the primary one."""
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
    """Return the unique elements, with all NaN, which sort last, as one.

    If not ``alone``, also return their indices, inverse and counts.
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


def _kept(invert: bool) -> Any:
    def row(b: NumpyBuilder, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
        x, y = b.promote(ar1, ar2)
        flat = _flat(b, x)
        kept = b.boolean_mask(flat, b.isin(flat, _flat(b, y), invert=invert), hint=b.recorded[0].shape[0])
        return b.unique_values(kept, hint=b.recorded[0].shape[0])

    return row


rows.row("intersect1d")(_kept(invert=False))
rows.row("setdiff1d")(_kept(invert=True))


@rows.row("setxor1d")
def setxor1d(b: NumpyBuilder, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    hint = b.recorded[0].shape[0]
    # An element that only one array has occurs once among the unique elements of both.
    once = [b.unique_values(_flat(b, x), hint=hint) for x in b.promote(ar1, ar2)]
    values, _, _, counts = b.unique_all(b.concat(*once, axis=0), axis=None, hint=hint)
    return b.boolean_mask(values, b.equal(counts, 1), hint=hint)
