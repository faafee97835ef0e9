"""Rows of reshaping, joining, padding, repeating and slicing, and of shape computations."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from ....ir import Value
from ....ops.dtypes import is_complex
from ....ops.registry import ArraySpec
from ....sizes import apply, hint_of, product
from ...common.indexing import cut, read_index, write_index
from ...common.read_numbers import as_index, fix_numbers, is_read
from .table import (
    ComputedOperand,
    TensorFlowBuilder,
    axes_in,
    axes_of,
    axis_in,
    numbers,
    require_static,
    rows,
)


def size_of(operand: Any, what: str = "a size") -> Any:
    return numbers(operand, what)[0]


@rows.row("Reshape", static=("shape",))
def reshape(b: TensorFlowBuilder, tensor: Any, shape: Any, **_: Any) -> Any:
    sizes = list(b.fix_negative(numbers(shape, "the shape")))
    free = [place for place, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if free:
        sizes[free[0]] = _rest(b, tensor, sizes, free[0])
    return b.reshape(tensor, shape=tuple(sizes))


def _rest(b: TensorFlowBuilder, x: Value, sizes: list[Any], place: int) -> Any:
    others = product(size for i, size in enumerate(sizes) if i != place)
    # With no elements, -1 cannot be computed from the other sizes.
    if isinstance(others, int) and others == 0:
        return b.result.hints[place]
    return product(x.shape) // others


@rows.row("Transpose", static=("perm",))
def transpose(b: TensorFlowBuilder, x: Any, perm: Any, **_: Any) -> Any:
    return (
        b.permute_dims(x, axes=tuple(axis % x.ndim for axis in axes_of(perm, "the order of axes")))
        if x.ndim
        else x
    )


rows.table(
    {
        "ConjugateTranspose": lambda b, x, perm, **_: transpose(
            b, b.conj(x) if is_complex(x.dtype) else x, perm
        )
    },
    static=("perm",),
)


@rows.row("ExpandDims", static=("axis",))
def expand_dims(b: TensorFlowBuilder, input: Any, axis: Any, **_: Any) -> Any:
    place = axes_of(axis)[0] % (input.ndim + 1)
    return b.reshape(input, shape=(*input.shape[:place], 1, *input.shape[place:]))


@rows.row("Squeeze")
def squeeze(b: TensorFlowBuilder, input: Any, *, squeeze_dims: Any = (), **_: Any) -> Any:
    named = {axis % input.ndim for axis in squeeze_dims} or {
        axis for axis, size in enumerate(input.spec.hints) if size == 1
    }
    # Without named axes, the rank of the result depends on which axes have size 1.
    for axis, size in enumerate(input.shape):
        if axis in named or not squeeze_dims:
            b.guard(apply("eq" if axis in named else "ne", size, 1))
    return b.reshape(input, shape=tuple(size for axis, size in enumerate(input.shape) if axis not in named))


@rows.row("Pack")
def pack(b: TensorFlowBuilder, values: Any, *, axis: int = 0, **_: Any) -> Any:
    arrays = b.arrays(*values)
    return b.stack(*arrays, axis=axis % (arrays[0].ndim + 1))


@rows.row("Unpack")
def unpack(b: TensorFlowBuilder, value: Any, *, num: int, axis: int = 0, **_: Any) -> Any:
    place = axis % value.ndim
    b.guard(apply("eq", value.shape[place], num))
    if num == 1:
        return (b.reshape(value, shape=(*value.shape[:place], *value.shape[place + 1 :])),)
    return b.unstack(value, axis=place, count=num) if num else ()


@rows.row("ConcatV2", static=("axis",))
def concat(b: TensorFlowBuilder, values: Any, axis: Any, **_: Any) -> Any:
    arrays = b.arrays(*values)
    return b.concat(*arrays, axis=axis_in(axis, arrays[0].ndim)) if len(arrays) > 1 else arrays[0]


rows.table(
    {"Concat": lambda b, concat_dim, values, **_: concat(b, values, concat_dim)}, static=("concat_dim",)
)


@rows.row("Split", static=("split_dim",))
def split(b: TensorFlowBuilder, split_dim: Any, value: Any, *, num_split: int, **_: Any) -> Any:
    if num_split == 1:
        return (value,)
    axis = axis_in(split_dim, value.ndim)
    size = value.shape[axis]
    b.guard(apply("eq", size % num_split, 0))
    return b.split(value, sizes=(size // num_split,) * num_split, axis=axis)


@rows.row("SplitV", static=("size_splits", "axis"))
def split_v(
    b: TensorFlowBuilder, value: Any, size_splits: Any, axis: Any, *, num_split: int, **_: Any
) -> Any:
    axis, sizes = (
        axis_in(axis, value.ndim),
        list(b.fix_negative(numbers(size_splits, "the sizes of parts"))),
    )
    if -1 in sizes:
        sizes[sizes.index(-1)] = value.shape[axis] - sum(
            size for size in sizes if not (isinstance(size, int) and size == -1)
        )
    return b.split(value, sizes=tuple(sizes), axis=axis) if num_split > 1 else (value,)


@rows.row("PadV2", static=("paddings", "constant_values"))
def pad_v2(b: TensorFlowBuilder, input: Any, paddings: Any, constant_values: Any, **_: Any) -> Any:
    amounts = require_static(paddings, "the padding")
    if not isinstance(constant_values, Value):
        return (
            b.pad(input, padding=amounts, value=b.operand(constant_values, input.dtype))
            if input.ndim
            else input
        )
    shape = tuple(size + low + high for size, (low, high) in zip(input.shape, amounts))
    # TensorFlow defines no gradient for the padding value.
    whole = b.broadcast_to(b.stop_gradient(constant_values), shape=shape)
    return b.setitem(
        whole, input, key=tuple((low, low + size, 1) for size, (low, _) in zip(input.shape, amounts))
    )


rows.table(
    {
        "Pad": lambda b, input, paddings, **_: pad_v2(
            b, input, paddings, False if input.dtype == "bool" else 0
        )
    },
    static=("paddings",),
)


def _mirror(b: TensorFlowBuilder, x: Value, axis: int, low: Any, high: Any, mode: str) -> Any:
    if mode == "REFLECT":
        return b.pad(
            x, padding=tuple((low, high) if i == axis else (0, 0) for i in range(x.ndim)), mode="reflect"
        )
    size = x.shape[axis]
    parts = [
        (b.flip(cut(b, x, axis, None, low), axis=axis), low),
        (x, 1),
        (b.flip(cut(b, x, axis, size - high, None), axis=axis), high),
    ]
    there = [part for part, amount in parts if amount != 0]
    return b.concat(*there, axis=axis) if len(there) > 1 else x


@rows.row("MirrorPad", static=("paddings",))
def mirror_pad(b: TensorFlowBuilder, input: Any, paddings: Any, *, mode: str, **_: Any) -> Any:
    amounts = require_static(paddings, "the padding")
    if mode == "REFLECT":
        return b.pad(input, padding=amounts, mode="reflect") if input.ndim else input
    for axis, (low, high) in enumerate(amounts):
        input = _mirror(b, input, axis, low, high, mode)
    return input


@rows.row("MirrorPadGrad", static=("paddings",))
def mirror_pad_grad(b: TensorFlowBuilder, input: Any, paddings: Any, *, mode: str, **_: Any) -> Any:
    for axis, (low, high) in enumerate(require_static(paddings, "the padding")):
        if low == high == 0:
            continue
        size = input.shape[axis] - low - high
        whole = b.zeros(shape=(*input.shape[:axis], size, *input.shape[axis + 1 :]), dtype=input.dtype)
        places = _mirror(b, b.arange(start=0, stop=size, step=1, dtype="int64"), 0, low, high, mode)
        input = b.scatter_nd(whole, input, places, axes=(axis,), reduce="sum")
    return input


@rows.row("Tile", static=("multiples",))
def tile(b: TensorFlowBuilder, input: Any, multiples: Any, **_: Any) -> Any:
    return b.tile(input, repetitions=numbers(multiples, "the repetitions")) if input.ndim else input


rows.table(
    {"BroadcastTo": lambda b, input, shape, **_: b.broadcast_to(input, shape=numbers(shape, "the shape"))},
    static=("shape",),
)


@rows.row("ReverseV2", static=("axis",))
def reverse_v2(b: TensorFlowBuilder, tensor: Any, axis: Any, **_: Any) -> Any:
    axes = axes_in(axis, tensor.ndim)
    return b.flip(tensor, axis=axes) if axes else tensor


def _constant(b: TensorFlowBuilder, operand: Any) -> Any:
    arrays = (array for value, array in b.graph.constants.values() if value is operand)
    return next((tuple(np.asarray(array).tolist()) for array in arrays), operand)


@rows.row("Reverse", static=("dims",))
def reverse(b: TensorFlowBuilder, tensor: Any, dims: Any, **_: Any) -> Any:
    axes = tuple(
        axis
        for axis, marked in enumerate(require_static(_constant(b, dims), "whether an axis is turned round"))
        if marked
    )
    return b.flip(tensor, axis=axes) if axes else tensor


@rows.row("ReverseSequence")
def reverse_sequence(
    b: TensorFlowBuilder, input: Any, seq_lengths: Any, *, seq_dim: int, batch_dim: int = 0, **_: Any
) -> Any:
    def placed(vector: Value, axis: int) -> Value:
        made: Value = b.reshape(
            vector, shape=tuple(vector.shape[0] if i == axis else 1 for i in range(input.ndim))
        )
        return made

    lengths = placed(b.astype(seq_lengths, dtype="int64"), batch_dim)
    places = placed(b.arange(start=0, stop=input.shape[seq_dim], step=1, dtype="int64"), seq_dim)
    turned = b.where(b.less(places, lengths), b.subtract(b.subtract(lengths, 1), places), places)
    return b.take_along_axis(input, turned, axis=seq_dim)


@rows.row("Roll", static=("shift", "axis"))
def roll(b: TensorFlowBuilder, input: Any, shift: Any, axis: Any, **_: Any) -> Any:
    axes = tuple(place % input.ndim for place in axes_of(axis))
    if isinstance(shift, Value):
        return _roll_by_computed(b, input, b.reshape(shift, shape=(len(axes),)), axes)
    for amount, place in zip(numbers(shift, "the shift"), axes):
        input = b.roll(input, shift=amount, axis=place)
    return input


def _roll_by_computed(b: TensorFlowBuilder, x: Value, shifts: Value, axes: tuple[int, ...]) -> Value:
    for number, axis in enumerate(axes):
        places = b.arange(start=0, stop=x.shape[axis], step=1, dtype=shifts.dtype)
        moved = b.subtract(places, b.getitem(shifts, key=(number,)))
        x = b.take(x, b.remainder(moved, b.array(x.shape[axis], shifts.dtype)), axis=axis)
    return x


# ------------------------------------------------------------------------------------- sizes
rows.table({
    "InvertPermutation": lambda b, x, **_: b.astype(b.argsort(x, axis=0), dtype=x.dtype),
})  # fmt: skip


@rows.row("BroadcastArgs", static=("s0", "s1"))
def broadcast_args(b: TensorFlowBuilder, s0: Any, s1: Any, **_: Any) -> Any:
    first, second = numbers(s0, "the shape"), numbers(s1, "the shape")
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second)
    return b.array(tuple(_broadcast(b, one, two) for one, two in pairs), b.result.dtype)


def _broadcast(b: TensorFlowBuilder, one: Any, two: Any) -> Any:
    if hint_of(one) == hint_of(two):
        b.guard(apply("eq", one, two))
        return one
    b.guard(apply("eq", two if hint_of(two) == 1 else one, 1))
    return one if hint_of(two) == 1 else two


@rows.row("DataFormatVecPermute")
def data_format_vec_permute(
    b: TensorFlowBuilder, x: Any, *, src_format: str = "NHWC", dst_format: str = "NCHW", **_: Any
) -> Any:
    # A shorter vector has entries for the spatial axes only.
    letters = (
        src_format if b.fix(x.shape[0]) == len(src_format) else "".join(c for c in src_format if c in "DHW")
    )
    wanted = dst_format if len(letters) == len(dst_format) else "".join(c for c in dst_format if c in "DHW")
    return b.take(x, b.array(tuple(letters.index(letter) for letter in wanted), "int64"), axis=0)


@rows.row("DataFormatDimMap")
def data_format_dim_map(
    b: TensorFlowBuilder, x: Any, *, src_format: str = "NHWC", dst_format: str = "NCHW", **_: Any
) -> Any:
    places = b.array(tuple(dst_format.index(letter) for letter in src_format), x.dtype)
    return b.take(places, b.remainder(x, b.array(len(src_format), x.dtype)), axis=0)


@rows.row("Fill", static=("dims", "value"), takes_read=True)
def fill(b: TensorFlowBuilder, dims: Any, value: Any, **_: Any) -> Any:
    shape = numbers(fix_numbers(b, dims), "the shape")
    if isinstance(value, Value) or is_read(value):
        return b.broadcast_to(b.array(value, b.result.dtype), shape=shape)
    return b.full(shape=shape, fill_value=b.operand(value, b.result.dtype), dtype=b.result.dtype)


rows.table({
    "ZerosLike": lambda b, x, **_: b.zeros(shape=x.shape, dtype=x.dtype),
    "OnesLike": lambda b, x, **_: b.ones(shape=x.shape, dtype=x.dtype),
})  # fmt: skip


@rows.row("Empty", static=("shape",))
def empty(b: TensorFlowBuilder, shape: Any, *, init: bool = False, **_: Any) -> Any:
    # ``Empty`` may return any elements, and zeros are the same in all targets.
    return b.zeros(shape=numbers(shape, "the shape"), dtype=b.result.dtype)


@rows.row("Range", static=("start", "limit", "delta"))
def range_(b: TensorFlowBuilder, start: Any, limit: Any, delta: Any, **_: Any) -> Any:
    start, limit, delta = (size_of(item, "a bound of a range") for item in (start, limit, delta))
    return b.arange(start=start, stop=limit, step=delta, dtype=b.result.dtype)


@rows.row("LinSpace", static=("start", "stop", "num"))
def linspace(b: TensorFlowBuilder, start: Any, stop: Any, num: Any, **_: Any) -> Any:
    start, stop = (b.stop_gradient(end) if isinstance(end, Value) else end for end in (start, stop))
    return b.linspace(start, stop, num=size_of(num), dtype=b.result.dtype)


@rows.row("OneHot", static=("depth",))
def one_hot(
    b: TensorFlowBuilder, indices: Any, depth: Any, on_value: Any, off_value: Any, *, axis: int = -1, **_: Any
) -> Any:
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
    given = [b.fix(size_of(item, "a number of the sequence")) for item in (dim, num_results, skip)]
    # The points depend on these three numbers only, so they are a constant of the graph.
    points = tf.math.sobol_sample(*given, dtype=b.result.dtype).numpy()
    return b.constant("points", ArraySpec(points.shape, b.result.dtype), points)


def entries(b: TensorFlowBuilder, operand: Any, count: int) -> tuple[Any, ...]:
    """Return the elements of a vector of ``count`` elements as a tuple of numbers, sizes and 0-d arrays."""
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


class _SliceBounds:
    def __init__(
        self, b: TensorFlowBuilder, begin: Any, end: Any, strides: Any, masks: dict[str, Any]
    ) -> None:
        steps = tuple(map(b.fix, numbers(strides, "the step of a slice")))
        count = len(steps)
        self.begin, self.end, self.steps = entries(b, begin, count), entries(b, end, count), steps
        self.masks = {
            name: int(masks.get(f"{name}_mask", 0))
            for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
        }

    def index(self) -> tuple[Any, ...]:
        return tuple(self._item(place) for place in range(len(self.steps)))

    def _item(self, place: int) -> Any:
        if _has(self.masks["ellipsis"], place):
            return Ellipsis
        if _has(self.masks["new_axis"], place):
            return None
        if _has(self.masks["shrink_axis"], place):
            return self.begin[place]
        start = (
            None
            if _has(self.masks["begin"], place)
            else require_static(self.begin[place], "the beginning of a slice")
        )
        stop = (
            None if _has(self.masks["end"], place) else require_static(self.end[place], "the end of a slice")
        )
        return slice(start, stop, self.steps[place])


@rows.row("StridedSlice", static=("begin", "end", "strides"), takes_read=True)
def strided_slice(b: TensorFlowBuilder, input: Any, begin: Any, end: Any, strides: Any, **masks: Any) -> Any:
    return read_index(b, input, as_index(b, input, _SliceBounds(b, begin, end, strides, masks).index()))


@rows.row("StridedSliceGrad", static=("shape", "begin", "end", "strides"))
def strided_slice_grad(
    b: TensorFlowBuilder, shape: Any, begin: Any, end: Any, strides: Any, dy: Any, **masks: Any
) -> Any:
    whole = b.zeros(shape=numbers(shape, "the shape"), dtype=dy.dtype)
    return write_index(b, whole, _SliceBounds(b, begin, end, strides, masks).index(), dy)


@rows.row("TensorStridedSliceUpdate", static=("begin", "end", "strides"))
def tensor_strided_slice_update(
    b: TensorFlowBuilder, input: Any, begin: Any, end: Any, strides: Any, value: Any, **masks: Any
) -> Any:
    return write_index(b, input, _SliceBounds(b, begin, end, strides, masks).index(), value)


@rows.row("Slice", static=("begin", "size"))
def slice_(b: TensorFlowBuilder, input: Any, begin: Any, size: Any, **_: Any) -> Any:
    sizes = b.fix_negative(numbers(size, "the size of a slice"))
    for axis, (start, length) in enumerate(zip(entries(b, begin, input.ndim), sizes)):
        input = _part(b, input, axis, start, length)
    return input


def _part(b: TensorFlowBuilder, x: Value, axis: int, start: Any, length: Any) -> Any:
    rest = isinstance(length, int) and length == -1
    if isinstance(start, Value):
        if rest:
            raise ComputedOperand("a slice from a computed place to the end, whose size depends on elements")
        places = b.arange(start=0, stop=length, step=1, dtype=start.dtype)
        return b.take(x, b.add(places, start), axis=axis)
    if hint_of(start) == 0 and isinstance(start, int) and (rest or length == x.shape[axis]):
        return x
    stop = None if rest else start + length
    return read_index(b, x, (*(slice(None),) * axis, slice(start, stop)))
