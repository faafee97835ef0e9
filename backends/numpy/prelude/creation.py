"""Creation functions that numpy computes otherwise."""

from __future__ import annotations

import numpy as np


def linspace(start: np.ndarray | float, stop: np.ndarray | float, num: int, dtype: np.dtype) -> np.ndarray:
    """``num`` numbers from ``start`` to ``stop``, counted from the nearer end."""
    index = np.arange(num)
    step = (stop - start) / max(num - 1, 1)
    return np.where((index < num // 2) | (num == 1), start + step * index, stop - step * (num - 1 - index)).astype(dtype)
