"""Writing through indices and masks, into copies."""

from __future__ import annotations

from typing import Any

import numpy as np


def with_items(x: np.ndarray, key: Any, values: Any) -> np.ndarray:
    """A copy of ``x`` in which ``x[key]`` is ``values``."""
    result = np.array(x)
    result[key] = values
    return result


def along_axis(indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The key that takes ``indices`` along ``axis`` and counts along the other axes."""
    shapes = [tuple(size if i == j else 1 for j in range(indices.ndim)) for i, size in enumerate(indices.shape)]
    return tuple(indices if i == axis else np.arange(indices.shape[i]).reshape(shape) for i, shape in enumerate(shapes))


def scatter_reduce(x: np.ndarray, key: Any, values: Any, reduce: str, include_self: bool = True) -> np.ndarray:
    """``x`` with the values that meet at each place of ``x[key]`` reduced to one, together with the old element if ``include_self``."""
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
    function = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[reduce]
    function.at(result, key, values)
    if reduce != "mean":
        return result
    count = np.maximum(count + include_self, 1).astype(x.dtype)
    return result / count if x.dtype.kind in "fc" else result // count


def masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """``x`` with the elements of ``source``, in order, in the places where ``mask`` is true."""
    result = np.array(x)
    mask = np.broadcast_to(mask, x.shape)
    result[mask] = source.reshape(-1)[: np.sum(mask)]
    return result


def diag_embed(x: np.ndarray, offset: int = 0, axis1: int = -2, axis2: int = -1) -> np.ndarray:
    """Zeros with ``x`` on a diagonal over two new axes."""
    size = x.shape[-1] + abs(offset)
    place = np.arange(x.shape[-1])
    matrices = np.zeros((*x.shape[:-1], size, size), x.dtype)
    matrices[..., place - min(offset, 0), place + max(offset, 0)] = x
    return np.moveaxis(matrices, (-2, -1), (axis1, axis2))
