"""Creation, windows, padding, scatters and masked writes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def linspace(start: np.ndarray | float, stop: np.ndarray | float, num: int, dtype: np.dtype) -> np.ndarray:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop`` inclusive, cast to ``dtype``.

    If ``num`` is 1, the number is ``start``.
    """
    index = np.arange(num)
    step = (stop - start) / max(num - 1, 1)
    return np.where(
        (index < num // 2) | (num == 1), start + step * index, stop - step * (num - 1 - index)
    ).astype(dtype)


def sliding_window(x: np.ndarray, axis: int, size: int, step: int = 1) -> np.ndarray:
    """Return windows of ``size`` elements along the nonnegative ``axis``, ``step`` elements apart.

    The elements of a window are on a new last axis. The result is a read-only view.
    """
    if x.ndim == 0:
        return np.broadcast_to(x, (size,))
    return sliding_window_view(x, size, axis=axis)[(slice(None),) * axis + (slice(None, None, step),)]


def as_strided(
    x: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> np.ndarray:
    """Return an array of ``shape`` with elements of flattened ``x`` (row-major).

    Element ``[i, j, ...]`` is element ``offset + i * strides[0] + j * strides[1] + ...`` of flattened ``x``.
    """
    positions = np.full((1,) * len(shape), offset)
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=False)):
        positions = positions + np.arange(size).reshape((-1,) + (1,) * (len(shape) - axis - 1)) * stride
    return x.reshape(-1)[positions]


def pad(
    x: np.ndarray, padding: tuple[tuple[int, int], ...], mode: str = "constant", value: float = 0
) -> np.ndarray:
    """Pad ``x`` with ``value`` (``mode`` "constant"), or with its own elements.

    ``padding`` has a pair of amounts, before and after, for each axis. Negative amounts crop.
    """
    # ``np.pad`` accepts no negative amounts, so what it pads is cropped first.
    inner = x[
        tuple(
            slice(max(-before, 0), size - max(-after, 0)) for size, (before, after) in zip(x.shape, padding)
        )
    ]
    if mode in ("constant", "wrap"):
        around = [(max(before, 0), max(after, 0)) for before, after in padding]
        return (
            np.pad(inner, around, mode="wrap")
            if mode == "wrap"
            else np.pad(inner, around, constant_values=value)
        )
    for axis, (before, after) in enumerate(padding):
        size = x.shape[axis]
        places = np.arange(-before, size + after)
        if mode == "reflect":
            places = np.abs(places)
            places = np.where(places < size, places, 2 * (size - 1) - places)
        x = np.take(x, np.clip(places, 0, size - 1), axis=axis)
    return x


def with_items(x: np.ndarray, key: Any, values: Any) -> np.ndarray:
    result = np.array(x)
    result[key] = values
    return result


def along_axis(indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """Return a key for which ``x[key]`` has the shape of ``indices``, which select elements along ``axis``.

    Element ``[i, j, ...]`` of ``x[key]`` is ``x[i, j, ...]`` with the index on the nonnegative ``axis``
    replaced by ``indices[i, j, ...]``.
    """
    shapes = [
        tuple(size if i == j else 1 for j in range(indices.ndim)) for i, size in enumerate(indices.shape)
    ]
    return tuple(
        indices if i == axis else np.arange(indices.shape[i]).reshape(shape) for i, shape in enumerate(shapes)
    )


def scatter_reduce(
    x: np.ndarray, key: Any, values: Any, reduce: str, include_self: bool = True
) -> np.ndarray:
    """Return a copy of ``x`` with each element of ``x[key]`` replaced by a reduction of its ``values``.

    ``reduce`` is "sum", "mean", "prod", "max" or "min". With ``include_self``, the reduction includes the old
    element.
    """
    result = np.array(x)
    count = np.zeros(x.shape, np.int64)
    np.add.at(count, key, 1)
    if not include_self:
        lowest, highest = (
            (False, True) if x.dtype == bool
            else (-np.inf, np.inf) if x.dtype.kind in "fc"
            else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        )  # fmt: skip
        result[count > 0] = {"sum": 0, "mean": 0, "prod": 1, "max": lowest, "min": highest}[reduce]
    function = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[
        reduce
    ]
    function.at(result, key, values)
    if reduce != "mean":
        return result
    count = np.maximum(count + include_self, 1).astype(x.dtype)
    return result / count if x.dtype.kind in "fc" else result // count


def masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return a copy of ``x`` whose elements where ``mask`` is True are the first elements of ``source``.

    The order of both is row-major. ``source`` has at least as many elements as ``mask`` selects.
    """
    result = np.array(x)
    mask = np.broadcast_to(mask, x.shape)
    result[mask] = source.reshape(-1)[: np.sum(mask)]
    return result


def diag_embed(x: np.ndarray, offset: int = 0, axis1: int = -2, axis2: int = -1) -> np.ndarray:
    """Return matrices with the last axis of ``x`` on the diagonal ``offset``, and zeros elsewhere.

    Their rows and columns are the new axes ``axis1`` and ``axis2``.
    """
    size = x.shape[-1] + abs(offset)
    place = np.arange(x.shape[-1])
    matrices = np.zeros((*x.shape[:-1], size, size), x.dtype)
    matrices[..., place - min(offset, 0), place + max(offset, 0)] = x
    return np.moveaxis(matrices, (-2, -1), (axis1, axis2))
