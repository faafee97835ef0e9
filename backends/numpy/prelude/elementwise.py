"""Prelude helpers for division and for rounding to half precision."""

from __future__ import annotations

import numpy as np


def divided(function: np.ufunc, x1: np.ndarray | int, x2: np.ndarray | int) -> np.ndarray:
    """Apply ``function`` to integers. Raise ``FloatingPointError`` for division by zero."""
    with np.errstate(divide="raise"):
        return function(x1, x2)


def rounded(arrays: tuple[np.ndarray, ...], dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """Cast the float32 arrays to ``dtype``. Return the others unchanged."""
    return tuple(array.astype(dtype) if array.dtype == np.float32 else array for array in arrays)
