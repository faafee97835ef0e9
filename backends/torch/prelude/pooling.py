"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch


def over_leading_axes(pool: Callable[..., Any], x: torch.Tensor, rank: int, *args: Any, **options: Any) -> Any:
    """``pool`` over the last ``rank`` axes, whatever number of axes stands before them."""
    lead = x.shape[: x.ndim - rank]
    result = pool(x.reshape(math.prod(lead), *x.shape[x.ndim - rank :]), *args, **options)
    if isinstance(result, tuple):
        return tuple(part.reshape(*lead, *part.shape[1:]) for part in result)
    return result.reshape(*lead, *result.shape[1:])


def max_unpool(x: torch.Tensor, indices: torch.Tensor, size: tuple[int, ...]) -> torch.Tensor:
    """Zeros of spatial ``size`` with the elements of ``x`` at ``indices``."""
    lead = x.shape[: x.ndim - len(size)]
    zeros = x.new_zeros(*lead, math.prod(size))
    flat = (*lead, math.prod(x.shape[len(lead) :]))
    return zeros.scatter(-1, indices.reshape(flat), x.reshape(flat)).reshape(*lead, *size)
