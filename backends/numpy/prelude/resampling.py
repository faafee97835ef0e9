"""Resampling of the last axes: positions and weights are computed as torch computes them, in the precision of the array."""

from __future__ import annotations

import numpy as np

from ...array_code.resampling import interpolate_bytes, reflected
from ...positions import antialias_taps, nearest_places, sample_taps, small_image


def weighted_taps(x: np.ndarray, axis: int, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted sums over the elements at ``places`` [out, taps] of ``axis``, which becomes ``out`` long."""
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
    """``x`` with its axes of space resampled to ``size``; ``scales`` are the factors that positions are computed with."""
    scales = scales or (None,) * len(size)
    first = x.ndim - len(size) - (layout == "channels_last")
    nearest = method.startswith("nearest")
    if x.dtype == np.uint8 and not nearest:
        return interpolate_bytes(x, size, method, scales, align_corners, antialias, first)
    real, exact, small = np.float64 if x.dtype == np.float64 else np.float32, method == "nearest-exact", small_image(size)
    result = x if nearest else x.astype(real)
    for axis, (out, scale) in enumerate(zip(size, scales), first):
        if nearest:
            result = np.take(result, nearest_places(x.shape[axis], out, scale, exact, small), axis)
        elif out != x.shape[axis] or (method == "cubic" and not antialias and scale):  # torch leaves other axes as they are
            taps = antialias_taps if antialias else sample_taps
            places, weights = taps(x.shape[axis], out, method, scale, align_corners, real)
            result = weighted_taps(result, axis, places, weights)
    return result.astype(x.dtype)


def padded_position(position: np.ndarray, size: int, padding: str, align_corners: bool) -> np.ndarray:
    """Positions inside of the array, as far as ``padding`` brings them there."""
    if padding == "reflection":
        position = reflected(position, size, align_corners)
    return position if padding == "zeros" else np.clip(position, 0, size - 1)


def elements_at(x: np.ndarray, places: list[np.ndarray]) -> np.ndarray:
    """``x[batch, channels, *space]`` at integer ``places``, one array [batch, *out] for each axis of space; 0 outside."""
    inside = np.array(True)
    for place, n in zip(places, x.shape[2:]):
        inside = inside & (place >= 0) & (place < n)
    places = [np.where(inside, place, 0).astype(int) for place in places]
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (places[0].ndim - 1))
    found = np.moveaxis(x, 1, -1)[(batch, *places)]
    return np.moveaxis(np.where(inside[..., None], found, 0), -1, 1)


def affine_grid(theta: np.ndarray, size: tuple[int, ...], align_corners: bool = False) -> np.ndarray:
    """The positions ``[batch, *size, axes]`` under the affine maps ``theta[batch, axes, axes + 1]``, the last axis first."""
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners else line * (n - 1) / n)
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], axis=-1).astype(theta.dtype)
    positions = np.matmul(base.reshape(-1, len(size) + 1), theta.swapaxes(1, 2))
    return positions.reshape(theta.shape[0], *size, len(size))
