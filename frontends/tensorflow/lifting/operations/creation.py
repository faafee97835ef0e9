"""Arrays of numbers that are known."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .....ir import Value
from .....ops.registry import ArraySpec
from ....read_numbers import fixed, is_read
from ..table import TensorFlowBuilder, numbers, rows
from .shapes import size_of


@rows.row("Fill", static=("dims", "value"), takes_read=True)
def fill(b: TensorFlowBuilder, dims: Any, value: Any, **_: Any) -> Any:
    """One number everywhere."""
    shape = numbers(fixed(b, dims), "the shape")
    if isinstance(value, Value) or is_read(value):
        return b.broadcast_to(b.array(value, b.result.dtype), shape=shape)
    return b.full(shape=shape, fill_value=b.operand(value, b.result.dtype), dtype=b.result.dtype)


rows.table({
    "ZerosLike": lambda b, x, **_: b.zeros(shape=x.shape, dtype=x.dtype),  # zeros of this shape
    "OnesLike": lambda b, x, **_: b.ones(shape=x.shape, dtype=x.dtype),  # ones of this shape
})  # fmt: skip


@rows.row("Empty", static=("shape",))
def empty(b: TensorFlowBuilder, shape: Any, *, init: bool = False, **_: Any) -> Any:
    """Zeros, where TensorFlow may leave what the memory held."""
    return b.zeros(shape=numbers(shape, "the shape"), dtype=b.result.dtype)


@rows.row("Range", static=("start", "limit", "delta"))
def range_(b: TensorFlowBuilder, start: Any, limit: Any, delta: Any, **_: Any) -> Any:
    """Numbers at equal distances."""
    start, limit, delta = (size_of(item, "a bound of a range") for item in (start, limit, delta))
    return b.arange(start=start, stop=limit, step=delta, dtype=b.result.dtype)


@rows.row("LinSpace", static=("start", "stop", "num"))
def linspace(b: TensorFlowBuilder, start: Any, stop: Any, num: Any, **_: Any) -> Any:
    """Numbers at equal distances, both ends included, of which TensorFlow takes no gradients."""
    start, stop = (b.stop_gradient(end) if isinstance(end, Value) else end for end in (start, stop))
    return b.linspace(start, stop, num=size_of(num), dtype=b.result.dtype)


@rows.row("OneHot", static=("depth",))
def one_hot(b: TensorFlowBuilder, indices: Any, depth: Any, on_value: Any, off_value: Any, *, axis: int = -1, **_: Any) -> Any:
    """One value at the place of the index along a new axis, another one elsewhere; indices outside have none, the values no gradients."""
    rank, size, dtype = indices.ndim, size_of(depth, "the depth"), b.result.dtype
    place = rank if axis == -1 else axis
    column = b.reshape(indices, shape=(*indices.shape[:place], 1, *indices.shape[place:]))
    numbers_ = b.arange(start=0, stop=size, step=1, dtype=indices.dtype)
    hits = b.equal(column, b.reshape(numbers_, shape=(size, *(1,) * (rank - place))))
    if (on_value, off_value) in ((1, 0), (True, False)) and not isinstance(on_value, Value):
        return b.astype(hits, dtype=dtype)
    return b.where(hits, *(b.stop_gradient(b.array(item, dtype)) for item in (on_value, off_value)))


@rows.row("SobolSample", static=("dim", "num_results", "skip"))
def sobol_sample(b: TensorFlowBuilder, dim: Any, num_results: Any, skip: Any, **_: Any) -> Any:
    """Points of a Sobol sequence, which depend on nothing else: TensorFlow's own, as a constant."""
    given = [b.fix(size_of(item, "a number of the sequence")) for item in (dim, num_results, skip)]
    points = tf.math.sobol_sample(*given, dtype=b.result.dtype).numpy()
    return b.constant("points", ArraySpec(points.shape, b.result.dtype), points)
