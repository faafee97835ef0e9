"""Whole numbers of more than 32 bits that a recording has seen: frameworks that have no more bits cannot compute them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .capture import Capture

_MOST_LOOKED_AT = 2**20  # elements: beyond, the look would cost more than it tells
_ENDS = torch.iinfo(torch.int32)


def facts_of_width(capture: Capture, made: Iterable[torch.Tensor]) -> dict[str, bool]:
    """For the node of a call that made these: ``wide`` where there are such elements, and the graph is for another framework."""
    return {"wide": True} if not capture.for_torch and any(map(is_wide, made)) else {}


def is_wide(tensor: torch.Tensor) -> bool:
    """Whether a tensor of int64 has an element that is none of int32.

    >>> is_wide(torch.tensor([1, 2**31 - 1])), is_wide(torch.tensor([1, -(2**40)])), is_wide(torch.tensor(1e20))
    (False, True, False)
    """
    if tensor.dtype is not torch.int64 or not tensor.is_cpu or not 0 < tensor.numel() <= _MOST_LOOKED_AT:
        return False
    least, most = tensor.aminmax()
    return int(least) < _ENDS.min or int(most) > _ENDS.max
