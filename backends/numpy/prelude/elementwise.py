"""Element-wise functions that numpy has with other results, and the rounding of half precision."""

from __future__ import annotations

import numpy as np


def divided(function: np.ufunc, x1: np.ndarray | int, x2: np.ndarray | int) -> np.ndarray:
    """A quotient or rest of integers; ``FloatingPointError`` where ``x2`` is 0."""
    with np.errstate(divide="raise"):
        return function(x1, x2)


def integer_power(x1: np.ndarray | int, x2: np.ndarray) -> np.ndarray:
    """``x1 ** x2`` of integers; negative exponents give 0 but for bases 1 and -1."""
    inverse = np.where(x1 == 1, 1, np.where(x1 == -1, 1 - 2 * (x2 & 1), 0))
    return np.where(x2 < 0, inverse.astype(x2.dtype), x1 ** np.maximum(x2, 0))


def rounded(arrays: tuple[np.ndarray, ...], dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """The float32 ones among some arrays in half precision, the others as they are."""
    return tuple(array.astype(dtype) if array.dtype == np.float32 else array for array in arrays)
