"""Writing through indices, to a copy."""

from __future__ import annotations

from typing import Any

import torch


def updated(x: torch.Tensor, key: Any, value: torch.Tensor | float) -> torch.Tensor:
    """``x`` with ``value`` in the place of ``x[key]``."""
    result = x.clone()
    result[key] = value
    return result


def scatter_reduce_at(x: torch.Tensor, key: Any, values: torch.Tensor, reduce: str, include_self: bool) -> torch.Tensor:
    """``x`` with the values that meet at each place of ``x[key]`` reduced to one, together with the old element if ``include_self``."""
    places = torch.arange(x.numel(), device=x.device).reshape(x.shape)[key]
    values = values.broadcast_to(places.shape).reshape(-1)
    if x.dtype == torch.bool:
        return scatter_reduce_at(x.byte(), key, values.reshape(places.shape).byte(), reduce, include_self).bool()
    return x.reshape(-1).scatter_reduce(0, places.reshape(-1), values, reduce, include_self=include_self).reshape(x.shape)
