"""Sets."""

from __future__ import annotations

import torch


def unique_with_first(x: torch.Tensor, dim: int | None = None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The sorted unique elements (or slices along ``dim``), where each comes first, where it is in the result, how often it comes."""
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=dim)
    flat = inverse.reshape(-1)
    first = torch.full_like(counts, len(flat)).scatter_reduce(0, flat, torch.arange(len(flat), device=x.device), "amin")
    return values, first, inverse, counts
