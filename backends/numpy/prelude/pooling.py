"""Pooling and resampling of the spatial axes."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from ...common.array_code import interpolate_bytes, max_pool_with_indices, reflected
from ...common.positions import (
    adaptive_places,
    antialias_taps,
    nearest_places,
    padding_for_windows,
    sample_taps,
    small_image,
)


def lowest_value(dtype: np.dtype) -> float | int:
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
    """Pad ``x`` with ``fill``, and reduce each window by ``function``.

    Windows extend over the ``len(kernel)`` axes from axis ``lead`` on. ``around`` has the padding
    ``(before, after)`` of each of these axes; negative amounts cut elements off.
    """
    if any(amount for pair in around for amount in pair):
        kept = [slice(max(-low, 0), min(high, 0) or None) for low, high in around]
        added = [(max(low, 0), max(high, 0)) for low, high in around]
        x = np.pad(
            x[(slice(None),) * lead + tuple(kept)],
            [(0, 0)] * lead + added + [(0, 0)] * (x.ndim - lead - len(around)),
            constant_values=fill,
        )
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
    """Compute the maximum of each window over ``len(kernel)`` spatial axes.

    These are the last axes, or for the ``layout`` "channels_last" those before the last.
    """
    lead = x.ndim - len(kernel) - (layout == "channels_last")
    if dilation and ceil_mode:
        array = x if layout == "channels_first" else np.moveaxis(x, -1, lead)
        result = max_pool_with_indices(array, kernel, strides, padding, dilation, ceil_mode)[0]
        return result if layout == "channels_first" else np.moveaxis(result, lead, -1)
    space = x.shape[lead : lead + len(kernel)]
    around = padding_for_windows(space, kernel, strides, padding or ((0, 0),) * len(kernel), ceil_mode)
    return reduced_windows(x, np.maximum, lowest_value(x.dtype), kernel, strides, around, dilation, lead)


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
    """Sum each window over ``len(kernel)`` spatial axes, and divide by its size or by ``divisor_override``.

    These are the last axes, or for the ``layout`` "channels_last" those before the last. The size includes
    padding if ``count_include_pad``.
    """
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
        # ``//`` rounds down, so the remainder is subtracted first.
        return (total - np.fmod(total, divisor)) // divisor
    return total / divisor.astype(x.dtype)


def lp_pool(
    x: np.ndarray, ord: float, kernel: tuple[int, ...], strides: tuple[int, ...], ceil_mode: bool = False
) -> np.ndarray:
    """Compute ``sum(x ** ord) ** (1 / ord)`` over each window of the last ``len(kernel)`` axes.

    With ``ceil_mode``, the sum over a window that extends beyond the end is scaled to a full window.
    """
    mean = avg_pool(x**ord, kernel, strides, None, ceil_mode)
    return (np.sign(mean) * np.abs(mean) * math.prod(kernel)) ** (1 / ord)


def max_unpool(x: np.ndarray, indices: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Return zeros of spatial shape ``size`` with the elements of ``x`` at ``indices``.

    ``indices`` has the shape of ``x``, and indexes the flattened spatial axes of the result.
    """
    lead = x.shape[: x.ndim - len(size)]
    result = np.zeros((*lead, math.prod(size)), x.dtype)
    flat = (*lead, math.prod(x.shape[len(lead) :]))
    np.put_along_axis(result, indices.reshape(flat), x.reshape(flat), axis=-1)
    return result.reshape(*lead, *size)


def adaptive_avg_pool(x: np.ndarray, size: tuple[int, ...], layout: str = "channels_first") -> np.ndarray:
    """Average over ``size[i]`` windows of about equal length that cover spatial axis ``i``.

    The spatial axes are the last ones, or for the ``layout`` "channels_last" those before the last.
    """
    for axis, windows in enumerate(size, x.ndim - len(size) - (layout == "channels_last")):
        places, inside = adaptive_places(x.shape[axis], windows)
        mask = inside.reshape(inside.shape + (1,) * (x.ndim - axis - 1))
        elements = np.where(mask, x[(slice(None),) * axis + (places,)], 0)
        x = elements.sum(axis + 1, dtype=x.dtype) / mask.sum(1).astype(x.dtype)
    return x


def fractional_starts(samples: np.ndarray, size: int, windows: int, kernel: int) -> np.ndarray:
    """Return the first index of each of ``windows`` windows of ``kernel`` elements, on a new last axis.

    The last window ends at the end of the axis, which has ``size`` elements. ``samples`` are random numbers
    in [0, 1).
    """
    if windows == 1:
        return np.full((*samples.shape, 1), size - kernel)
    step = samples.dtype.type((size - kernel) / (windows - 1))
    shift = samples[..., None]
    starts = ((np.arange(windows, dtype=samples.dtype) + shift) * step).astype(int) - (shift * step).astype(
        int
    )
    starts[..., -1] = size - kernel
    return starts


def weighted_taps(x: np.ndarray, axis: int, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weighted sums of elements along the nonnegative ``axis``, whose length becomes ``len(places)``.

    Element ``i`` is the sum over ``t`` of element ``places[i, t]`` of ``x`` times ``weights[i, t]``.
    """
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    total = np.take(x, places[:, 0], axis) * weights[:, 0].reshape(column)
    for tap in range(1, places.shape[1]):
        total += np.take(x, places[:, tap], axis) * weights[:, tap].reshape(column)
    return total


def interpolate(
    x: np.ndarray,
    size: tuple[int, ...],
    method: str = "nearest",
    *,
    scales: tuple[float | None, ...] | None = None,
    align_corners: bool = False,
    antialias: bool = False,
    layout: str = "channels_first",
) -> np.ndarray:
    """Resample the spatial axes of ``x`` to ``size``.

    These are the last axes, or for the ``layout`` "channels_last" those before the last. ``method`` is
    "nearest", "nearest-exact", "linear", "cubic", or, with ``antialias``, "lanczos".
    """
    scales = scales or (None,) * len(size)
    first = x.ndim - len(size) - (layout == "channels_last")
    nearest = method.startswith("nearest")
    if x.dtype == np.uint8 and not nearest:
        return interpolate_bytes(x, size, method, scales, align_corners, antialias, first)
    real, exact, small = (
        np.float64 if x.dtype == np.float64 else np.float32,
        method == "nearest-exact",
        small_image(size),
    )
    result = x if nearest else x.astype(real)
    for axis, (out, scale) in enumerate(zip(size, scales), first):
        if nearest:
            result = np.take(result, nearest_places(x.shape[axis], out, scale, exact, small), axis)
        # torch does not resample other axes.
        elif out != x.shape[axis] or (method == "cubic" and not antialias and scale):
            taps = antialias_taps if antialias else sample_taps
            places, weights = taps(x.shape[axis], out, method, scale, align_corners, real)
            result = weighted_taps(result, axis, places, weights)
    return result.astype(x.dtype)


def padded_position(position: np.ndarray, size: int, padding: str, align_corners: bool) -> np.ndarray:
    if padding == "reflection":
        position = reflected(position, size, align_corners)
    return position if padding == "zeros" else np.clip(position, 0, size - 1)


def elements_at(x: np.ndarray, places: list[np.ndarray]) -> np.ndarray:
    """Return the elements of ``x[batch, channels, *space]`` at integer ``places``.

    ``places`` has an array ``[batch, *out]`` for each spatial axis. Elements outside of ``x`` are 0.
    """
    inside = np.array(True)
    for place, n in zip(places, x.shape[2:]):
        inside = inside & (place >= 0) & (place < n)
    places = [np.where(inside, place, 0).astype(int) for place in places]
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (places[0].ndim - 1))
    found = np.moveaxis(x, 1, -1)[(batch, *places)]
    return np.moveaxis(np.where(inside[..., None], found, 0), -1, 1)


def affine_grid(theta: np.ndarray, size: tuple[int, ...], align_corners: bool = False) -> np.ndarray:
    """Apply the affine maps ``theta`` to a regular grid, and return the positions ``[batch, *size, axes]``.

    ``theta`` has the shape ``[batch, axes, axes + 1]``. Coordinates are ordered from the last spatial axis to
    the first.
    """
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners else line * (n - 1) / n)
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], axis=-1).astype(theta.dtype)
    positions = np.matmul(base.reshape(-1, len(size) + 1), theta.swapaxes(1, 2))
    return positions.reshape(theta.shape[0], *size, len(size))
