"""Element-wise functions that numpy has with other results, and the rounding of half precision."""

from __future__ import annotations

import numpy as np


def divided(function: np.ufunc, x1: np.ndarray | int, x2: np.ndarray | int) -> np.ndarray:
    """A quotient or rest of integers; ``FloatingPointError`` where ``x2`` is 0."""
    with np.errstate(divide="raise"):
        return function(x1, x2)


def rounded(arrays: tuple[np.ndarray, ...], dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """The float32 ones among some arrays in half precision, the others as they are."""
    return tuple(array.astype(dtype) if array.dtype == np.float32 else array for array in arrays)
