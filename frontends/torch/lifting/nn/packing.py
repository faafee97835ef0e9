"""Packed sequences of torch: the rows of all sequences that reach step 0, then of those that reach step 1, and so on.

``batch_sizes`` [steps] says how many sequences reach each step; sequences are ordered by falling length.
"""

from __future__ import annotations

from typing import Any

from .....ir import Guard
from ..table import TorchBuilder, rows


def unpack(b: TorchBuilder, data: Any, batch_sizes: Any, batch: Any) -> tuple[Any, Any]:
    """(rows as [time, batch, ...], any rows beyond the end of a sequence; length of each sequence)."""
    steps, kind = batch_sizes.shape[0], batch_sizes.dtype
    sizes = b.reshape(batch_sizes, shape=(steps, 1))
    member = b.reshape(b.arange(stop=batch, dtype=kind), shape=(1, batch))
    starts = b.subtract(b.reshape(b.cumulative_sum(batch_sizes, axis=0, dtype=kind), shape=(steps, 1)), sizes)
    length = b.sum(b.astype(b.greater(sizes, member), dtype=kind), axis=0)
    return b.embedding(data, b.minimum(b.add(starts, member), data.shape[0] - 1)), length


def pack(b: TorchBuilder, x: Any, batch_sizes: Any, count: Any) -> Any:
    """The ``count`` packed rows of ``x`` [time, batch, ...]."""
    kind, (steps, batch, *features) = batch_sizes.dtype, x.shape
    ends = b.cumulative_sum(batch_sizes, axis=0, dtype=kind)
    row = b.arange(stop=count, dtype=kind)
    step = b.astype(b.searchsorted(ends, row, side="right"), dtype=kind)
    member = b.subtract(row, b.take(b.subtract(ends, batch_sizes), step, axis=0))
    return b.embedding(b.reshape(x, shape=(steps * batch, *features)), b.add(b.multiply(step, batch), member))


def _holds_for(b: TorchBuilder, value: Any, number: int) -> None:
    """Sizes that follow from the elements of an array: the graph holds while they stay the same."""
    b.graph.guards.append(Guard(b.equal(value, number), True, b.origin))


@rows.row("_pack_padded_sequence")
def pack_padded_sequence(b: TorchBuilder, input: Any, lengths: Any, batch_first: bool = False) -> tuple[Any, Any]:
    """torch._pack_padded_sequence, within torch.nn.utils.rnn.pack_padded_sequence: (packed rows, batch sizes)."""
    (count, *_), (steps,) = b.recorded[0].shape, b.recorded[1].shape
    _holds_for(b, b.sum(lengths), count)
    _holds_for(b, b.max(lengths), steps)
    x = b.permute_dims(input, axes=(1, 0, *range(2, input.ndim))) if batch_first else input
    step = b.reshape(b.arange(stop=steps, dtype=lengths.dtype), shape=(steps, 1))
    reaches = b.greater(b.reshape(lengths, shape=(1, lengths.shape[0])), step)
    batch_sizes = b.sum(b.astype(reaches, dtype="int64"), axis=1)
    return pack(b, x, batch_sizes, count), batch_sizes


@rows.row("_pad_packed_sequence")
def pad_packed_sequence(
    b: TorchBuilder, data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: Any
) -> tuple[Any, Any]:
    """torch._pad_packed_sequence, within torch.nn.utils.rnn.pad_packed_sequence: (padded array, lengths)."""
    batch = b.recorded[1].shape[0]
    _holds_for(b, b.max(batch_sizes), batch)
    x, length = unpack(b, data, batch_sizes, batch)
    steps, features = x.shape[0], x.shape[2:]
    step = b.reshape(b.arange(stop=steps, dtype=length.dtype), shape=(steps, 1))
    inside = b.less(step, b.reshape(length, shape=(1, batch)))
    x = b.where(b.reshape(inside, shape=(steps, batch, *(1,) * len(features))), x, b.array(padding_value, x.dtype))
    wanted = total_length if isinstance(total_length, int) and total_length > 0 else steps
    if wanted != steps:
        more = b.full(shape=(wanted - steps, batch, *features), fill_value=padding_value, dtype=x.dtype)
        x = b.concat(x, more, axis=0)
    return (b.permute_dims(x, axes=(1, 0, *range(2, x.ndim))) if batch_first else x), length
