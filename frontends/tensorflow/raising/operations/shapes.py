"""Shapes: reshaping, joining, padding, repeating, and the sizes themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....errors import UnsupportedOperation
from .....ir import Value
from .....ops.dtypes import is_complex
from .....sizes import apply, hint_of, product
from ....slicing import cut
from ..table import TensorFlowBuilder, axes_in, axes_of, axis_in, known, numbers, rows


def size_of(operand: Any, what: str = "a size") -> Any:
    """One number or size that has to be known."""
    return numbers(operand, what)[0]


@rows.row("Reshape", static=("shape",))
def reshape(b: TensorFlowBuilder, tensor: Any, shape: Any, **_: Any) -> Any:
    """In row-major order; one size may be -1."""
    sizes = list(numbers(shape, "the shape"))
    free = [place for place, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if free:
        sizes[free[0]] = _rest(b, tensor, sizes, free[0])
    return b.reshape(tensor, shape=tuple(sizes))


def _rest(b: TensorFlowBuilder, x: Value, sizes: list[Any], place: int) -> Any:
    others = product(size for i, size in enumerate(sizes) if i != place)
    if isinstance(others, int) and others == 0:
        return b.result.hints[place]
    return product(x.shape) // others


@rows.row("Transpose", static=("perm",))
def transpose(b: TensorFlowBuilder, x: Any, perm: Any, **_: Any) -> Any:
    """Axes in another order."""
    return b.permute_dims(x, axes=tuple(axis % x.ndim for axis in axes_of(perm, "the order of axes"))) if x.ndim else x


@rows.row("ConjugateTranspose", static=("perm",))
def conjugate_transpose(b: TensorFlowBuilder, x: Any, perm: Any, **_: Any) -> Any:
    """Axes in another order, of the conjugate."""
    return transpose(b, b.conj(x) if is_complex(x.dtype) else x, perm)


@rows.row("ExpandDims", static=("axis",))
def expand_dims(b: TensorFlowBuilder, input: Any, axis: Any, **_: Any) -> Any:
    """With an axis of size 1."""
    place = axes_of(axis)[0] % (input.ndim + 1)
    return b.reshape(input, shape=(*input.shape[:place], 1, *input.shape[place:]))


@rows.row("Squeeze")
def squeeze(b: TensorFlowBuilder, input: Any, *, squeeze_dims: Any = (), **_: Any) -> Any:
    """Without axes of size 1: all that there are while recording, where none are named."""
    named = {axis % input.ndim for axis in squeeze_dims} or {axis for axis, size in enumerate(input.spec.hints) if size == 1}
    for axis, size in enumerate(input.shape):
        if axis in named or not squeeze_dims:
            b.guard(apply("eq" if axis in named else "ne", size, 1))
    return b.reshape(input, shape=tuple(size for axis, size in enumerate(input.shape) if axis not in named))


@rows.row("Pack")
def pack(b: TensorFlowBuilder, values: Any, *, axis: int = 0, **_: Any) -> Any:
    """Side by side along a new axis."""
    arrays = b.arrays(*values)
    return b.stack(*arrays, axis=axis % (arrays[0].ndim + 1))


@rows.row("Unpack")
def unpack(b: TensorFlowBuilder, value: Any, *, num: int, axis: int = 0, **_: Any) -> Any:
    """The slices along an axis."""
    place = axis % value.ndim
    b.guard(apply("eq", value.shape[place], num))
    if num == 1:
        return (b.reshape(value, shape=(*value.shape[:place], *value.shape[place + 1 :])),)
    return b.unstack(value, axis=place, count=num) if num else ()


@rows.row("ConcatV2", static=("axis",))
def concat(b: TensorFlowBuilder, values: Any, axis: Any, **_: Any) -> Any:
    """One after the other."""
    arrays = b.arrays(*values)
    return b.concat(*arrays, axis=axis_in(axis, arrays[0].ndim)) if len(arrays) > 1 else arrays[0]


@rows.row("Concat", static=("concat_dim",))
def concat_first(b: TensorFlowBuilder, concat_dim: Any, values: Any, **_: Any) -> Any:
    """One after the other."""
    return concat(b, values, concat_dim)


@rows.row("Split", static=("split_dim",))
def split(b: TensorFlowBuilder, split_dim: Any, value: Any, *, num_split: int, **_: Any) -> Any:
    """Equal parts."""
    if num_split == 1:
        return (value,)
    axis = axis_in(split_dim, value.ndim)
    size = value.shape[axis]
    b.guard(apply("eq", size % num_split, 0))
    return b.split(value, sizes=(size // num_split,) * num_split, axis=axis)


@rows.row("SplitV", static=("size_splits", "axis"))
def split_v(b: TensorFlowBuilder, value: Any, size_splits: Any, axis: Any, *, num_split: int, **_: Any) -> Any:
    """Parts of these sizes, of which one may be -1."""
    axis, sizes = axis_in(axis, value.ndim), list(numbers(size_splits, "the sizes of parts"))
    if -1 in sizes:
        sizes[sizes.index(-1)] = value.shape[axis] - sum(size for size in sizes if not (isinstance(size, int) and size == -1))
    return b.split(value, sizes=tuple(sizes), axis=axis) if num_split > 1 else (value,)


@rows.row("Pad", static=("paddings",))
def pad(b: TensorFlowBuilder, input: Any, paddings: Any, **_: Any) -> Any:
    """Zeros around."""
    return pad_v2(b, input, paddings, False if input.dtype == "bool" else 0)


@rows.row("PadV2", static=("paddings", "constant_values"))
def pad_v2(b: TensorFlowBuilder, input: Any, paddings: Any, constant_values: Any, **_: Any) -> Any:
    """A number around."""
    amounts = known(paddings, "the padding")
    if not isinstance(constant_values, Value):
        return b.pad(input, padding=amounts, value=b.operand(constant_values, input.dtype)) if input.ndim else input
    shape = tuple(size + low + high for size, (low, high) in zip(input.shape, amounts))
    whole = b.broadcast_to(constant_values, shape=shape)
    return b.setitem(whole, input, key=tuple((low, low + size, 1) for size, (low, _) in zip(input.shape, amounts)))


def _mirrored(b: TensorFlowBuilder, x: Value, axis: int, low: Any, high: Any, mode: str) -> Any:
    """The inside mirrored at both ends of an axis: with its edge (symmetric) or without (reflect)."""
    if mode == "REFLECT":
        return b.pad(x, padding=tuple((low, high) if i == axis else (0, 0) for i in range(x.ndim)), mode="reflect")
    size = x.shape[axis]
    parts = [(b.flip(cut(b, x, axis, None, low), axis=axis), low), (x, 1), (b.flip(cut(b, x, axis, size - high, None), axis=axis), high)]
    there = [part for part, amount in parts if hint_of(amount)]
    return b.concat(*there, axis=axis) if len(there) > 1 else x


@rows.row("MirrorPad", static=("paddings",))
def mirror_pad(b: TensorFlowBuilder, input: Any, paddings: Any, *, mode: str, **_: Any) -> Any:
    """The inside mirrored, with its edge (symmetric) or without (reflect)."""
    amounts = known(paddings, "the padding")
    if mode == "REFLECT":
        return b.pad(input, padding=amounts, mode="reflect") if input.ndim else input
    for axis, (low, high) in enumerate(amounts):
        input = _mirrored(b, input, axis, low, high, mode)
    return input


@rows.row("MirrorPadGrad", static=("paddings",))
def mirror_pad_grad(b: TensorFlowBuilder, input: Any, paddings: Any, *, mode: str, **_: Any) -> Any:
    """What was mirrored is added to where it came from."""
    for axis, (low, high) in enumerate(known(paddings, "the padding")):
        if low == high == 0:
            continue
        size = input.shape[axis] - low - high
        whole = b.zeros(shape=(*input.shape[:axis], size, *input.shape[axis + 1 :]), dtype=input.dtype)
        places = _mirrored(b, b.arange(start=0, stop=size, step=1, dtype="int64"), 0, low, high, mode)
        input = b.scatter_nd(whole, input, places, axes=(axis,), reduce="sum")
    return input


@rows.row("Tile", static=("multiples",))
def tile(b: TensorFlowBuilder, input: Any, multiples: Any, **_: Any) -> Any:
    """Side by side."""
    return b.tile(input, repetitions=numbers(multiples, "the repetitions")) if input.ndim else input


@rows.row("BroadcastTo", static=("shape",))
def broadcast_to(b: TensorFlowBuilder, input: Any, shape: Any, **_: Any) -> Any:
    """Repeated up to a shape."""
    return b.broadcast_to(input, shape=numbers(shape, "the shape"))


@rows.row("ReverseV2", static=("axis",))
def reverse_v2(b: TensorFlowBuilder, tensor: Any, axis: Any, **_: Any) -> Any:
    """In reverse order along axes."""
    axes = axes_in(axis, tensor.ndim)
    return b.flip(tensor, axis=axes) if axes else tensor


@rows.row("Reverse", static=("dims",))
def reverse(b: TensorFlowBuilder, tensor: Any, dims: Any, **_: Any) -> Any:
    """In reverse order along the axes that are marked."""
    axes = tuple(axis for axis, marked in enumerate(known(dims, "the axes")) if marked)
    return b.flip(tensor, axis=axes) if axes else tensor


@rows.row("ReverseSequence")
def reverse_sequence(b: TensorFlowBuilder, input: Any, seq_lengths: Any, *, seq_dim: int, batch_dim: int = 0, **_: Any) -> Any:
    """The first elements of each sequence, as many as it is long, in reverse order."""

    def placed(vector: Value, axis: int) -> Value:
        made: Value = b.reshape(vector, shape=tuple(vector.shape[0] if i == axis else 1 for i in range(input.ndim)))
        return made

    lengths = placed(b.astype(seq_lengths, dtype="int64"), batch_dim)
    places = placed(b.arange(start=0, stop=input.shape[seq_dim], step=1, dtype="int64"), seq_dim)
    turned = b.where(b.less(places, lengths), b.subtract(b.subtract(lengths, 1), places), places)
    return b.take_along_axis(input, turned, axis=seq_dim)


@rows.row("Roll", static=("shift", "axis"))
def roll(b: TensorFlowBuilder, input: Any, shift: Any, axis: Any, **_: Any) -> Any:
    """Elements that leave at the end come in at the beginning."""
    axes = tuple(place % input.ndim for place in axes_of(axis))
    if isinstance(shift, Value):
        return _rolled(b, input, b.reshape(shift, shape=(len(axes),)), axes)
    for amount, place in zip(numbers(shift, "the shift"), axes):
        input = b.roll(input, shift=amount, axis=place)
    return input


def _rolled(b: TensorFlowBuilder, x: Value, shifts: Value, axes: tuple[int, ...]) -> Value:
    """By amounts that are computed."""
    for number, axis in enumerate(axes):
        places = b.arange(start=0, stop=x.shape[axis], step=1, dtype=shifts.dtype)
        moved = b.subtract(places, b.getitem(shifts, key=(number,)))
        x = b.take(x, b.remainder(moved, b.array(x.shape[axis], shifts.dtype)), axis=axis)
    return x


# ------------------------------------------------------------------------------------- sizes
@rows.row("Shape")
def shape_(b: TensorFlowBuilder, input: Any, *, out_type: Any = "int32", **_: Any) -> Any:
    """The sizes of an array."""
    return b.array(tuple(input.shape), out_type)


@rows.row("ShapeN")
def shape_n(b: TensorFlowBuilder, input: Any, *, out_type: Any = "int32", **_: Any) -> Any:
    """The sizes of several arrays."""
    return tuple(b.array(tuple(item.shape), out_type) for item in input)


@rows.row("Size")
def size_(b: TensorFlowBuilder, input: Any, *, out_type: Any = "int32", **_: Any) -> Any:
    """The number of elements."""
    return b.array(product(input.shape), out_type)


@rows.row("Rank")
def rank(b: TensorFlowBuilder, input: Any, **_: Any) -> Any:
    """The number of axes."""
    return b.array(input.ndim, "int32")


@rows.row("BroadcastArgs", static=("s0", "s1"))
def broadcast_args(b: TensorFlowBuilder, s0: Any, s1: Any, **_: Any) -> Any:
    """The shape that two shapes broadcast to."""
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


@rows.row("InvertPermutation")
def invert_permutation(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    """Where each number stands."""
    return b.astype(b.argsort(x, axis=0), dtype=x.dtype)


@rows.row("DataFormatVecPermute")
def data_format_vec_permute(b: TensorFlowBuilder, x: Any, *, src_format: str = "NHWC", dst_format: str = "NCHW", **_: Any) -> Any:
    """The elements of one layout in the order of another one."""
    letters = src_format if hint_of(x.shape[0]) == len(src_format) else "".join(c for c in src_format if c in "DHW")
    wanted = dst_format if len(letters) == len(dst_format) else "".join(c for c in dst_format if c in "DHW")
    return b.take(x, b.array(tuple(letters.index(letter) for letter in wanted), "int64"), axis=0)


@rows.row("DataFormatDimMap")
def data_format_dim_map(b: TensorFlowBuilder, x: Any, *, src_format: str = "NHWC", dst_format: str = "NCHW", **_: Any) -> Any:
    """The number that an axis of one layout has in another one."""
    places = b.array(tuple(dst_format.index(letter) for letter in src_format), x.dtype)
    return b.take(places, b.remainder(x, b.array(len(src_format), x.dtype)), axis=0)


# ------------------------------------------------------------------------------------- space, depth and batch
def _depth(first: str) -> Callable[..., Any]:
    def row(b: TensorFlowBuilder, input: Any, *, block_size: int, data_format: str = "NHWC", **_: Any) -> Any:
        if data_format not in ("NHWC", "NCHW"):
            raise UnsupportedOperation(f"data format {data_format}, which only quantised kernels have")
        x = b.permute_dims(input, axes=(0, 2, 3, 1)) if data_format == "NCHW" else input
        batch, height, width, channels = x.shape
        if first == "space":
            parted = b.reshape(x, shape=(batch, height // block_size, block_size, width // block_size, block_size, channels))
            moved = b.permute_dims(parted, axes=(0, 1, 3, 2, 4, 5))
            found = b.reshape(moved, shape=(batch, height // block_size, width // block_size, channels * block_size**2))
        else:
            inner = channels // block_size**2
            parted = b.reshape(x, shape=(batch, height, width, block_size, block_size, inner))
            moved = b.permute_dims(parted, axes=(0, 1, 3, 2, 4, 5))
            found = b.reshape(moved, shape=(batch, height * block_size, width * block_size, inner))
        return b.permute_dims(found, axes=(0, 3, 1, 2)) if data_format == "NCHW" else found

    return row


rows.row("SpaceToDepth")(_depth("space"))
rows.row("DepthToSpace")(_depth("depth"))


@rows.row("SpaceToBatchND", static=("block_shape", "paddings"))
def space_to_batch_nd(b: TensorFlowBuilder, input: Any, block_shape: Any, paddings: Any, **_: Any) -> Any:
    """Blocks of the axes after the first one, moved to the first one."""
    blocks, amounts = numbers(block_shape, "the block"), known(paddings, "the padding")
    count = len(blocks)
    others = tuple((0, 0) for _ in range(input.ndim - count - 1))
    x = b.pad(input, padding=((0, 0), *amounts, *others), value=False if input.dtype == "bool" else 0)
    batch, space, rest = x.shape[0], x.shape[1 : count + 1], x.shape[count + 1 :]
    parted = b.reshape(x, shape=(batch, *(part for size, block in zip(space, blocks) for part in (size // block, block)), *rest))
    inside, outside = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    moved = b.permute_dims(parted, axes=(*inside, 0, *outside, *range(2 * count + 1, parted.ndim)))
    return b.reshape(moved, shape=(batch * product(blocks), *(size // block for size, block in zip(space, blocks)), *rest))


@rows.row("BatchToSpaceND", static=("block_shape", "crops"))
def batch_to_space_nd(b: TensorFlowBuilder, input: Any, block_shape: Any, crops: Any, **_: Any) -> Any:
    """The inverse of ``SpaceToBatchND``, cut."""
    blocks, amounts = numbers(block_shape, "the block"), known(crops, "the crops")
    count = len(blocks)
    space, rest = input.shape[1 : count + 1], input.shape[count + 1 :]
    batch = input.shape[0] // product(blocks)
    parted = b.reshape(input, shape=(*blocks, batch, *space, *rest))
    order = (count, *(axis for i in range(count) for axis in (count + 1 + i, i)), *range(2 * count + 1, parted.ndim))
    x = b.reshape(b.permute_dims(parted, axes=order), shape=(batch, *(size * block for size, block in zip(space, blocks)), *rest))
    for axis, (low, high) in enumerate(amounts, 1):
        x = cut(b, x, axis, low, x.shape[axis] - high)
    return x


@rows.row("SpaceToBatch", static=("paddings",))
def space_to_batch(b: TensorFlowBuilder, input: Any, paddings: Any, *, block_size: int, **_: Any) -> Any:
    """Square blocks."""
    return space_to_batch_nd(b, input, (block_size, block_size), paddings)


@rows.row("BatchToSpace", static=("crops",))
def batch_to_space(b: TensorFlowBuilder, input: Any, crops: Any, *, block_size: int, **_: Any) -> Any:
    """Square blocks."""
    return batch_to_space_nd(b, input, (block_size, block_size), crops)


# ------------------------------------------------------------------------------------- creation
@rows.row("Fill", static=("dims", "value"))
def fill(b: TensorFlowBuilder, dims: Any, value: Any, **_: Any) -> Any:
    """One number everywhere."""
    shape = numbers(dims, "the shape")
    if isinstance(value, Value):
        return b.broadcast_to(value, shape=shape)
    return b.full(shape=shape, fill_value=b.operand(value, b.result.dtype), dtype=b.result.dtype)


@rows.row("ZerosLike")
def zeros_like(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    """Zeros of this shape."""
    return b.zeros(shape=x.shape, dtype=x.dtype)


@rows.row("OnesLike")
def ones_like(b: TensorFlowBuilder, x: Any, **_: Any) -> Any:
    """Ones of this shape."""
    return b.ones(shape=x.shape, dtype=x.dtype)


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
    """Numbers at equal distances, both ends included."""
    return b.linspace(start, stop, num=size_of(num), dtype=b.result.dtype)


@rows.row("OneHot", static=("depth",))
def one_hot(b: TensorFlowBuilder, indices: Any, depth: Any, on_value: Any, off_value: Any, *, axis: int = -1, **_: Any) -> Any:
    """One value at the place of the index along a new axis, another one elsewhere; indices outside have none."""
    rank, size, dtype = indices.ndim, size_of(depth, "the depth"), b.result.dtype
    place = rank if axis == -1 else axis
    column = b.reshape(indices, shape=(*indices.shape[:place], 1, *indices.shape[place:]))
    numbers_ = b.arange(start=0, stop=size, step=1, dtype=indices.dtype)
    hits = b.equal(column, b.reshape(numbers_, shape=(size, *(1,) * (rank - place))))
    if (on_value, off_value) in ((1, 0), (True, False)) and not isinstance(on_value, Value):
        return b.astype(hits, dtype=dtype)
    return b.where(hits, b.array(on_value, dtype), b.array(off_value, dtype))
