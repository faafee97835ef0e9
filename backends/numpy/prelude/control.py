"""Associative scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...common.prefixes import prefixes


def associative_scan(
    combine: Callable[..., tuple[Any, ...]], arrays: tuple[np.ndarray, ...], axis: int, reverse: bool = False
) -> tuple[np.ndarray, ...]:
    """Compute the inclusive scan of ``arrays`` along the nonnegative ``axis`` by an associative function.

    With ``reverse``, the scan starts at the end of ``axis``.
    """
    # There is nothing to combine, but the results must not be the arguments.
    if arrays[0].shape[axis] < 2:
        return tuple(np.array(array) for array in arrays)
    ordered = tuple(np.flip(array, axis) for array in arrays) if reverse else arrays
    made = prefixes(
        combine, ordered, axis, lambda first, rest, axis: np.concatenate((first, rest), axis), interleaved
    )
    return tuple(np.flip(array, axis) for array in made) if reverse else made


def interleaved(even: np.ndarray, odd: np.ndarray, axis: int) -> np.ndarray:
    """Alternate the elements of ``even`` and ``odd`` along the nonnegative ``axis``."""
    before = (slice(None),) * axis
    made = np.empty(
        (*even.shape[:axis], even.shape[axis] + odd.shape[axis], *even.shape[axis + 1 :]), even.dtype
    )
    made[(*before, slice(0, None, 2))], made[(*before, slice(1, None, 2))] = even, odd
    return made
