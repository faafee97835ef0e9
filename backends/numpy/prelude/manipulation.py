"""Windows, strides and padding."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def sliding_window(x: np.ndarray, axis: int, size: int, step: int = 1) -> np.ndarray:
    """All windows of ``size`` elements along ``axis``, every ``step`` elements; the elements of a window become the last axis."""
    if x.ndim == 0:
        return np.broadcast_to(x, (size,))
    return sliding_window_view(x, size, axis=axis)[(slice(None),) * axis + (slice(None, None, step),)]


def as_strided(x: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> np.ndarray:
    """Element ``i, j, ..`` of the result is element ``offset + i * strides[0] + j * strides[1] + ..`` of the flattened ``x``."""
    positions = np.full((1,) * len(shape), offset)
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=False)):
        positions = positions + np.arange(size).reshape((-1,) + (1,) * (len(shape) - axis - 1)) * stride
    return x.reshape(-1)[positions]


def pad(x: np.ndarray, padding: tuple[tuple[int, int], ...], mode: str = "constant", value: float = 0) -> np.ndarray:
    """``np.pad`` where negative amounts cut elements off."""
    inner = x[tuple(slice(max(-before, 0), size - max(-after, 0)) for size, (before, after) in zip(x.shape, padding))]
    if mode in ("constant", "wrap"):
        around = [(max(before, 0), max(after, 0)) for before, after in padding]
        return np.pad(inner, around, mode="wrap") if mode == "wrap" else np.pad(inner, around, constant_values=value)
    for axis, (before, after) in enumerate(padding):
        size = x.shape[axis]
        places = np.arange(-before, size + after)
        if mode == "reflect":
            places = np.abs(places)
            places = np.where(places < size, places, 2 * (size - 1) - places)
        x = np.take(x, np.clip(places, 0, size - 1), axis=axis)
    return x
