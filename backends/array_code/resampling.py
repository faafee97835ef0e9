"""Resampling of the spatial axes."""

from __future__ import annotations

import math

import numpy as np

from ..common.positions import antialias_taps, byte_weights, cubic_weights, sample_taps
from .own import Array, elements_at, padded_position, weighted_taps, xp


def interpolate_bytes(
    x: Array,
    size: tuple[int, ...],
    method: str,
    scales: tuple[float | None, ...],
    align_corners: bool,
    antialias: bool,
    first: int,
) -> Array:
    """Resample uint8 in fixed point, bit for bit as torch does.

    The axes from ``first`` on are resampled one by one, the last first, and rounded after each.
    """
    taps = antialias_taps if antialias else sample_taps
    for axis, out, scale in reversed(list(zip(range(first, x.ndim), size, scales))):
        if out == x.shape[axis]:
            continue
        places, weights = taps(x.shape[axis], out, method, scale, align_corners, np.float64)
        whole, bits = byte_weights(places, weights)
        total = weighted_taps(x.astype(xp.int32), axis, places, whole)
        # One half is added before the shift, which rounds to nearest.
        x = xp.clip((total + (1 << bits - 1)) >> bits, 0, 255).astype(xp.uint8)
    return x


def reflected(position: Array, size: int, align_corners: bool) -> Array:
    """Reflect positions beyond the ends of an axis back into it.

    They are reflected at the centres of the first and last element if ``align_corners``, else at their
    outer edges.
    """
    start, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return xp.zeros_like(position)
    distance = abs(position - start)
    turns, rest = xp.floor(distance / span), distance % span
    return xp.where(turns % 2 == 0, rest, span - rest) + start


def grid_sample(
    x: Array, grid: Array, method: str = "linear", padding: str = "zeros", align_corners: bool = False
) -> Array:
    """Sample ``x``, ``[batch, channels, *space]``, at the positions ``grid``, ``[batch, *out, axes]``.

    Coordinates are in [-1, 1] along each axis, last spatial axis first. ``method`` is linear, nearest or
    cubic.
    """
    space = x.shape[2:]
    positions = []
    for axis, n in enumerate(space):
        position = grid[..., len(space) - 1 - axis]
        position = (position + 1) / 2 * (n - 1) if align_corners else ((position + 1) * n - 1) / 2
        positions.append(
            position if method == "cubic" else padded_position(position, n, padding, align_corners)
        )
    if method == "nearest":
        return elements_at(x, [xp.round(position) for position in positions])
    bases = [xp.floor(position) for position in positions]
    parts = [position - base for position, base in zip(positions, bases)]
    taps = [cubic_weights(t) if method == "cubic" else [1 - t, t] for t in parts]
    total = xp.zeros((), x.dtype)
    for corner in np.ndindex(*map(len, taps)):
        places = [base + (offset - 1 if method == "cubic" else offset) for base, offset in zip(bases, corner)]
        if method == "cubic":
            places = [padded_position(place, n, padding, align_corners) for place, n in zip(places, space)]
        weight = math.prod([of_axis[offset] for of_axis, offset in zip(taps, corner)])
        total = total + elements_at(x, places) * weight[:, None]
    return total


def pixel_shuffle(x: Array, factor: int) -> Array:
    """Move groups of ``factor ** 2`` channels to squares of pixels.

    ``[..., channels * factor ** 2, height, width]`` becomes ``[..., channels, height * factor, width *
    factor]``.
    """
    *batch, channels, height, width = x.shape
    split = x.reshape(*batch, channels // factor**2, factor, factor, height, width)
    moved = xp.moveaxis(split, (-4, -3), (-3, -1))
    return moved.reshape(*batch, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(x: Array, factor: int) -> Array:
    """Move squares of pixels to groups of ``factor ** 2`` channels.

    ``[..., channels, height * factor, width * factor]`` becomes ``[..., channels * factor ** 2, height,
    width]``.
    """
    *batch, channels, height, width = x.shape
    split = x.reshape(*batch, channels, height // factor, factor, width // factor, factor)
    moved = xp.moveaxis(split, (-3, -1), (-4, -3))
    return moved.reshape(*batch, channels * factor**2, height // factor, width // factor)


def channel_shuffle(x: Array, groups: int) -> Array:
    """Interleave ``groups`` groups of channels (axis 1)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)
