"""Windows of an array as columns (im2col), over any number of axes and with any padding."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F


def im2col(
    x: torch.Tensor,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> torch.Tensor:
    """Return the windows of ``x`` [batch, channels, *space] as the columns of matrices.

    The result is [batch, channels * elements of a window, windows].
    """
    rank = len(kernel)
    windows = F.pad(x, [amount for pair in reversed(padding) for amount in pair])
    for axis, (size, stride, step) in enumerate(zip(kernel, strides, dilation)):
        windows = windows.unfold(2 + axis, step * (size - 1) + 1, stride)[..., ::step]
    columns = windows.permute(0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    return columns.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(columns.shape[2 + rank :]))


def col2im(
    x: torch.Tensor,
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> torch.Tensor:
    """Sum the columns of ``im2col`` into an array [batch, channels, *size]."""
    batch, channels = x.shape[0], x.shape[1] // math.prod(kernel)
    places = torch.arange(1, math.prod(size) + 1, device=x.device).reshape(1, 1, *size)
    # Positions in the padding become 0, and the sum at 0 is dropped.
    places = im2col(places, kernel, strides, padding, dilation).reshape(-1)
    sums = x.new_zeros(batch, channels, math.prod(size) + 1).index_add(
        2, places, x.reshape(batch, channels, -1)
    )
    return sums[..., 1:].reshape(batch, channels, *size)
