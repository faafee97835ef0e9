"""Diagonals, and writes into parts that are named by sizes instead of index arrays."""

from __future__ import annotations

from typing import Any

from ....ops.bounds import length
from ...indexing import write_key
from ...slicing import along, index_inside, slice_inside
from ...views import write_through
from .demands import assume
from .manipulation import ravel
from .table import TorchBuilder, axis, rows


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
    """torch.diag: the diagonal of a matrix, or the matrix of a diagonal."""
    if input.ndim == 2:
        return b.diagonal(input, offset=diagonal, axis1=0, axis2=1)
    return b.diag_embed(ravel(b, input), offset=diagonal, axis1=0, axis2=1)


# ---------------------------------------------------------------------------------------------- writes
def _same_sizes(b: TorchBuilder, src: Any, shape: tuple[Any, ...]) -> None:
    """What is written is not broadcast."""
    for size, wanted in zip(src.shape, shape, strict=True):
        assume(b, "eq", size, wanted)


@rows.row("select_scatter")
def select_scatter(b: TorchBuilder, input: Any, src: Any, dim: int, index: Any) -> Any:
    place = axis(dim, input.ndim)
    _same_sizes(b, src, (*input.shape[:place], *input.shape[place + 1 :]))
    return write_key(b, input, along(place, index_inside(b, index, input.shape[place])), b.operand(src, input.dtype))


@rows.row("slice_scatter")
def slice_scatter(b: TorchBuilder, input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    place = axis(dim, input.ndim)
    item = slice_inside(b, start, end, step, input.shape[place])
    count = length(*item, input.shape[place])
    _same_sizes(b, src, (*input.shape[:place], count, *input.shape[place + 1 :]))
    return write_key(b, input, along(place, item), b.operand(src, input.dtype))


@rows.row("diagonal_scatter")
def diagonal_scatter(b: TorchBuilder, input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    _same_sizes(b, src, diagonal(b, input, offset, dim1, dim2).shape)
    return write_through(b, input, lambda array: diagonal(b, array, offset, dim1, dim2), b.operand(src, input.dtype))


@rows.row("as_strided_scatter")
def as_strided_scatter(b: TorchBuilder, input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    strided = rows.get("as_strided")
    assert strided is not None
    return write_through(b, input, lambda array: strided(b, array, size, stride, storage_offset), b.operand(src, input.dtype))
