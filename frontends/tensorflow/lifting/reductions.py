"""Rows of reductions, cumulative operations, segments and counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ....ir import Value
from ....ops.dtypes import ITEMSIZE, is_complex, is_floating, is_inexact, is_integer
from ....sizes import product
from ...common.indexing import cut
from .table import ComputedOperand, TensorFlowBuilder, axes_in, axis_in, rows


def _reduction(name: str, typed: bool = False) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, axis: Any, *, keep_dims: bool = False, **_: Any) -> Any:
        axes = axes_in(axis, input.ndim)
        if not axes:
            return input
        # TensorFlow sums integers in their own dtype, the operation would in 64 bits.
        options = {"dtype": input.dtype} if typed and is_integer(input.dtype) else {}
        return getattr(b, name)(input, axis=axes, keepdims=bool(keep_dims), **options)

    return row


for _operation, _name, _typed in (
    ("Sum", "sum", True),
    ("Prod", "prod", True),
    ("All", "all", False),
    ("Any", "any", False),
):
    rows.row(_operation, static=("axis",))(_reduction(_name, _typed))


def _extreme(name: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, axis: Any, *, keep_dims: bool = False, **_: Any) -> Any:
        axes = axes_in(axis, input.ndim)
        if not axes:
            return input
        # Targets raise an error for the maximum over an empty axis.
        if any(input.spec.hints[axis] == 0 for axis in axes):
            return _extreme_of_empty(b, input, axes, name)
        return getattr(b, name)(input, axis=axes, keepdims=bool(keep_dims))

    return row


def _extreme_of_empty(b: TensorFlowBuilder, x: Value, axes: tuple[int, ...], name: str) -> Any:
    # A call in which another axis is empty needs another form of the graph.
    for size in x.shape:
        b.fix(size)
    beyond = -math.inf if name == "max" else math.inf
    return b.full(
        shape=b.result.hints,
        fill_value=beyond if is_floating(x.dtype) else _neutral(name, x.dtype),
        dtype=x.dtype,
    )


rows.row("Max", static=("axis",))(_extreme("max"))
rows.row("Min", static=("axis",))(_extreme("min"))


@rows.row("Mean", static=("axis",))
def mean(b: TensorFlowBuilder, input: Any, axis: Any, *, keep_dims: bool = False, **_: Any) -> Any:
    axes = axes_in(axis, input.ndim)
    if not axes:
        return input
    if is_inexact(input.dtype):
        return b.mean(input, axis=axes, keepdims=bool(keep_dims))
    count = product(input.shape[axis] for axis in axes)
    total = b.sum(input, axis=axes, keepdims=bool(keep_dims), dtype="int64")
    return b.astype(b.trunc_divide(total, b.array(count, "int64")), dtype=input.dtype)


@rows.row("EuclideanNorm", static=("axis",))
def euclidean_norm(b: TensorFlowBuilder, input: Any, axis: Any, *, keep_dims: bool = False, **_: Any) -> Any:
    axes = axes_in(axis, input.ndim)
    x = input if is_inexact(input.dtype) else b.astype(input, dtype="float64")
    squares = b.multiply(x, b.conj(x)) if is_complex(x.dtype) else b.square(x)
    return b.astype(
        b.sqrt(b.sum(squares, axis=axes, keepdims=bool(keep_dims)) if axes else squares), dtype=input.dtype
    )


def _arg_extreme(name: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, dimension: Any, *, output_type: Any = "int64", **_: Any) -> Any:
        values = b.astype(input, dtype="uint8") if input.dtype == "bool" else input
        # ``argmax`` returns the index of the first NaN, while TensorFlow passes over NaN.
        if is_floating(values.dtype):
            values = b.where(
                b.isnan(values), b.array(-math.inf if name == "argmax" else math.inf, values.dtype), values
            )
        return b.astype(getattr(b, name)(values, axis=axis_in(dimension, input.ndim)), dtype=output_type)

    return row


rows.row("ArgMax", static=("dimension",))(_arg_extreme("argmax"))
rows.row("ArgMin", static=("dimension",))(_arg_extreme("argmin"))


def _cumulative(name: str) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, x: Any, axis: Any, *, exclusive: bool = False, reverse: bool = False, **_: Any
    ) -> Any:
        axis = axis_in(axis, x.ndim)
        x = b.flip(x, axis=axis) if reverse else x
        found = _accumulate(b, name, x, axis)
        if exclusive:
            first = {"cumulative_sum": 0, "cumulative_prod": 1}.get(name, -math.inf)
            padding = tuple((1, 0) if i == axis else (0, 0) for i in range(x.ndim))
            found = cut(b, b.pad(found, padding=padding, value=first), axis, None, -1)
        return b.flip(found, axis=axis) if reverse else found

    return row


def _accumulate(b: TensorFlowBuilder, name: str, x: Any, axis: int) -> Any:
    # TensorFlow accumulates integers in their own dtype, the operation would in 64 bits.
    options = {"dtype": x.dtype} if name != "logcumsumexp" and is_integer(x.dtype) else {}
    return getattr(b, name)(x, axis=axis, **options)


def _least(dtype: str) -> float:
    return {"float64": -1.7976931348623157e308, "float32": -3.4028234663852886e38, "float16": -65504.0}.get(
        dtype, -3.3895313892515355e38
    )


rows.row("Cumsum", static=("axis",))(_cumulative("cumulative_sum"))
rows.row("Cumprod", static=("axis",))(_cumulative("cumulative_prod"))
rows.row("CumulativeLogsumexp", static=("axis",))(_cumulative("logcumsumexp"))


# ------------------------------------------------------------------------------------- segments
_NEUTRAL = {None: 0, "sum": 0, "prod": 1}


def _neutral(reduce: str, dtype: str) -> Any:
    """Return the number that ``reduce`` starts from in ``dtype``."""
    if reduce in _NEUTRAL:
        return _NEUTRAL[reduce]
    sign = -1 if reduce == "max" else 1
    if is_floating(dtype):
        return -sign * _least(dtype)
    if dtype.startswith("u"):
        return 0 if reduce == "max" else 2 ** (8 * ITEMSIZE[dtype]) - 1
    top = 2 ** (8 * ITEMSIZE[dtype] - 1)
    return -top if reduce == "max" else top - 1


def _segments(b: TensorFlowBuilder, data: Value, ids: Value, count: Any, reduce: str, first: Any) -> Any:
    start = b.full(shape=(count, *data.shape[1:]), fill_value=first, dtype=data.dtype)
    return b.scatter_nd(start, data, ids, axes=(0,), reduce=reduce)


def _unsorted(reduce: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, data: Any, segment_ids: Any, num_segments: Any, **_: Any) -> Any:
        count, rank = known_size(num_segments), segment_ids.ndim
        ids = b.reshape(segment_ids, shape=(product(segment_ids.shape),))
        data = b.reshape(data, shape=(product(data.shape[:rank]), *data.shape[rank:]))
        # Dropped rows go to an additional last segment, which is cut off.
        dropped = b.less(ids, 0)
        ids = b.where(dropped, b.array(count, ids.dtype), ids)
        return cut(
            b, _segments(b, data, ids, count + 1, reduce, _neutral(reduce, data.dtype)), 0, None, count
        )

    return row


def known_size(operand: Any) -> Any:
    """Return a static operand as one number or size; of a tuple, return the first element.

    Raise ``ComputedOperand`` if it is an array.
    """
    if isinstance(operand, Value):
        raise ComputedOperand(
            "a size is computed from elements of arrays, and has to be known while the function is recorded"
        )
    return operand[0] if isinstance(operand, tuple) else operand


for _reduce in ("Sum", "Prod", "Max", "Min"):
    rows.row(f"UnsortedSegment{_reduce}", static=("num_segments",))(_unsorted(_reduce.lower()))


def _count_of(b: TensorFlowBuilder, ids: Value) -> Any:
    # There is a segment for each number up to the largest id, which only the elements tell.
    return b.bincount(ids, hint=b.result.hints[0]).shape[0]


def _sorted(reduce: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, data: Any, segment_ids: Any, **_: Any) -> Any:
        count = _count_of(b, segment_ids)
        if reduce in ("sum", "prod"):
            return _segments(b, data, segment_ids, count, reduce, _NEUTRAL[reduce])
        if is_floating(data.dtype):
            found = _extremes_with_infinities(b, data, segment_ids, count, reduce)
        else:
            found = _segments(b, data, segment_ids, count, reduce, _neutral(reduce, data.dtype))
        there = b.equal(_ones_by_segment(b, data, segment_ids, count), 0)
        return b.where(there, b.array(0, data.dtype), found)

    return row


def _extremes_with_infinities(
    b: TensorFlowBuilder, data: Value, ids: Value, count: Any, reduce: str
) -> Value:
    """Return the maximum or minimum of each segment of floats, which is infinite if all its elements are.

    Equal extremes share the gradient. A reduction that starts from an infinity would count that as one of
    them, so the gradient comes from a sum.
    """
    start = -math.inf if reduce == "max" else math.inf
    found = b.stop_gradient(_segments(b, b.stop_gradient(data), ids, count, reduce, start))
    is_extreme = b.astype(b.equal(data, b.take(found, ids, axis=0)), dtype=data.dtype)
    shares = b.divide(is_extreme, b.take(_segments(b, is_extreme, ids, count, "sum", 0), ids, axis=0))
    nothing = b.zeros(shape=data.shape, dtype=data.dtype)
    terms = b.with_gradient(nothing, data, b.stop_gradient(shares))
    sums = _segments(b, terms, ids, count, "sum", 0)
    return b.with_gradient(found, sums, b.ones(shape=sums.shape, dtype=sums.dtype))


def _ones_by_segment(b: TensorFlowBuilder, data: Value, ids: Value, count: Any) -> Value:
    dtype = data.dtype if is_inexact(data.dtype) else "int32"
    found = _segments(b, b.ones(shape=ids.shape, dtype=dtype), ids, count, "sum", 0)
    return b.reshape(found, shape=(count, *(1,) * (data.ndim - 1)))


for _reduce in ("Sum", "Prod", "Max", "Min"):
    rows.row(f"Segment{_reduce}")(_sorted(_reduce.lower()))


rows.table(
    {
        "SegmentMean": lambda b, data, segment_ids, **_: _mean_of_segments(
            b, data, segment_ids, _count_of(b, segment_ids)
        )
    }
)


def _mean_of_segments(b: TensorFlowBuilder, data: Value, ids: Value, count: Any, root: bool = False) -> Any:
    total = _segments(b, data, ids, count, "sum", 0)
    # The mean of an empty segment is 0, so its count must not be.
    counts = b.maximum(
        _ones_by_segment(b, data, ids, count), b.array(1, data.dtype if is_inexact(data.dtype) else "int32")
    )
    if is_inexact(data.dtype):
        return b.divide(total, b.sqrt(counts) if root else counts)
    return b.trunc_divide(total, b.astype(counts, dtype=data.dtype))


def _sparse(kind: str, counted: bool) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, **_: Any
    ) -> Any:
        count = known_size(num_segments) if counted else _count_of(b, segment_ids)
        picked = b.take(data, indices, axis=0)
        if kind == "sum":
            return _segments(b, picked, segment_ids, count, "sum", 0)
        return _mean_of_segments(b, picked, segment_ids, count, root=kind == "sqrt_n")

    return row


for _operation, _name in (("Sum", "sum"), ("Mean", "mean"), ("SqrtN", "sqrt_n")):
    rows.row(f"SparseSegment{_operation}")(_sparse(_name, counted=False))
    rows.row(f"SparseSegment{_operation}WithNumSegments", static=("num_segments",))(
        _sparse(_name, counted=True)
    )


def _sparse_gradient(kind: str) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, grad: Any, indices: Any, segment_ids: Any, output_dim0: Any, **_: Any
    ) -> Any:
        if kind != "sum":
            counts = _segments(
                b, b.ones(shape=segment_ids.shape, dtype=grad.dtype), segment_ids, grad.shape[0], "sum", 0
            )
            counts = b.maximum(
                b.reshape(counts, shape=(grad.shape[0], *(1,) * (grad.ndim - 1))), b.array(1, grad.dtype)
            )
            grad = b.divide(grad, b.sqrt(counts) if kind == "sqrt_n" else counts)
        picked = b.take(grad, segment_ids, axis=0)
        return _segments(b, picked, indices, known_size(output_dim0), "sum", 0)

    return row


for _operation, _name in (("Sum", "sum"), ("Mean", "mean"), ("SqrtN", "sqrt_n")):
    rows.row(f"SparseSegment{_operation}Grad", static=("output_dim0",))(_sparse_gradient(_name))


def _sparse_gradient_of_rows(kind: str) -> Callable[..., Any]:
    def row(
        b: TensorFlowBuilder, grad: Any, indices: Any, segment_ids: Any, dense_output_dim0: Any, **_: Any
    ) -> Any:
        different, _first, place, _counts = b.unique_all(indices, axis=None, hint=b.result.hints[0])
        return _sparse_gradient(kind)(b, grad, place, segment_ids, different.shape[0]), different

    return row


for _operation, _name in (("Sum", "sum"), ("Mean", "mean"), ("SqrtN", "sqrt_n")):
    rows.row(f"SparseSegment{_operation}GradV2")(_sparse_gradient_of_rows(_name))


# ------------------------------------------------------------------------------------- counts
@rows.row("Bincount", static=("size",))
def bincount(b: TensorFlowBuilder, arr: Any, size: Any, weights: Any, **_: Any) -> Any:
    return _count_values(
        b, b.reshape(arr, shape=(product(arr.shape),)), known_size(size), weights, binary=False
    )


@rows.row("DenseBincount", static=("size",))
def dense_bincount(
    b: TensorFlowBuilder, input: Any, size: Any, weights: Any, *, binary_output: bool = False, **_: Any
) -> Any:
    return _count_values(b, input, known_size(size), weights, bool(binary_output))


def _count_values(b: TensorFlowBuilder, x: Value, size: Any, weights: Any, binary: bool) -> Any:
    dtype, rank = b.result.dtype, x.ndim
    # As in TensorFlow, a value that is out of range is not counted.
    hits = b.equal(b.reshape(x, shape=(*x.shape, 1)), b.arange(start=0, stop=size, step=1, dtype=x.dtype))
    if binary:
        return b.astype(b.any(hits, axis=rank - 1), dtype=dtype)
    # In TensorFlow, an empty array of weights means that there are none.
    if isinstance(weights, Value) and weights.spec.hints and 0 not in weights.spec.hints:
        shown = b.where(hits, b.reshape(weights, shape=(*x.shape, 1)), b.array(0, weights.dtype))
        return b.sum(shown, axis=rank - 1, dtype=dtype)
    return b.sum(b.astype(hits, dtype=dtype), axis=rank - 1, dtype=dtype)


@rows.row("BiasAddGrad")
def bias_add_grad(b: TensorFlowBuilder, out_backprop: Any, *, data_format: str = "NHWC", **_: Any) -> Any:
    channels = 1 if data_format.startswith("NC") and out_backprop.ndim > 2 else out_backprop.ndim - 1
    axes = tuple(axis for axis in range(out_backprop.ndim) if axis != channels)
    return b.sum(out_backprop, axis=axes, dtype=out_backprop.dtype)
