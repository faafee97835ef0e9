"""Convolutions by strided window views and matrix products, and windows as columns (im2col)."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def conv(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    strides: tuple[int, ...] | None = None,
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    groups: int = 1,
    layout: str = "channels_first",
) -> np.ndarray:
    """Convolve ``x`` with ``weight[out, in // groups, *kernel]``, and add ``bias`` if it is not None.

    For the ``layout`` "channels_first", ``x`` and the result are ``[batch, channels, *space]``, for
    "channels_last" ``[batch, *space, channels]``.
    """
    if layout == "channels_last":
        x = np.moveaxis(x, -1, 1)
    given, taken, *kernel = weight.shape
    if groups == given == x.shape[1] > 1:
        return with_bias(depthwise_conv(x, weight, strides, padding, dilation), bias, layout)
    windows = window_view(x, tuple(kernel), strides, padding, dilation)
    space = windows.shape[2 + len(kernel) :]
    columns = windows.reshape(x.shape[0], groups, taken * math.prod(kernel), math.prod(space))
    result = weight.reshape(groups, given // groups, taken * math.prod(kernel)) @ columns
    return with_bias(result.reshape(x.shape[0], given, *space), bias, layout)


def depthwise_conv(
    x: np.ndarray,
    weight: np.ndarray,
    strides: tuple[int, ...] | None,
    padding: tuple[tuple[int, int], ...] | None,
    dilation: tuple[int, ...] | None,
) -> np.ndarray:
    """Convolve each channel of ``x[batch, channels, *space]`` with its own kernel.

    ``weight`` has the shape ``[channels, 1, *kernel]``.
    """
    windows = window_view(x, weight.shape[2:], strides, padding, dilation)
    rank = weight.ndim - 2
    total = np.zeros((*windows.shape[:2], *windows.shape[2 + rank :]), x.dtype)
    # One buffer serves all products, because allocating large arrays is slow.
    part = np.empty_like(total)
    for tap in np.ndindex(*weight.shape[2:]):
        factors = weight[(slice(None), 0, *tap)].reshape(-1, *(1,) * rank)
        np.multiply(windows[(slice(None), slice(None), *tap)], factors, out=part)
        total += part
    return total


def conv_transpose(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    strides: tuple[int, ...] | None = None,
    padding: tuple[tuple[int, int], ...] | None = None,
    output_padding: tuple[int, ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    groups: int = 1,
    layout: str = "channels_first",
) -> np.ndarray:
    """Compute the transposed convolution of ``x`` with ``weight[in, out // groups, *kernel]``.

    ``padding`` is cut off the result, and ``output_padding`` makes it longer at the end of each axis.
    """
    if layout == "channels_last":
        x = np.moveaxis(x, -1, 1)
    batch, channels, *space = x.shape
    given, kernel = weight.shape[1], weight.shape[2:]
    rank = len(kernel)
    strides, dilation = strides or (1,) * rank, dilation or (1,) * rank
    padding, output_padding = padding or ((0, 0),) * rank, output_padding or (0,) * rank
    columns = weight.reshape(groups, channels // groups, given * math.prod(kernel)).mT @ x.reshape(
        batch, groups, channels // groups, math.prod(space)
    )
    size = [
        (n - 1) * s - before - after + d * (k - 1) + more + 1
        for n, s, (before, after), d, k, more in zip(
            space, strides, padding, dilation, kernel, output_padding
        )
    ]
    windows = columns.reshape(batch, groups * given, *kernel, *space)
    return with_bias(added_windows(windows, tuple(size), strides, padding, dilation), bias, layout)


def with_bias(x: np.ndarray, bias: np.ndarray | None, layout: str) -> np.ndarray:
    """Add ``bias``, unless it is None, in place to ``x[batch, channels, *space]``.

    Return ``x`` or, for channels last, a view of it in this layout.
    """
    if bias is not None:
        x += bias.reshape(-1, *(1,) * (x.ndim - 2))
    return x if layout == "channels_first" else np.moveaxis(x, 1, -1)


def window_view(
    x: np.ndarray,
    kernel: tuple[int, ...],
    strides: tuple[int, ...] | None,
    padding: tuple[tuple[int, int], ...] | None,
    dilation: tuple[int, ...] | None,
) -> np.ndarray:
    """Return the windows of ``x[batch, channels, *space]`` as ``[batch, channels, *kernel, *windows]``.

    The result is a read-only view of ``x``, or of a padded copy if ``padding`` is not None.
    """
    rank = len(kernel)
    if padding is not None:
        x = np.pad(x, ((0, 0), (0, 0), *padding))
    dilation = dilation or (1,) * rank
    reach = [step * (k - 1) + 1 for step, k in zip(dilation, kernel)]
    windows = sliding_window_view(x, reach, axis=tuple(range(2, 2 + rank)))
    every = [slice(None, None, step) for step in (*(strides or (1,) * rank), *dilation)]
    axes = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    return windows[(slice(None), slice(None), *every)].transpose(axes)


def added_windows(
    windows: np.ndarray,
    size: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> np.ndarray:
    """Sum ``windows[batch, channels, *kernel, *windows]`` into an array ``[batch, channels, *size]``.

    Elements that fall into the padding are dropped.
    """
    rank = len(size)
    kernel, counts = windows.shape[2 : 2 + rank], windows.shape[2 + rank :]
    # With negative padding, windows may extend beyond the padded result.
    needed = [s * (count - 1) + d * (k - 1) + 1 for s, count, d, k in zip(strides, counts, dilation, kernel)]
    whole = [
        max(n + before + max(after, 0), least) for n, (before, after), least in zip(size, padding, needed)
    ]
    total = np.zeros((*windows.shape[:2], *whole), windows.dtype)
    for tap in np.ndindex(*kernel):
        starts = [step * place for step, place in zip(dilation, tap)]
        ends = [start + s * (count - 1) + 1 for start, s, count in zip(starts, strides, counts)]
        places = tuple(slice(start, end, s) for start, end, s in zip(starts, ends, strides))
        total[(slice(None), slice(None), *places)] += windows[(slice(None), slice(None), *tap)]
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(size, padding))
    return np.ascontiguousarray(total[(slice(None), slice(None), *inner)])


def im2col(
    x: np.ndarray,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> np.ndarray:
    """Return the windows of ``x[batch, channels, *space]`` as columns.

    The result has the axes ``[batch, channels * elements of a window, windows]``.
    """
    windows = window_view(x, kernel, strides, padding, dilation)
    return windows.reshape(
        x.shape[0], x.shape[1] * math.prod(kernel), math.prod(windows.shape[2 + len(kernel) :])
    )


def col2im(
    x: np.ndarray,
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> np.ndarray:
    """Sum columns into an array ``[batch, channels, *size]``. This is the adjoint of ``im2col``."""
    counts = [
        (n + before + after - step * (k - 1) - 1) // s + 1
        for n, k, s, (before, after), step in zip(size, kernel, strides, padding, dilation)
    ]
    windows = x.reshape(x.shape[0], x.shape[1] // math.prod(kernel), *kernel, *counts)
    return added_windows(windows, size, strides, padding, dilation)
