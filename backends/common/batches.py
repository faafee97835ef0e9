"""Selection of the arguments of a training step that are batches, which are sharded over devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import CallMismatch


def batches(arrays: Sequence[Any], parts: int) -> list[tuple[Any, bool]]:
    """Pair each array with True if it is a batch, which is split over ``parts`` devices, else with False.

    An array is a batch if its first axis is as long as that of the first array that has axes. Raise
    ``CallMismatch`` if ``parts`` does not divide this length.

    >>> import numpy as np
    >>> [is_split for _, is_split in batches([np.ones((4, 2)), np.ones((1, 2)), np.ones(4), np.ones(())], 2)]
    [True, False, True, False]
    """
    first = next((array for array in arrays if len(array.shape)), None)
    if first is None:
        return [(array, False) for array in arrays]
    rows = first.shape[0]
    if rows % parts:
        raise CallMismatch(
            f"a batch has the shape {list(first.shape)}, and its {rows} rows do not divide into {parts} "
            "devices; pass a multiple of "
            f"{parts}, or leave the rest of the last batch out (drop_last=True)"
        )
    return [(array, bool(len(array.shape)) and array.shape[0] == rows) for array in arrays]
