"""Dropout from a generator of one's own."""

from __future__ import annotations

import torch


def dropout(generator: torch.Generator | None, x: torch.Tensor, rate: float, shared_axes: tuple[int, ...] = ()) -> torch.Tensor:
    """``x`` with a share ``rate`` of its elements set to 0, the others scaled up; ``shared_axes`` live or die together."""
    shape = [1 if axis in shared_axes else size for axis, size in enumerate(x.shape)]
    kept = torch.rand(shape, generator=generator, device=x.device) >= rate
    return torch.where(kept, x * (1 / (1 - rate) if rate < 1 else 0), 0)
