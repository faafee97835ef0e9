"""Shapes: views, permutations, broadcasting, concatenation, splitting, writes to parts; window functions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch

from ....ir import Value
from ....ops.rules import at_most, broadcast, length, nonnegative
from ....sizes import Size, apply, hint_of, product
from ...common.indexing import along, cut, index_inside, pick, slice_inside, write_key
from ...common.views import write_through
from ..basics.tensors import dtype_name
from .table import TorchBuilder, assume, axis, rows


def given(items: tuple[Any, ...], named: Any = None) -> tuple[Any, ...]:
    """Return the sizes or axes of a call, which are single arguments or one sequence, as a tuple."""
    if named is not None:
        items = (named,)
    if len(items) == 1 and isinstance(items[0], (tuple, list)):
        items = tuple(items[0])
    return tuple(item if isinstance(item, Size) else int(item) for item in items)


def whole_shape(shape: tuple[Any, ...], total: Any) -> tuple[Any, ...]:
    """Return ``shape`` with -1 replaced by the size for which there are ``total`` elements."""
    if not any(isinstance(dim, int) and dim == -1 for dim in shape):
        return shape
    place = shape.index(-1)
    rest = product(dim for i, dim in enumerate(shape) if i != place)
    return (*shape[:place], total // rest if hint_of(rest) else 0, *shape[place + 1 :])


def reshaped(b: TorchBuilder, x: Any, shape: tuple[Any, ...]) -> Any:
    shape = b.fix_negative(shape)
    if -1 not in shape:
        # A shape without -1 may fit only the recorded sizes.
        b.guard(apply("eq", product(shape), product(x.shape)))
    return b.reshape(x, shape=whole_shape(shape, product(x.shape)))


# ---------------------------------------------------------------------------------------------- reshape
@rows.row("view", "_unsafe_view", "view_copy", "_reshape_alias", "_reshape_copy")
def view(
    b: TorchBuilder, input: Any, *sizes: Any, size: Any = None, shape: Any = None, dtype: Any = None
) -> Any:
    if sizes and isinstance(sizes[0], torch.dtype):
        dtype = sizes[0]
    if dtype is not None:
        return b.bitcast(input, dtype=_name(dtype)) if _name(dtype) != input.dtype else input
    return reshaped(b, input, given(sizes, size if size is not None else shape))


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


rows.table({
    "reshape": lambda b, input, *sizes, shape=None: reshaped(b, input, given(sizes, shape)),
    ("view_as", "reshape_as"): lambda b, input, other: reshaped(b, input, other.shape),
    "atleast_1d": lambda b, *tensors: _each_at_least(b, tensors, 1),
    "atleast_2d": lambda b, *tensors: _each_at_least(b, tensors, 2),
    "atleast_3d": lambda b, *tensors: _each_at_least(b, tensors, 3),
})  # fmt: skip


@rows.row("flatten")
def flatten(b: TorchBuilder, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    if input.ndim == 0:
        return b.reshape(input, shape=(1,))
    start, end = axis(start_dim, input.ndim), axis(end_dim, input.ndim)
    return b.reshape(
        input, shape=(*input.shape[:start], product(input.shape[start : end + 1]), *input.shape[end + 1 :])
    )


@rows.row("ravel")
def ravel(b: TorchBuilder, input: Any) -> Any:
    return b.reshape(input, shape=(product(input.shape),))


@rows.row("unflatten")
def unflatten(b: TorchBuilder, input: Any, dim: int, sizes: Any) -> Any:
    place = axis(dim, input.ndim)
    parts = whole_shape(b.fix_negative(given(tuple(sizes))), input.shape[place])
    b.guard(apply("eq", input.shape[place], product(parts)))
    return b.reshape(input, shape=(*input.shape[:place], *parts, *input.shape[place + 1 :]))


@rows.row("unsqueeze", "unsqueeze_copy")
def unsqueeze(b: TorchBuilder, input: Any, dim: int) -> Any:
    place = axis(dim, input.ndim + 1)
    return b.reshape(input, shape=(*input.shape[:place], 1, *input.shape[place:]))


@rows.row("squeeze", "squeeze_copy")
def squeeze(b: TorchBuilder, input: Any, dim: Any = None) -> Any:
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    chosen = {axis(d, input.ndim) for d in dims}
    return b.reshape(
        input,
        shape=tuple(size for i, size in enumerate(input.shape) if not (i in chosen and is_one(b, size))),
    )


def is_one(b: TorchBuilder, size: Any) -> bool:
    """Return True if ``size`` was 1 while recording, and guard that this does not change."""
    if hint_of(size) == 1:
        return b.fix(size) == 1
    if isinstance(size, Size) and not nonnegative(size - 2):
        b.guard(apply("ne", size, 1))
    return False


def _each_at_least(b: TorchBuilder, tensors: tuple[Any, ...], rank: int) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Value):
        return at_least(b, tensors[0], rank)
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    return tuple(at_least(b, tensor, rank) for tensor in several)


def at_least(b: TorchBuilder, x: Any, rank: int) -> Any:
    shape: tuple[Any, ...] = x.shape
    if len(shape) < min(rank, 2):
        shape = (1,) * (min(rank, 2) - len(shape)) + shape
    return b.reshape(x, shape=(*shape, 1) if len(shape) < rank else shape)


# ---------------------------------------------------------------------------------------------- order of axes
rows.table({
    ("permute", "permute_copy"): lambda b, input, *axes, dims=None: b.permute_dims(
        input, axes=tuple(axis(d, input.ndim) for d in given(axes, dims))
    ),
    # ``T`` and ``numpy_T`` reverse the axes of arrays of any rank.
    ("t", "t_copy", "T", "numpy_T"): lambda b, input:
        b.permute_dims(input, axes=tuple(reversed(range(input.ndim)))),
    ("movedim", "moveaxis"): lambda b, input, source, destination: b.permute_dims(
        input, axes=moved_axes(input.ndim, _tuple(source), _tuple(destination))
    ),
})  # fmt: skip


@rows.row("transpose", "transpose_copy")
def transpose(b: TorchBuilder, input: Any, dim0: int, dim1: int) -> Any:
    order = list(range(input.ndim))
    if order:
        first, second = axis(dim0, input.ndim), axis(dim1, input.ndim)
        order[first], order[second] = order[second], order[first]
    return b.permute_dims(input, axes=tuple(order))


@rows.row("swapaxes")
def swapaxes(b: TorchBuilder, input: Any, axis0: int, axis1: int) -> Any:
    return transpose(b, input, axis0, axis1)


@rows.row("swapdims")
def swapdims(b: TorchBuilder, input: Any, dim0: int, dim1: int) -> Any:
    return transpose(b, input, dim0, dim1)


@rows.row("mT", "matrix_T")
def matrix_transpose(b: TorchBuilder, input: Any) -> Any:
    return transpose(b, input, -2, -1)


@rows.row("mH", "H", "adjoint", "matrix_H")
def adjoint(b: TorchBuilder, input: Any) -> Any:
    swapped = transpose(b, input, -2, -1)
    return b.conj(swapped) if "complex" in input.dtype else swapped


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def moved_axes(rank: int, source: tuple[int, ...], destination: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that moves the axes ``source`` to ``destination``.

    >>> moved_axes(4, (0,), (-1,))
    (1, 2, 3, 0)
    """
    sources = [axis(s, rank) for s in source]
    order = [i for i in range(rank) if i not in sources]
    for place, moved in sorted(zip((axis(d, rank) for d in destination), sources, strict=False)):
        order.insert(place, moved)
    return tuple(order)


# ---------------------------------------------------------------------------------------------- broadcasting
@rows.row("expand", "expand_copy", "broadcast_to")
def expand(b: TorchBuilder, input: Any, *sizes: Any, size: Any = None, implicit: bool = False) -> Any:
    wanted = b.fix_negative(given(sizes, size))
    have = (None,) * (len(wanted) - input.ndim) + input.shape
    return b.broadcast_to(
        input,
        shape=tuple(h if isinstance(w, int) and w == -1 else w for h, w in zip(have, wanted, strict=False)),
    )


rows.table({
    "expand_as": lambda b, input, other: b.broadcast_to(input, shape=other.shape),
    "broadcast_tensors": lambda b, *tensors:
        broadcast_all(b, *(tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors)),
})  # fmt: skip


def broadcast_all(b: TorchBuilder, *arrays: Any) -> tuple[Any, ...]:
    shape = common_shape(b, *(array.shape for array in arrays))
    return tuple(b.broadcast_to(array, shape=shape) for array in arrays)


def common_shape(b: TorchBuilder, *shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    shape = broadcast(*shapes)
    return tuple(_common(b, dim, axis - len(shape), shapes) for axis, dim in enumerate(shape))


def _common(b: TorchBuilder, dim: Any, place: int, shapes: tuple[Any, ...]) -> Any:
    if isinstance(dim, (int, Size)):
        return dim
    met = [shape[place] for shape in shapes if len(shape) >= -place]
    large = next((size for size in met if hint_of(size) == dim.hint), dim.hint)
    for size in met:
        if hint_of(size) == dim.hint and size != large:
            b.guard(apply("eq", size, large))
        elif hint_of(size) == 1:
            b.fix(size)
    return large


@rows.row("meshgrid")
def meshgrid(b: TorchBuilder, *tensors: Any, indexing: str | None = None) -> Any:
    vectors = [
        b.reshape(x, shape=(product(x.shape),))
        for x in (tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors)
    ]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = 1, 0
    shape = tuple(vectors[places.index(i)].shape[0] for i in range(len(vectors)))
    spread = (
        (1,) * place + x.shape + (1,) * (len(vectors) - place - 1)
        for place, x in zip(places, vectors, strict=False)
    )
    return tuple(
        b.broadcast_to(b.reshape(x, shape=dims), shape=shape)
        for x, dims in zip(vectors, spread, strict=False)
    )


# --------------------------------------------------------------------------- repetition and order of elements
rows.table({
    "repeat": lambda b, input, *sizes, repeats=None: b.tile(input, repetitions=given(sizes, repeats)),
    "fliplr": lambda b, input: b.flip(input, axis=1),
    "flipud": lambda b, input: b.flip(input, axis=0),
})  # fmt: skip


@rows.row("tile")
def tile(b: TorchBuilder, input: Any, *sizes: Any, dims: Any = None) -> Any:
    counts = given(sizes, dims)
    return b.tile(input, repetitions=(1,) * (input.ndim - len(counts)) + counts)


@rows.row("repeat_interleave")
def repeat_interleave(
    b: TorchBuilder, input: Any, repeats: Any = None, dim: int | None = None, *, output_size: Any = None
) -> Any:
    if repeats is None:
        repeats, input = input, b.arange(start=0, stop=input.shape[0], step=1, dtype=input.dtype)
    if dim is None or input.ndim == 0:
        input, dim = ravel(b, input), 0
    place = axis(dim, input.ndim)
    if not isinstance(repeats, Value):
        return b.repeat(input, repeats, axis=place)
    if repeats.ndim == 0 or hint_of(repeats.shape[0]) == 1 != hint_of(input.shape[place]):
        repeats = b.broadcast_to(b.reshape(repeats, shape=(1,)), shape=(input.shape[place],))
    hint = b.recorded[0].hints[place] if b.recorded else 0
    return b.repeat(input, repeats, axis=place, total=output_size, hint=hint)


@rows.row("roll")
def roll(b: TorchBuilder, input: Any, shifts: Any, dims: Any = None) -> Any:
    moves = _tuple(shifts)
    if dims is None or dims in ((), []):
        return b.reshape(b.roll(ravel(b, input), shift=moves[0], axis=0), shape=input.shape)
    if input.ndim == 0:
        return input
    places = tuple(axis(d, input.ndim) for d in _tuple(dims))
    return (
        b.roll(input, shift=moves[0], axis=places[0])
        if len(places) == 1
        else b.roll(input, shift=moves, axis=places)
    )


@rows.row("flip")
def flip(b: TorchBuilder, input: Any, *axes: Any, dims: Any = None) -> Any:
    if input.ndim == 0:
        return input
    places = tuple(sorted(axis(d, input.ndim) for d in given(axes, dims)))
    return b.flip(input, axis=places[0] if len(places) == 1 else places)


@rows.row("rot90")
def rot90(b: TorchBuilder, input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    first, second = (axis(d, input.ndim) for d in dims)
    k = b.fix(k)
    if k % 4 == 2:
        return b.flip(input, axis=tuple(sorted((first, second))))
    if k % 4 == 1:
        return transpose(b, b.flip(input, axis=second), first, second)
    return b.flip(transpose(b, input, first, second), axis=second) if k % 4 else input


@rows.row("unfold", "unfold_copy")
def unfold(b: TorchBuilder, input: Any, dimension: int, size: Any, step: Any) -> Any:
    return b.sliding_window(input, axis=axis(dimension, input.ndim), size=size, step=step)


@rows.row("as_strided", "as_strided_copy")
def as_strided(b: TorchBuilder, input: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    # The capture passes an ``input`` that fills its storage where it can.
    sizes, steps, offset = given((size,)), given((stride,)), storage_offset or 0
    if 0 not in map(hint_of, sizes):
        b.guard(
            apply(
                "lt",
                offset + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True)),
                product(input.shape),
            )
        )
    return b.as_strided(input, shape=sizes, strides=steps, offset=offset)


# ---------------------------------------------------------------------------------------------- joining
@rows.row("cat", "concat", "concatenate")
def cat(b: TorchBuilder, tensors: Any, dim: int = 0) -> Any:
    arrays = list(b.promote(*tensors))
    rank = max(array.ndim for array in arrays)
    # torch skips empty vectors if another array has more axes.
    kept = [array for array in arrays if array.ndim == rank or b.fix(array.shape[0]) != 0]
    return b.concat(*kept, axis=axis(dim, rank))


@rows.row("stack")
def stack(b: TorchBuilder, tensors: Any, dim: int = 0) -> Any:
    arrays = b.promote(*tensors)
    return b.stack(*arrays, axis=axis(dim, arrays[0].ndim + 1))


@rows.row("hstack")
def hstack(b: TorchBuilder, tensors: Any) -> Any:
    arrays = [at_least(b, tensor, 1) for tensor in tensors]
    return cat(b, arrays, 0 if arrays[0].ndim == 1 else 1)


rows.table({
    # Vectors become rows.
    ("vstack", "row_stack"): lambda b, tensors: cat(b, [at_least(b, tensor, 2) for tensor in tensors], 0),
    "dstack": lambda b, tensors:
        cat(b, [at_least(b, tensor, 3) for tensor in tensors], 2),
    # Vectors become columns.
    "column_stack": lambda b, tensors:
        cat(b, [b.reshape(x, shape=(product(x.shape), 1)) if x.ndim < 2 else x for x in tensors], 1),
})  # fmt: skip


@rows.row("block_diag")
def block_diag(b: TorchBuilder, *tensors: Any) -> Any:
    blocks = [
        at_least(b, x, 2)
        for x in b.promote(*(tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors))
    ]
    columns = [block.shape[1] for block in blocks]
    wide = [
        b.pad(block, padding=((0, 0), (sum(columns[:i]), sum(columns[i + 1 :]))))
        for i, block in enumerate(blocks)
    ]
    return b.concat(*wide, axis=0)


@rows.row("cartesian_prod")
def cartesian_prod(b: TorchBuilder, *tensors: Any) -> Any:
    vectors = tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors
    if len(vectors) == 1:
        return vectors[0]
    grids = meshgrid(b, *b.promote(*vectors), indexing="ij")
    return b.stack(*(ravel(b, grid) for grid in grids), axis=1)


@rows.row("combinations")
def combinations(b: TorchBuilder, input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = tuple(choose(range(b.fix(input.shape[0])), r))
    if not chosen or r == 0:
        return b.full(shape=(0, r) if r else (0,), fill_value=0, dtype=input.dtype)
    return b.take(input, b.asarray(data=chosen, dtype="int64"), axis=0)


# ---------------------------------------------------------------------------------------------- cutting
def parted(b: TorchBuilder, x: Any, sizes: list[Any], place: int) -> tuple[Any, ...]:
    return tuple(b.split(x, sizes=tuple(sizes), axis=place)) if len(sizes) > 1 else (x,) * len(sizes)


def equal_parts(b: TorchBuilder, size: Any, part: Any, count: int) -> list[Any]:
    """Return the sizes of ``count`` parts of an axis of ``size``: ``part``, and the rest for the last one."""
    last = size - part * (count - 1)
    if isinstance(last, Size) and isinstance(size % part, Size):
        if hint_of(last) == hint_of(part):
            b.guard(apply("eq", last, part))
            last = part
        else:
            # An empty axis has one part as well.
            if count > 1:
                b.guard(apply("gt", last, 0))
            if not at_most(last, part):
                b.guard(apply("le", last, part))
    return [*[part] * (count - 1), last]


@rows.row(
    "split",
    "unsafe_split",
    "split_with_sizes",
    "unsafe_split_with_sizes",
    "split_with_sizes_copy",
    "split_copy",
)
def split(
    b: TorchBuilder,
    tensor: Any,
    split_size_or_sections: Any = None,
    dim: int = 0,
    *,
    split_size: Any = None,
    split_sizes: Any = None,
) -> Any:
    sections = next(s for s in (split_size_or_sections, split_size, split_sizes) if s is not None)
    place = axis(dim, tensor.ndim)
    size = tensor.shape[place]
    if isinstance(sections, (tuple, list)):
        parts = list(given((sections,)))
        b.guard(apply("eq", size, sum(parts)))
        return parted(b, tensor, parts, place)
    count = max(-(-hint_of(size) // hint_of(sections)), 1) if hint_of(sections) else 1
    return parted(b, tensor, equal_parts(b, size, sections, count), place)


@rows.row("chunk", "unsafe_chunk")
def chunk(b: TorchBuilder, input: Any, chunks: int, dim: int = 0) -> Any:
    place = axis(dim, input.ndim)
    size = input.shape[place]
    if hint_of(size) == 0:
        b.fix(size)
        return (input,) * chunks
    if hint_of(size) % chunks == 0:
        return evenly(b, input, chunks, place)
    part = (size + chunks - 1) // chunks
    return parted(b, input, equal_parts(b, size, part, -(-hint_of(size) // hint_of(part))), place)


@rows.row("tensor_split")
def tensor_split(
    b: TorchBuilder,
    input: Any,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: Any = None,
) -> Any:
    where = next(w for w in (indices_or_sections, indices, sections) if w is not None)
    place = axis(dim, input.ndim)
    size = input.shape[place]
    if isinstance(where, (tuple, list)):
        bounds = [None, *where, None]
        return tuple(cut(b, input, place, start, stop) for start, stop in itertools.pairwise(bounds))
    return parted(b, input, [(size + where - 1 - i) // where for i in range(where)], place)


def evenly(b: TorchBuilder, x: Any, where: Any, place: int) -> tuple[Any, ...]:
    if isinstance(where, (tuple, list, Value)):
        return tensor_split(b, x, where, place)
    b.guard(apply("eq", x.shape[place] % where, 0))
    return parted(b, x, [x.shape[place] // where] * where, place)


rows.table({
    # A vector is split along its only axis.
    "hsplit": lambda b, input, indices_or_sections:
        evenly(b, input, indices_or_sections, 0 if input.ndim == 1 else 1),
    "vsplit": lambda b, input, indices_or_sections:
        evenly(b, input, indices_or_sections, 0),
    "dsplit": lambda b, input, indices_or_sections:
        evenly(b, input, indices_or_sections, 2),
})  # fmt: skip


@rows.row("unbind", "unbind_copy")
def unbind(b: TorchBuilder, input: Any, dim: int = 0) -> Any:
    place = axis(dim, input.ndim)
    count = b.fix(input.shape[place])
    if count < 2:
        return tuple(b.getitem(input, key=along(place, i)) for i in range(count))
    return tuple(b.unstack(input, axis=place, count=count))


# ---------------------------------------------------------------------------------------------- slices
rows.table({
    ("select", "select_copy"): lambda b, input, dim, index: pick(b, input, axis(dim, input.ndim), index),
    # ``aten.slice`` is ``input[start:end:step]`` along one axis.
    ("slice", "slice_copy"): lambda b, input, dim=0, start=None, end=None, step=1:
        cut(b, input, axis(dim, input.ndim), start, end, step),
})  # fmt: skip


@rows.row("narrow", "narrow_copy")
def narrow(b: TorchBuilder, input: Any, dim: int, start: Any, length: Any) -> Any:
    place = axis(dim, input.ndim)
    if isinstance(start, Value):
        # A slice cannot begin at an array, so the elements are looked up.
        steps = b.arange(start=0, stop=length, step=1, dtype=start.dtype)
        return b.take(input, b.add(steps, b.reshape(start, shape=())), axis=place)
    (start,) = b.fix_negative((start,))
    first = start + input.shape[place] if isinstance(start, int) and start < 0 else start
    return cut(b, input, place, first, first + length)


@rows.row("diagonal", "diagonal_copy")
def diagonal(b: TorchBuilder, input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return b.diagonal(input, offset=offset, axis1=axis(dim1, input.ndim), axis2=axis(dim2, input.ndim))


rows.table({
    "linalg_diagonal": lambda b, A, *, offset=0, dim1=-2, dim2=-1: diagonal(b, A, offset, dim1, dim2),
    "diag_embed": lambda b, input, offset=0, dim1=-2, dim2=-1: b.diag_embed(
        input, offset=offset, axis1=axis(dim1, input.ndim + 1), axis2=axis(dim2, input.ndim + 1)
    ),
    "diagflat": lambda b, input, offset=0: b.diag_embed(ravel(b, input), offset=offset, axis1=0, axis2=1),
})  # fmt: skip


@rows.row("diag")
def diag(b: TorchBuilder, input: Any, diagonal: int = 0) -> Any:
    if input.ndim == 2:
        return b.diagonal(input, offset=diagonal, axis1=0, axis2=1)
    return b.diag_embed(ravel(b, input), offset=diagonal, axis1=0, axis2=1)


# ---------------------------------------------------------------------------------------------- writes
def _same_sizes(b: TorchBuilder, src: Any, shape: tuple[Any, ...]) -> None:
    for size, wanted in zip(src.shape, shape, strict=True):
        assume(b, "eq", size, wanted)


@rows.row("select_scatter")
def select_scatter(b: TorchBuilder, input: Any, src: Any, dim: int, index: Any) -> Any:
    place = axis(dim, input.ndim)
    _same_sizes(b, src, (*input.shape[:place], *input.shape[place + 1 :]))
    return write_key(
        b, input, along(place, index_inside(b, index, input.shape[place])), b.operand(src, input.dtype)
    )


@rows.row("slice_scatter")
def slice_scatter(
    b: TorchBuilder, input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Any:
    place = axis(dim, input.ndim)
    item = slice_inside(b, start, end, step, input.shape[place])
    count = length(*item, input.shape[place])
    _same_sizes(b, src, (*input.shape[:place], count, *input.shape[place + 1 :]))
    return write_key(b, input, along(place, item), b.operand(src, input.dtype))


@rows.row("diagonal_scatter")
def diagonal_scatter(
    b: TorchBuilder, input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    _same_sizes(b, src, diagonal(b, input, offset, dim1, dim2).shape)
    return write_through(
        b, input, lambda array: diagonal(b, array, offset, dim1, dim2), b.operand(src, input.dtype)
    )


@rows.row("as_strided_scatter")
def as_strided_scatter(
    b: TorchBuilder, input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None
) -> Any:
    strided = rows.get("as_strided")
    assert strided is not None
    return write_through(
        b, input, lambda array: strided(b, array, size, stride, storage_offset), b.operand(src, input.dtype)
    )


def _cosines(b: TorchBuilder, length: Any, periodic: bool, dtype: Any, *weights: float) -> Any:
    """Return a window that is a sum of cosines with ``weights``, or ones for a ``length`` below 2."""
    name = dtype_name(dtype)
    if _is_short(b, length):
        return b.ones(shape=(length,), dtype=name)
    counted = b.arange(stop=length, dtype=name)
    total: Any = weights[0]
    for order, weight in enumerate(weights[1:], 1):
        angle = b.multiply(counted, 2 * math.pi * order / _period(length, periodic))
        total = b.add(b.multiply(b.cos(angle), weight), total)
    return total


def _is_short(b: TorchBuilder, length: Any) -> bool:
    short = bool(hint_of(length) < 2)
    b.guard(apply("lt" if short else "ge", length, 2))
    return short


def _period(length: Any, periodic: bool) -> Any:
    return length if periodic else length - 1


rows.table({
    "hann_window": lambda b, window_length, periodic=True, *, dtype=None, **_options: _cosines(
        b, window_length, periodic, dtype, 0.5, -0.5
    ),
    "hamming_window":
        lambda b, window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, **_options:
        _cosines(
        b, window_length, periodic, dtype, alpha, -beta
    ),
    "blackman_window": lambda b, window_length, periodic=True, *, dtype=None, **_options: _cosines(
        b, window_length, periodic, dtype, 0.42, -0.5, 0.08
    ),
})  # fmt: skip


@rows.row("bartlett_window")
def bartlett_window(
    b: TorchBuilder, window_length: Any, periodic: bool = True, *, dtype: Any = None, **_options: Any
) -> Any:
    if _is_short(b, window_length):
        return b.ones(shape=(window_length,), dtype=dtype_name(dtype))
    counted = b.arange(stop=window_length, dtype=dtype_name(dtype))
    return b.subtract(1.0, b.abs(b.subtract(b.multiply(counted, 2 / _period(window_length, periodic)), 1.0)))


@rows.row("kaiser_window")
def kaiser_window(
    b: TorchBuilder,
    window_length: Any,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    **_options: Any,
) -> Any:
    name = dtype_name(dtype)
    if _is_short(b, window_length):
        return b.ones(shape=(window_length,), dtype=name)
    place = b.subtract(
        b.multiply(b.arange(stop=window_length, dtype=name), 2 / _period(window_length, periodic)), 1.0
    )
    inside = b.clip(b.subtract(1.0, b.square(place)), 0.0)
    return b.divide(b.i0(b.multiply(b.sqrt(inside), beta)), b.i0(b.array(float(beta), name)))
