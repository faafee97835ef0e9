"""Pooling over the last axes, or those before the channels: strided slices, one for each element of a window, are reduced axis by axis."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from ...array_code.pooling import max_pool_with_indices
from ...positions import adaptive_places, padding_for_windows


def least_of(dtype: np.dtype) -> float | int:
    """The number that no other of this type is below."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def reduced_windows(
    x: np.ndarray,
    function: np.ufunc,
    fill: float,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    around: list[tuple[int, int]],
    dilation: tuple[int, ...] | None,
    lead: int,
) -> np.ndarray:
    """``function`` over each window of the axes of ``x`` from ``lead`` on, padded with ``fill``."""
    if any(amount for pair in around for amount in pair):
        x = np.pad(x, [(0, 0)] * lead + around + [(0, 0)] * (x.ndim - lead - len(around)), constant_values=fill)
    for axis, (k, stride, step) in enumerate(zip(kernel, strides, dilation or (1,) * len(kernel)), lead):
        span = (x.shape[axis] - step * (k - 1) - 1) // stride * stride + 1
        before = (slice(None),) * axis
        x = reduce(function, [x[(*before, slice(tap * step, tap * step + span, stride))] for tap in range(k)])
    return x


def max_pool(
    x: np.ndarray,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    ceil_mode: bool = False,
    layout: str = "channels_first",
) -> np.ndarray:
    """The largest element of each window over ``len(kernel)`` axes."""
    if dilation and ceil_mode:
        array = x if layout == "channels_first" else np.moveaxis(x, -1, 1)
        result = max_pool_with_indices(array, kernel, strides, padding, dilation, ceil_mode)[0]
        return result if layout == "channels_first" else np.moveaxis(result, 1, -1)
    lead = x.ndim - len(kernel) - (layout == "channels_last")
    space = x.shape[lead : lead + len(kernel)]
    around = padding_for_windows(space, kernel, strides, padding or ((0, 0),) * len(kernel), ceil_mode)
    return reduced_windows(x, np.maximum, least_of(x.dtype), kernel, strides, around, dilation, lead)


def avg_pool(
    x: np.ndarray,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "channels_first",
) -> np.ndarray:
    """The mean of each window over ``len(kernel)`` axes; integers are divided towards zero."""
    rank = len(kernel)
    padding = padding or ((0, 0),) * rank
    lead = x.ndim - rank - (layout == "channels_last")
    space = slice(lead, lead + rank)
    around = padding_for_windows(x.shape[space], kernel, strides, padding, ceil_mode)
    total = reduced_windows(x, np.add, 0, kernel, strides, around, None, lead)
    divisor = np.array(divisor_override or 1)
    for n, k, stride, pair, windows in zip(x.shape[space], kernel, strides, padding, total.shape[space]):
        starts = np.arange(windows) * stride - pair[0]
        ends = np.minimum(starts + k, n + pair[1])
        counts = ends - starts if count_include_pad else np.minimum(ends, n) - np.maximum(starts, 0)
        divisor = divisor if divisor_override else divisor[..., None] * counts
    if layout == "channels_last":
        divisor = divisor[..., None]
    if x.dtype.kind in "iu":
        return (total - np.fmod(total, divisor)) // divisor
    return total / divisor.astype(x.dtype)


def lp_pool(x: np.ndarray, ord: float, kernel: tuple[int, ...], strides: tuple[int, ...], ceil_mode: bool = False) -> np.ndarray:
    """The ``ord``-norm of each window; negative sums keep their sign under the root, as in torch."""
    mean = avg_pool(x**ord, kernel, strides, None, ceil_mode)
    return (np.sign(mean) * np.abs(mean) * math.prod(kernel)) ** (1 / ord)


def max_unpool(x: np.ndarray, indices: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Zeros of spatial ``size`` with the elements of ``x`` at ``indices``."""
    lead = x.shape[: x.ndim - len(size)]
    result = np.zeros((*lead, math.prod(size)), x.dtype)
    flat = (*lead, math.prod(x.shape[len(lead) :]))
    np.put_along_axis(result, indices.reshape(flat), x.reshape(flat), axis=-1)
    return result.reshape(*lead, *size)


def adaptive_avg_pool(x: np.ndarray, size: tuple[int, ...], layout: str = "channels_first") -> np.ndarray:
    """Means over ``size`` windows that cover the axes of space evenly."""
    for axis, windows in enumerate(size, x.ndim - len(size) - (layout == "channels_last")):
        places, inside = adaptive_places(x.shape[axis], windows)
        mask = inside.reshape(inside.shape + (1,) * (x.ndim - axis - 1))
        elements = np.where(mask, x[(slice(None),) * axis + (places,)], 0)
        x = elements.sum(axis + 1, dtype=x.dtype) / mask.sum(1).astype(x.dtype)
    return x


def fractional_starts(samples: np.ndarray, size: int, windows: int, kernel: int) -> np.ndarray:
    """Where the windows of a fractional pooling start: ``windows`` steps of uneven length, shifted by each of ``samples``."""
    if windows == 1:
        return np.full((*samples.shape, 1), size - kernel)
    step = samples.dtype.type((size - kernel) / (windows - 1))
    shift = samples[..., None]
    starts = ((np.arange(windows, dtype=samples.dtype) + shift) * step).astype(int) - (shift * step).astype(int)
    starts[..., -1] = size - kernel
    return starts
