"""Rows of gathering, scattering, sorting, searching, and sparse operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.dtypes import is_complex
from ....sizes import product
from ...common.indexing import along, cut
from .manipulation import size_of
from .table import TensorFlowBuilder, axis_in, numbers, rows


# ------------------------------------------------------------------------------------- gathering
def _as_index(b: TensorFlowBuilder, indices: Value) -> Value:
    # Some targets do not accept smaller integers as indices.
    wide: Value = (
        b.astype(indices, dtype="int32") if indices.dtype in ("int8", "int16", "uint8", "uint16") else indices
    )
    return wide


rows.table({"Gather": lambda b, params, indices, **_: b.take(params, _as_index(b, b.array(indices)), axis=0)})


@rows.row("GatherV2", static=("axis",))
def gather_v2(
    b: TensorFlowBuilder, params: Any, indices: Any, axis: Any, *, batch_dims: int = 0, **_: Any
) -> Any:
    params = b.array(params, b.result.dtype)
    indices, axis = _as_index(b, b.array(indices)), axis_in(axis, max(params.ndim, 1))
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    axis = max(axis, batch)
    if not batch:
        return b.take(params, indices, axis=axis)
    order = (*range(batch), axis, *(i for i in range(batch, params.ndim) if i != axis))
    moved = b.permute_dims(params, axes=order)
    found = b.gather_nd(moved, *_batch_places(b, indices, batch), indices, axes=tuple(range(batch + 1)))
    inner, skipped = indices.ndim - batch, axis - batch
    places = (*range(batch), *range(indices.ndim, indices.ndim + skipped), *range(batch, batch + inner))
    return b.permute_dims(found, axes=(*places, *range(indices.ndim + skipped, found.ndim)))


def _batch_places(b: TensorFlowBuilder, indices: Value, batch: int) -> list[Value]:
    return [
        b.reshape(
            b.arange(start=0, stop=indices.shape[axis], step=1, dtype=indices.dtype),
            shape=tuple(indices.shape[axis] if i == axis else 1 for i in range(indices.ndim)),
        )
        for axis in range(batch)
    ]


def parts_of(b: TensorFlowBuilder, indices: Value) -> list[Value]:
    indices = _as_index(b, indices)
    # The program has one index array for each element of an index vector, so their number is fixed.
    count = b.fix(indices.shape[-1])
    return [b.getitem(indices, key=along(indices.ndim - 1, place)) for place in range(count)]


@rows.row("GatherNd")
def gather_nd(b: TensorFlowBuilder, params: Any, indices: Any, **_: Any) -> Any:
    parts = parts_of(b, indices)
    if not parts:
        return b.broadcast_to(params, shape=(*indices.shape[:-1], *params.shape))
    return b.gather_nd(params, *parts, axes=tuple(range(len(parts))))


# ------------------------------------------------------------------------------------- scattering
def scatter(b: TensorFlowBuilder, whole: Value, indices: Value, updates: Value, reduce: str | None) -> Any:
    """Return ``whole`` with ``updates`` written at the index vectors ``indices``.

    ``reduce`` combines the updates with the old elements; None replaces the old elements. Raise
    ``NotImplementedError`` for index vectors without elements.
    """
    parts = parts_of(b, indices)
    if not parts:
        raise NotImplementedError("index vectors without elements")
    return b.scatter_nd(whole, updates, *parts, axes=tuple(range(len(parts))), reduce=reduce)


@rows.row("ScatterNd", static=("shape",))
def scatter_nd(b: TensorFlowBuilder, indices: Any, updates: Any, shape: Any, **_: Any) -> Any:
    whole = b.zeros(shape=numbers(shape, "the shape"), dtype=updates.dtype)
    if updates.dtype == "bool":
        return scatter(b, whole, indices, updates, None)
    return scatter(b, whole, indices, updates, "sum")


def _scatter(reduce: str | None, negated: bool = False) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, tensor: Any, indices: Any, updates: Any, **_: Any) -> Any:
        tensor, updates = b.arrays(tensor, updates)
        return scatter(b, tensor, indices, b.negative(updates) if negated else updates, reduce)

    return row


rows.row("TensorScatterUpdate")(_scatter(None))
rows.row("TensorScatterAdd", "ScatterNdNonAliasingAdd")(_scatter("sum"))
rows.row("TensorScatterSub")(_scatter("sum", negated=True))
rows.row("TensorScatterMax")(_scatter("max"))
rows.row("TensorScatterMin")(_scatter("min"))


@rows.row("DynamicPartition")
def dynamic_partition(
    b: TensorFlowBuilder, data: Any, partitions: Any, *, num_partitions: int, **_: Any
) -> Any:
    hints = [spec.hints[0] for spec in b.recorded]
    return tuple(
        b.boolean_mask(data, b.equal(partitions, number), axis=0, hint=hints[number])
        for number in range(num_partitions)
    )


@rows.row("DynamicStitch", "ParallelDynamicStitch", static=("indices",))
def dynamic_stitch(b: TensorFlowBuilder, indices: Any, data: Any, **_: Any) -> Any:
    places = [b.array(item, "int32") for item in indices]
    flat = [b.reshape(item, shape=(product(item.shape),)) for item in places]
    given = [
        b.reshape(item, shape=(product(place.shape), *item.shape[place.ndim :]))
        for item, place in zip(b.arrays(*data), places)
    ]
    where, what = (b.concat(*items, axis=0) if len(items) > 1 else items[0] for items in (flat, given))
    count = _stitch_size(b, indices, where)
    whole = b.zeros(shape=(count, *what.shape[1:]), dtype=what.dtype)
    return b.scatter_nd(whole, what, where, axes=(0,))


def _stitch_size(b: TensorFlowBuilder, indices: Any, where: Value) -> Any:
    numbers_ = [item for one in indices for item in _flat(one)]
    if not any(isinstance(item, Value) for item in numbers_):
        return max(numbers_, default=-1) + 1
    return b.bincount(where, hint=b.result.hints[0]).shape[0]


def _flat(item: Any) -> list[Any]:
    return [part for one in item for part in _flat(one)] if isinstance(item, tuple) else [item]


# ------------------------------------------------------------------------------------- sorting and searching
@rows.row("TopKV2", static=("k",))
def top_k_v2(b: TensorFlowBuilder, input: Any, k: Any, *, index_type: Any = "int32", **_: Any) -> Any:
    # ``TopKV2`` puts the lower index of equal elements first, so the sort is stable.
    axis, count = input.ndim - 1, size_of(k, "the count of largest elements")
    order = cut(b, b.argsort(input, axis=axis, descending=True, stable=True), axis, None, count)
    return b.take_along_axis(input, order, axis=axis), b.astype(order, dtype=index_type)


@rows.row("ApproxTopK")
def approx_top_k(
    b: TensorFlowBuilder,
    input: Any,
    *,
    k: int,
    reduction_dimension: int = -1,
    is_max_k: bool = True,
    **_: Any,
) -> Any:
    axis = reduction_dimension % input.ndim
    order = cut(b, b.argsort(input, axis=axis, descending=is_max_k, stable=True), axis, None, k)
    return b.take_along_axis(input, order, axis=axis), b.astype(order, dtype="int32")


@rows.row("XlaDynamicUpdateSlice", static=("indices",))
def dynamic_update_slice(b: TensorFlowBuilder, input: Any, update: Any, indices: Any, **_: Any) -> Any:
    places = []
    for axis, (whole, size) in enumerate(zip(input.shape, update.shape)):
        start = (
            b.getitem(indices, key=(axis,)) if isinstance(indices, Value) else b.array(indices[axis], "int32")
        )
        inside = b.clip(start, b.array(0, start.dtype), b.array(whole - size, start.dtype))
        along_axis = tuple(size if place == axis else 1 for place in range(input.ndim))
        places.append(b.reshape(b.add(b.arange(stop=size, dtype=start.dtype), inside), shape=along_axis))
    return b.scatter_nd(input, update, *places, axes=tuple(range(input.ndim)))


@rows.row("NthElement", static=("n",))
def nth_element(b: TensorFlowBuilder, input: Any, n: Any, *, reverse: bool = False, **_: Any) -> Any:
    axis = input.ndim - 1
    ordered = b.sort(input, axis=axis, descending=bool(reverse))
    return b.getitem(ordered, key=along(axis, size_of(n)))


def _in_top_k(b: TensorFlowBuilder, predictions: Value, targets: Value, k: Any) -> Any:
    column = b.reshape(b.astype(targets, dtype="int64"), shape=(*targets.shape, 1))
    classes = predictions.shape[1]
    inside = b.logical_and(b.greater_equal(column, 0), b.less(column, b.array(classes, "int64")))
    mine = b.take_along_axis(predictions, b.where(inside, column, b.array(0, "int64")), axis=1)
    larger = b.sum(b.astype(b.greater(predictions, mine), dtype="int64"), axis=1, dtype="int64")
    # TensorFlow returns False if a prediction is not finite or the target is no class.
    finite = b.all(b.logical_and(b.isfinite(predictions), inside), axis=1)
    return b.logical_and(b.less(larger, b.array(k, "int64")), finite)


rows.table({
    "InTopK": lambda b, predictions, targets, *, k, **_: _in_top_k(b, predictions, targets, k),
    "InTopKV2": lambda b, predictions, targets, k, **_: _in_top_k(b, predictions, targets, k),
})  # fmt: skip


def _bound(side: str) -> Callable[..., Any]:
    return lambda b, sorted_inputs, values, *, out_type="int32", **_: b.astype(
        b.searchsorted(*b.arrays(sorted_inputs, values), side=side), dtype=out_type
    )


rows.row("LowerBound")(_bound("left"))
rows.row("UpperBound")(_bound("right"))


@rows.row("Bucketize")
def bucketize(b: TensorFlowBuilder, input: Any, *, boundaries: Any, **_: Any) -> Any:
    edges = b.array(tuple(float(item) for item in boundaries), "float32")
    values = b.astype(input, dtype="float32") if input.dtype != "float64" else input
    return b.astype(b.searchsorted(b.astype(edges, dtype=values.dtype), values, side="right"), dtype="int32")


@rows.row("HistogramFixedWidth", static=("value_range", "nbins"))
def histogram_fixed_width(
    b: TensorFlowBuilder, values: Any, value_range: Any, nbins: Any, *, dtype: Any = "int32", **_: Any
) -> Any:
    count = size_of(nbins)
    low, high = _ends(b, value_range, values.dtype)
    wide = "float64"
    low, high, values = (b.astype(item, dtype=wide) for item in (low, high, values))
    part = b.divide(b.subtract(high, low), b.array(count, wide))
    place = b.floor(b.divide(b.subtract(values, low), part))
    place = b.astype(b.clip(place, 0.0, b.array(count - 1, wide)), dtype="int64")
    flat = b.reshape(place, shape=(product(place.shape), 1))
    hits = b.equal(flat, b.arange(start=0, stop=count, step=1, dtype="int64"))
    return b.sum(b.astype(hits, dtype=dtype), axis=0, dtype=dtype)


def _ends(b: TensorFlowBuilder, given: Any, dtype: str) -> list[Value]:
    if isinstance(given, tuple):
        return [b.array(item, dtype) for item in given]
    return [b.getitem(given, key=(place,)) for place in range(2)]


@rows.row("Where")
def where(b: TensorFlowBuilder, condition: Any, **_: Any) -> Any:
    return b.argwhere(condition, hint=b.result.hints[0])


def _unique_by_occurrence(b: TensorFlowBuilder, x: Value, axis: int | None) -> tuple[Value, Value, Value]:
    values, first, inverse, counts = b.unique_all(x, axis=axis, hint=b.result.hints[axis or 0])
    order = b.argsort(first, axis=0)
    moved = b.argsort(order, axis=0)
    return (
        b.take(values, order, axis=axis or 0),
        b.take(moved, inverse, axis=0),
        b.take(counts, order, axis=0),
    )


@rows.row("Unique")
def unique(b: TensorFlowBuilder, x: Any, *, out_idx: Any = "int32", **_: Any) -> Any:
    values, places, _counts = _unique_by_occurrence(b, x, None)
    return values, b.astype(places, dtype=out_idx)


@rows.row("UniqueWithCounts")
def unique_with_counts(b: TensorFlowBuilder, x: Any, *, out_idx: Any = "int32", **_: Any) -> Any:
    values, places, counts = _unique_by_occurrence(b, x, None)
    return values, b.astype(places, dtype=out_idx), b.astype(counts, dtype=out_idx)


@rows.row("UniqueV2", static=("axis",))
def unique_v2(b: TensorFlowBuilder, x: Any, axis: Any, *, out_idx: Any = "int32", **_: Any) -> Any:
    values, places, _counts = _unique_by_occurrence(b, x, _axis(axis, x.ndim))
    return values, b.astype(b.reshape(places, shape=(product(places.shape),)), dtype=out_idx)


@rows.row("UniqueWithCountsV2", static=("axis",))
def unique_with_counts_v2(
    b: TensorFlowBuilder, x: Any, axis: Any, *, out_idx: Any = "int32", **_: Any
) -> Any:
    values, places, counts = _unique_by_occurrence(b, x, _axis(axis, x.ndim))
    return (
        values,
        b.astype(b.reshape(places, shape=(product(places.shape),)), dtype=out_idx),
        b.astype(counts, dtype=out_idx),
    )


def _axis(axis: Any, rank: int) -> int | None:
    found = numbers(axis, "the axis")
    return axis_in(found, rank) if found and rank > 1 else None


@rows.row("ListDiff")
def list_diff(b: TensorFlowBuilder, x: Any, y: Any, *, out_idx: Any = "int32", **_: Any) -> Any:
    x, y = b.arrays(x, y)
    (places,) = b.nonzero(b.isin(x, y, invert=True), hint=b.result.hints[0])
    return b.take(x, places, axis=0), b.astype(places, dtype=out_idx)


@rows.row("UnravelIndex", static=("dims",))
def unravel_index(b: TensorFlowBuilder, indices: Any, dims: Any, **_: Any) -> Any:
    sizes, dtype = numbers(dims, "the shape"), indices.dtype
    found, rest = [], indices
    for size in reversed(sizes):
        found.append(b.remainder(rest, b.array(size, dtype)))
        rest = b.floor_divide(rest, b.array(size, dtype))
    return b.stack(*found[::-1], axis=0)


# ------------------------------------------------------------------- arrays given by their indices and values
@rows.row("SparseToDense", static=("output_shape",))
def sparse_to_dense(
    b: TensorFlowBuilder,
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any,
    **_: Any,
) -> Any:
    shape = numbers(output_shape, "the shape")
    whole = b.broadcast_to(b.array(default_value, b.result.dtype), shape=shape)
    indices = (
        sparse_indices
        if sparse_indices.ndim == 2
        else b.reshape(sparse_indices, shape=(product(sparse_indices.shape), 1))
    )
    return scatter(b, whole, indices, b.array(sparse_values, b.result.dtype), None)


@rows.row("SparseTensorDenseAdd", static=("a_shape",))
def sparse_dense_add(
    b: TensorFlowBuilder, a_indices: Any, a_values: Any, a_shape: Any, b_: Any, **_: Any
) -> Any:
    return scatter(b, b_, a_indices, a_values, "sum")


@rows.row("SparseTensorDenseMatMul", static=("a_shape",))
def sparse_dense_matmul(
    b: TensorFlowBuilder,
    a_indices: Any,
    a_values: Any,
    a_shape: Any,
    b_: Any,
    *,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    **_: Any,
) -> Any:
    dense = scatter(
        b, b.zeros(shape=numbers(a_shape, "the shape"), dtype=a_values.dtype), a_indices, a_values, "sum"
    )
    first, second = (
        _adjoint(b, item) if turned else item for item, turned in ((dense, adjoint_a), (b_, adjoint_b))
    )
    return b.matmul(first, second)


def _adjoint(b: TensorFlowBuilder, x: Value) -> Any:
    return b.permute_dims(b.conj(x) if is_complex(x.dtype) else x, axes=(1, 0))
