"""Joining arrays, and cutting one into several."""

from __future__ import annotations

import itertools
from typing import Any

from ....ir import Value
from ....ops.bounds import at_most
from ....sizes import Size, apply, hint_of, product
from ...slicing import along, cut, pick
from .manipulation import at_least, given, meshgrid, ravel
from .table import TorchBuilder, axis, rows


# ---------------------------------------------------------------------------------------------- joining
@rows.row("cat", "concat", "concatenate")
def cat(b: TorchBuilder, tensors: Any, dim: int = 0) -> Any:
    """torch.cat: empty vectors beside arrays of more axes are left out."""
    arrays = list(b.promote(*tensors))
    rank = max(array.ndim for array in arrays)
    kept = [array for array in arrays if array.ndim == rank or b.fix(array.shape[0]) != 0]
    return b.concat(*kept, axis=axis(dim, rank))


@rows.row("stack")
def stack(b: TorchBuilder, tensors: Any, dim: int = 0) -> Any:
    arrays = b.promote(*tensors)
    return b.stack(*arrays, axis=axis(dim, arrays[0].ndim + 1))


@rows.row("hstack")
def hstack(b: TorchBuilder, tensors: Any) -> Any:
    """torch.hstack: along the second axis, vectors along their only one."""
    arrays = [at_least(b, tensor, 1) for tensor in tensors]
    return cat(b, arrays, 0 if arrays[0].ndim == 1 else 1)


rows.table({
    # along the first axis, vectors as rows
    ("vstack", "row_stack"): lambda b, tensors: cat(b, [at_least(b, tensor, 2) for tensor in tensors], 0),
    "dstack": lambda b, tensors: cat(b, [at_least(b, tensor, 3) for tensor in tensors], 2),  # along the third axis
    # vectors become columns
    "column_stack": lambda b, tensors: cat(b, [b.reshape(x, shape=(product(x.shape), 1)) if x.ndim < 2 else x for x in tensors], 1),
})  # fmt: skip


@rows.row("block_diag")
def block_diag(b: TorchBuilder, *tensors: Any) -> Any:
    """torch.block_diag: the matrices along the diagonal, zeros around them."""
    blocks = [at_least(b, x, 2) for x in b.promote(*(tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors))]
    columns = [block.shape[1] for block in blocks]
    wide = [b.pad(block, padding=((0, 0), (sum(columns[:i]), sum(columns[i + 1 :])))) for i, block in enumerate(blocks)]
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
    """torch.combinations; how many there are fixes the size."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = tuple(choose(range(b.fix(input.shape[0])), r))
    if not chosen or r == 0:
        return b.full(shape=(0, r) if r else (0,), fill_value=0, dtype=input.dtype)
    return b.take(input, b.asarray(data=chosen, dtype="int64"), axis=0)


# ---------------------------------------------------------------------------------------------- cutting
def parted(b: TorchBuilder, x: Any, sizes: list[Any], place: int) -> tuple[Any, ...]:
    """``x`` in parts of these sizes."""
    return tuple(b.split(x, sizes=tuple(sizes), axis=place)) if len(sizes) > 1 else (x,) * len(sizes)


def equal_parts(b: TorchBuilder, size: Any, part: Any, count: int) -> list[Any]:
    """The sizes of ``count`` parts of ``part`` elements, the last of which may be shorter; their number is guarded."""
    last = size - part * (count - 1)
    if isinstance(last, Size) and isinstance(size % part, Size):
        if hint_of(last) == hint_of(part):
            b.guard(apply("eq", last, part))
            last = part
        else:
            if count > 1:  # of nothing there is one part as well
                b.guard(apply("gt", last, 0))
            if not at_most(last, part):
                b.guard(apply("le", last, part))
    return [*[part] * (count - 1), last]


@rows.row("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes", "split_with_sizes_copy", "split_copy")
def split(
    b: TorchBuilder, tensor: Any, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None, split_sizes: Any = None
) -> Any:
    """torch.split: parts of one size, or of given sizes."""
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
    """torch.chunk: at most ``chunks`` parts of one size, the last one perhaps shorter."""
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
    b: TorchBuilder, input: Any, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> Any:
    """torch.tensor_split: so many parts of as equal size as can be, or cut at these indices."""
    where = next(w for w in (indices_or_sections, indices, sections) if w is not None)
    place = axis(dim, input.ndim)
    size = input.shape[place]
    if isinstance(where, (tuple, list)):
        bounds = [None, *where, None]
        return tuple(cut(b, input, place, start, stop) for start, stop in itertools.pairwise(bounds))
    return parted(b, input, [(size + where - 1 - i) // where for i in range(where)], place)


def evenly(b: TorchBuilder, x: Any, where: Any, place: int) -> tuple[Any, ...]:
    """``x`` in so many parts of one size, or cut at these indices."""
    if isinstance(where, (tuple, list, Value)):
        return tensor_split(b, x, where, place)
    b.guard(apply("eq", x.shape[place] % where, 0))
    return parted(b, x, [x.shape[place] // where] * where, place)


rows.table({
    # along the second axis, of a vector along its only one
    "hsplit": lambda b, input, indices_or_sections: evenly(b, input, indices_or_sections, 0 if input.ndim == 1 else 1),
    "vsplit": lambda b, input, indices_or_sections: evenly(b, input, indices_or_sections, 0),  # along the first axis
    "dsplit": lambda b, input, indices_or_sections: evenly(b, input, indices_or_sections, 2),  # along the third axis
})  # fmt: skip


@rows.row("unbind", "unbind_copy")
def unbind(b: TorchBuilder, input: Any, dim: int = 0) -> Any:
    """torch.unbind; how many arrays there are fixes the size."""
    place = axis(dim, input.ndim)
    count = b.fix(input.shape[place])
    if count < 2:
        return tuple(b.getitem(input, key=along(place, i)) for i in range(count))
    return tuple(b.unstack(input, axis=place, count=count))


# ---------------------------------------------------------------------------------------------- one part
rows.table({
    ("select", "select_copy"): lambda b, input, dim, index: pick(b, input, axis(dim, input.ndim), index),
    # aten.slice: ``input[start:end:step]`` along one axis
    ("slice", "slice_copy"): lambda b, input, dim=0, start=None, end=None, step=1: cut(b, input, axis(dim, input.ndim), start, end, step),
})  # fmt: skip


@rows.row("narrow", "narrow_copy")
def narrow(b: TorchBuilder, input: Any, dim: int, start: Any, length: Any) -> Any:
    """torch.narrow; ``start`` may be an array."""
    place = axis(dim, input.ndim)
    if isinstance(start, Value):
        steps = b.arange(start=0, stop=length, step=1, dtype=start.dtype)
        return b.take(input, b.add(steps, b.reshape(start, shape=())), axis=place)
    first = start + input.shape[place] if isinstance(start, int) and start < 0 else start
    return cut(b, input, place, first, first + length)
