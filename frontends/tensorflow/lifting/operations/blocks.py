"""Blocks of space moved to the depth or the batch, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....errors import UnsupportedOperation
from .....sizes import product
from ....slicing import cut
from ..table import TensorFlowBuilder, known, numbers, rows


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
