"""``Tensor.__getitem__``, ``Tensor.__setitem__`` and other calls with indices; histograms, sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....errors import UnsupportedOperation
from ....ir import Value
from ....sizes import hint_of, product
from ...common.indexing import (
    cut_to,
    holds_with_guard,
    read_index,
    select,
    slice_inside,
    write_arrays,
    write_index,
)
from .manipulation import broadcast_all, ravel, reshaped
from .reductions import along
from .table import TorchBuilder, assume, axis, rows


@rows.row("__getitem__")
def getitem(b: TorchBuilder, self: Any, index: Any) -> Any:
    return read_index(b, self, index)


@rows.row("index", "_unsafe_index")
def index(b: TorchBuilder, self: Any, indices: Any) -> Any:
    return getitem(b, self, tuple(slice(None) if item is None else item for item in indices))


@rows.row("__setitem__")
def setitem(b: TorchBuilder, self: Any, index: Any, value: Any) -> Any:
    return write_index(b, self, index, value)


@rows.row("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(
    b: TorchBuilder, self: Any, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False
) -> Any:
    selection = select(b, self, tuple(slice(None) if item is None else item for item in indices))
    return write_arrays(
        b, self, selection.arrays, b.operand(values, self.dtype), "sum" if accumulate else None
    )


_REDUCTIONS = {
    None: None, "sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod",
    "mean": "mean", "amax": "max", "amin": "min",
}  # fmt: skip


def vector(b: TorchBuilder, x: Any) -> Any:
    return b.reshape(x, shape=(1,)) if isinstance(x, Value) and x.ndim == 0 else x


def is_ignored_index(b: TorchBuilder, x: Value, index: Value) -> bool:
    """Return True if torch accepts ``index`` only because it is empty, and fix its sizes of 0."""
    if index.dtype in ("int32", "int64") and max(x.ndim, 1) == max(index.ndim, 1):
        return False
    for size in index.shape:
        if hint_of(size) == 0:
            b.fix(size)
    return True


# ---------------------------------------------------------------------------------------------- reading
@rows.row("gather")
def gather(b: TorchBuilder, input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    if is_ignored_index(b, input, index):
        return b.zeros(shape=index.shape, dtype=input.dtype)
    x, places = vector(b, input), vector(b, index)
    along = axis(dim, x.ndim)
    return b.reshape(
        b.take_along_axis(cut_to(b, x, places.shape, along), places, axis=along), shape=index.shape
    )


@rows.row("take_along_dim")
def take_along_dim(b: TorchBuilder, input: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None:
        return b.take(ravel(b, input), ravel(b, indices), axis=0)
    place = axis(dim, input.ndim)
    return b.take_along_axis(input, b.remainder(indices, input.shape[place]), axis=place)


rows.table({"take": lambda b, input, index: b.take(ravel(b, input), index, axis=0)})


@rows.row("index_select", "index_select_copy")
def index_select(b: TorchBuilder, input: Any, dim: int, index: Any) -> Any:
    if input.ndim == 0:
        return b.reshape(b.take(vector(b, input), vector(b, index), axis=0), shape=())
    return b.take(input, vector(b, index), axis=axis(dim, input.ndim))


@rows.row("masked_select")
def masked_select(b: TorchBuilder, input: Any, mask: Any) -> Any:
    x, where = broadcast_all(b, input, mask)
    return b.boolean_mask(x, where, axis=0, hint=b.recorded[0].hints[0] if b.recorded else 0)


# -------------------------------------------------------------------------------------- writing along an axis
def scattered(
    b: TorchBuilder, x: Any, dim: int, index: Any, source: Any, reduce: str | None, include_self: bool = True
) -> Any:
    """Return ``x`` with ``source`` written at ``index`` along ``dim``, or combined by torch's ``reduce``."""
    if is_ignored_index(b, x, index):
        return x
    target, places = vector(b, x), vector(b, index)
    values = (
        vector(b, b.operand(source, x.dtype)) if isinstance(source, Value) else b.operand(source, x.dtype)
    )
    for place, (size, count) in enumerate(zip(target.shape, places.shape)):
        if place != axis(dim, target.ndim):
            # Along the other axes torch requires an index that is not longer than the target.
            assume(b, "ge", size, count)
    if isinstance(values, Value):
        values = cut_to(b, values, places.shape)
    written = b.scatter(
        target,
        places,
        values,
        axis=axis(dim, target.ndim),
        reduce=_REDUCTIONS[reduce],
        include_self=include_self,
    )
    return b.reshape(written, shape=x.shape)


@rows.row("scatter")
def scatter(
    b: TorchBuilder,
    input: Any,
    dim: int,
    index: Any,
    src: Any = None,
    value: Any = None,
    *,
    reduce: str | None = None,
) -> Any:
    source = value if src is None else src
    if isinstance(source, Value) and source.ndim == 0 and index.ndim:
        source = b.broadcast_to(source, shape=index.shape)
    return scattered(b, input, dim, index, source, reduce)


rows.table({
    "scatter_add": lambda b, input, dim, index, src: scattered(b, input, dim, index, src, "sum"),
    "scatter_reduce": lambda b, input, dim, index, src, reduce, *, include_self=True: scattered(
        b, input, dim, index, src, reduce, include_self
    ),
})  # fmt: skip


# ------------------------------------------------------------------------------- writing slices along an axis
def indexed(
    b: TorchBuilder, x: Any, dim: int, index: Any, source: Any, reduce: str | None, include_self: bool = True
) -> Any:
    """Return ``x`` with the slices at ``index`` along ``dim`` replaced by, or combined with, ``source``."""
    target, values, places, along = (
        vector(b, x),
        b.operand(source, x.dtype),
        vector(b, index),
        axis(dim, max(x.ndim, 1)),
    )
    if isinstance(values, Value) and values.ndim == target.ndim:
        for place, (size, wanted) in enumerate(zip(values.shape, target.shape)):
            assume(b, "eq", size, places.shape[0] if place == along else wanted)
    written = b.scatter_nd(
        target, values, places, axes=(along,), reduce=_REDUCTIONS[reduce], include_self=include_self
    )
    return b.reshape(written, shape=x.shape)


@rows.row("index_add")
def index_add(b: TorchBuilder, input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    source = vector(b, source)
    return indexed(
        b,
        input,
        dim,
        index,
        source if alpha == 1 else b.multiply(source, b.operand(alpha, source.dtype)),
        "sum",
    )


rows.table({
    "index_copy": lambda b, input, dim, index, source: indexed(b, input, dim, index, vector(b, source), None),
    "index_fill": lambda b, input, dim, index, value: indexed(b, input, dim, index, value, None),
    "index_reduce": lambda b, input, dim, index, source, reduce, *, include_self=True: indexed(
        b, input, dim, index, vector(b, source), reduce, include_self
    ),
})  # fmt: skip


@rows.row("put")
def put(b: TorchBuilder, input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    assume(b, "eq", product(source.shape), product(index.shape))
    values = b.reshape(source, shape=index.shape)
    written = b.scatter_nd(ravel(b, input), values, index, axes=(0,), reduce="sum" if accumulate else None)
    return b.reshape(written, shape=input.shape)


# ---------------------------------------------------------------------------------------------- masks
@rows.row("masked_fill")
def masked_fill(b: TorchBuilder, input: Any, mask: Any, value: Any) -> Any:
    if isinstance(value, Value) and "complex" in value.dtype and "complex" not in input.dtype:
        # torch raises if the value would lose its imaginary part.
        b.expect(b.all(b.equal(b.imag(value), 0.0)), True)
    return b.where(b.cast(mask, "bool"), b.operand(value, input.dtype), input)


@rows.row("masked_scatter")
def masked_scatter(b: TorchBuilder, input: Any, mask: Any, source: Any) -> Any:
    x, where = broadcast_all(b, input, b.cast(mask, "bool"))
    return b.masked_scatter(x, where, source)


@rows.row("fill_diagonal")
def fill_diagonal(b: TorchBuilder, input: Any, fill_value: Any, wrap: bool = False) -> Any:
    step = sum(product(input.shape[i + 1 :]) for i in range(input.ndim))
    # Elements at a regular distance of the flattened matrix continue below the diagonal of a tall matrix.
    tall = input.ndim == 2 and not wrap and not holds_with_guard(b, input.shape[0], input.shape[1])
    flat = ravel(b, input)
    item = slice_inside(b, None, input.shape[1] * input.shape[1] if tall else None, step, flat.shape[0])
    return b.reshape(b.setitem(flat, b.operand(fill_value, input.dtype), key=(item,)), shape=input.shape)


# ---------------------------------------------------------------------------------------------- searching
@rows.row("where")
def where(b: TorchBuilder, condition: Any, input: Any = None, other: Any = None) -> Any:
    if input is None:
        return nonzero(b, condition, as_tuple=True)
    x, y = b.promote(input, other)
    return b.where(b.cast(condition, "bool"), x, y)


@rows.row("nonzero")
def nonzero(b: TorchBuilder, input: Any, *, as_tuple: bool = False) -> Any:
    hint = b.recorded[0].shape[0]
    if not as_tuple:
        return b.argwhere(input, hint=hint)
    # torch treats a 0-d array as a vector here.
    return b.nonzero(along(b, input, 0)[0], hint=hint)


@rows.row("argwhere")
def argwhere(b: TorchBuilder, input: Any) -> Any:
    return nonzero(b, input)


@rows.row("searchsorted")
def searchsorted(
    b: TorchBuilder,
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Any:
    number = not hasattr(input, "spec")
    sequence, values = b.promote(sorted_sequence, input)
    if number:
        values = b.array(values, sequence.dtype)
    found = b.searchsorted(sequence, values, sorter, side="right" if right or side == "right" else "left")
    return b.astype(found, dtype="int32") if out_int32 else found


@rows.row("isin")
def isin(
    b: TorchBuilder, elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    x, y = b.promote(elements, test_elements)
    kind = next(item.dtype for item in (x, y) if hasattr(item, "spec"))
    return b.isin(b.array(x, kind), b.array(y, kind), invert=bool(invert))


rows.table({
    "Tensor.where": lambda b, input, condition, other:
        where(b, condition, input, other),
    # The number of rows is given, so no size depends on the data.
    "nonzero_static": lambda b, input, *, size, fill_value=-1:
        b.argwhere(input, size=size, fill_value=fill_value),
    "bucketize": lambda b, input, boundaries, *, out_int32=False, right=False: searchsorted(
        b, boundaries, input, out_int32=out_int32, right=right
    ),
})  # fmt: skip


# ---------------------------------------------------------------------------------------------- sorting
@rows.row("sort")
def sort(b: TorchBuilder, input: Any, dim: int = -1, descending: bool = False, *, stable: Any = False) -> Any:
    x, place = along(b, input, dim)
    pair = b.sort_with_indices(x, axis=place, descending=bool(descending), stable=bool(stable))
    return tuple(b.reshape(item, shape=input.shape) for item in pair)


@rows.row("argsort")
def argsort(
    b: TorchBuilder, input: Any, dim: int = -1, descending: bool = False, stable: bool = False
) -> Any:
    x, place = along(b, input, dim)
    return b.reshape(
        b.argsort(x, axis=place, descending=bool(descending), stable=bool(stable)), shape=input.shape
    )


rows.table({"msort": lambda b, input: b.sort(input, axis=0) if input.ndim else input})


@rows.row("topk")
def topk(
    b: TorchBuilder, input: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    x, place = along(b, input, dim)
    pair = b.top_k(x, k=k, axis=place, largest=bool(largest))
    return pair if input.ndim else tuple(b.reshape(item, shape=()) for item in pair)


@rows.row("kthvalue")
def kthvalue(b: TorchBuilder, input: Any, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    x, place = along(b, input, dim)
    return b.kth_value(x, k=k, axis=place, keepdims=bool(keepdim) and input.ndim > 0)


# -------------------------------------------------------------------------------------------- unique elements
@rows.row("unique")
def unique(
    b: TorchBuilder,
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
) -> Any:
    x, place = _slices(b, input, dim)
    hint = b.recorded[0].shape[place or 0]
    if not (return_inverse or return_counts):
        return b.unique_values(x, axis=place, hint=hint)
    values, _, inverse, counts = b.unique_all(x, axis=place, hint=hint)
    return _chosen(b, input, dim, (values, inverse, counts), return_inverse, return_counts)


@rows.row("_unique2")
def unique2(
    b: TorchBuilder,
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    # ATen's kernels return all three results, whichever are wanted.
    return unique(b, input, return_inverse=True, return_counts=True)


@rows.row("unique_dim")
def unique_dim(
    b: TorchBuilder,
    input: Any,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    return unique(b, input, return_inverse=True, return_counts=True, dim=dim)


@rows.row("unique_consecutive")
def unique_consecutive(
    b: TorchBuilder, input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    x, place = _slices(b, input, dim)
    results = b.unique_consecutive(x, axis=place, hint=b.recorded[0].shape[place or 0])
    return _chosen(b, input, dim, results, return_inverse, return_counts)


def _slices(b: TorchBuilder, x: Any, dim: Any) -> tuple[Any, int | None]:
    if x.ndim == 0:
        return along(b, x, 0)[0], None
    return x, None if dim is None else axis(dim, x.ndim)


def _chosen(
    b: TorchBuilder,
    x: Any,
    dim: Any,
    results: tuple[Any, Any, Any],
    return_inverse: bool,
    return_counts: bool,
) -> Any:
    values, inverse, counts = results
    if x.ndim == 0:
        inverse = b.reshape(inverse, shape=())
    wanted = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return wanted if len(wanted) > 1 else values


_ALL = (None, None, 1)
_NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


@rows.row("segment_reduce")
def segment_reduce(
    b: TorchBuilder,
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    if reduce not in _NEUTRAL:
        raise NotImplementedError(f"segment_reduce with {reduce!r}")
    starts, ends = _bounds(b, lengths, offsets, axis)
    b.expect(b.all(b.less_equal(starts, ends)), True)
    if lengths is not None and not unsafe:
        b.expect(b.all(b.equal(b.sum(lengths, axis=axis), data.shape[axis])), True)
    place = b.arange(start=0, stop=data.shape[axis], step=1, dtype=starts.dtype)
    # A mask for each segment has a known size, unlike the segment itself.
    inside = b.logical_and(
        b.less_equal(_with_axis(b, starts, starts.ndim), place), b.less(place, _with_axis(b, ends, ends.ndim))
    )
    inner = data.shape[axis + 1 :]
    mask = b.reshape(inside, shape=(*inside.shape, *(1,) * len(inner)))
    first = _NEUTRAL[reduce] if initial is None else float(initial)
    kept = b.where(mask, _with_axis(b, data, axis), b.operand(_NEUTRAL[reduce], data.dtype))
    counts = b.reshape(
        b.cast(b.subtract(ends, starts), data.dtype), shape=(*starts.shape, *(1,) * len(inner))
    )
    return _with_initial_value(
        b,
        reduce,
        getattr(b, "sum" if reduce == "mean" else reduce)(kept, axis=axis + 1),
        first,
        counts,
        initial is None,
    )


def _with_axis(b: TorchBuilder, x: Value, place: int) -> Value:
    result: Value = b.getitem(x, key=(*(_ALL,) * place, None))
    return result


def _bounds(b: TorchBuilder, lengths: Any, offsets: Any, place: int) -> tuple[Value, Value]:
    if lengths is None:
        return tuple(
            b.getitem(offsets, key=(*(_ALL,) * place, part)) for part in ((None, -1, 1), (1, None, 1))
        )
    ends = b.cumulative_sum(lengths, axis=place)
    return b.subtract(ends, lengths), ends


def _with_initial_value(
    b: TorchBuilder, reduce: str, found: Value, first: float, counts: Value, empty_is_nan: bool
) -> Any:
    if reduce in ("max", "min"):
        return b.combined("maximum" if reduce == "max" else "minimum", found, first)
    whole = b.combined("multiply" if reduce == "prod" else "add", found, first)
    if reduce != "mean":
        return whole
    empty = b.equal(counts, 0.0)
    return b.divide(whole, b.where(empty, math.nan if empty_is_nan else 1.0, counts))


@rows.row("histogramdd", "_histogramdd")
def histogramdd(
    b: TorchBuilder, input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    count = b.fix(input.shape[-1])
    points = b.reshape(input, shape=(product(input.shape[:-1]), count))
    edges = _edges(b, points, count, bins, None if range is None else tuple(range))
    sizes = tuple(edge.shape[0] - 1 for edge in edges)
    whole = (
        b.ones(shape=points.shape[:1], dtype=input.dtype)
        if weight is None
        else reshaped(b, b.cast(weight, input.dtype), points.shape[:1])
    )
    places = []
    for number, (edge, size) in enumerate(zip(edges, sizes)):
        place, inside = _bin(b, b.getitem(points, key=(_ALL, number)), edge, size)
        # Points outside of all bins have no weight; leaving them out would make a size depend on the data.
        whole = b.where(inside, whole, 0.0)
        places.append(place)
    counts = b.scatter_nd(
        b.zeros(shape=sizes, dtype=input.dtype), whole, *places, axes=tuple(_numbers(count)), reduce="sum"
    )
    return (_density(b, counts, edges) if density else counts), list(edges)


def _numbers(count: int) -> Sequence[int]:
    return range(count)


def _edges(b: TorchBuilder, points: Value, count: int, bins: Any, bounds: Any) -> list[Value]:
    if isinstance(bins, (tuple, list)) and bins and isinstance(bins[0], Value):
        return list(bins)
    each = [bins] * count if isinstance(bins, int) else list(bins)
    columns = [b.getitem(points, key=(_ALL, number)) for number in _numbers(count)]
    ranges = [
        None if bounds is None else (float(bounds[2 * number]), float(bounds[2 * number + 1]))
        for number in _numbers(count)
    ]
    return [
        b.histogram_bin_edges(column, bins=b.fix(n), range=span)
        for column, n, span in zip(columns, each, ranges)
    ]


def _bin(b: TorchBuilder, column: Value, edges: Value, size: Any) -> tuple[Value, Value]:
    """Return a bin for each number in ``column``, and a mask of those from the first edge to the last."""
    last = b.getitem(edges, key=(-1,))
    inside = b.logical_and(b.greater_equal(column, b.getitem(edges, key=(0,))), b.less_equal(column, last))
    found = b.subtract(b.searchsorted(edges, column, side="right"), 1)
    return b.clip(found, 0, size - 1), inside


def _density(b: TorchBuilder, counts: Value, edges: list[Value]) -> Any:
    result = b.divide(counts, b.sum(counts))
    for number, edge in enumerate(edges):
        widths = b.subtract(b.getitem(edge, key=((1, None, 1),)), b.getitem(edge, key=((None, -1, 1),)))
        result = b.divide(
            result,
            b.reshape(widths, shape=(*(1,) * number, widths.shape[0], *(1,) * (len(edges) - number - 1))),
        )
    return result


@rows.row("sparse_coo_tensor")
def sparse_coo_tensor(
    b: TorchBuilder,
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    check_invariants: Any = None,
    **_: Any,
) -> Any:
    if values is None or size is None:
        raise UnsupportedOperation(
            "sparse_coo_tensor without a size, which depends on the greatest indices then, has no row; pass "
            "size="
        )
    values = b.array(values) if dtype is None else b.cast(b.array(values), dtype)
    places = b.array(indices, "int64")
    lines = b.unstack(places, axis=0, count=b.fix(places.shape[0]))
    ends = [b.array(dim, "int64") for _, dim in zip(lines, size)]
    for line, end in zip(lines, ends):
        b.expect(b.all(b.logical_and(b.greater_equal(line, 0), b.less(line, end))), True)
    # The result is a dense array, in which values at the same index are summed.
    whole = b.zeros(shape=tuple(size), dtype=values.dtype)
    return write_arrays(b, whole, list(enumerate(lines)), values, "sum")


rows.table({
    ("coalesce", "to_sparse", "to_sparse_coo"): lambda b, self, *_options, **_named:
        # These change the storage format, not the elements.
        self,
    "_sparse_mm": lambda b, sparse, dense: b.matmul(*b.promote(sparse, dense)),
})  # fmt: skip


@rows.row("_sparse_sum")
def sparse_sum(b: TorchBuilder, input: Any, dim: Any = None, *, dtype: Any = None) -> Any:
    # torch's result for bools is bool unless all axes are reduced.
    row = rows.get("sum")
    assert row is not None
    found = row(b, input, dim, dtype=dtype)
    return b.cast(found, "bool") if input.dtype == "bool" and dtype is None and found.ndim else found
