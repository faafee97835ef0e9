"""Strides and padding."""

from __future__ import annotations

import torch


def as_strided(x: torch.Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> torch.Tensor:
    """Element ``i, j, ..`` of the result is element ``offset + i * strides[0] + j * strides[1] + ..`` of the flattened ``x``."""
    return x.contiguous().view(-1)[offset:].as_strided(shape, strides)


def pad_with_elements(x: torch.Tensor, padding: tuple[tuple[int, int], ...], mode: str) -> torch.Tensor:
    """``x`` made larger by its own elements, over any axes and of any type; negative amounts cut elements off."""
    for axis, (before, after) in enumerate(padding):
        size = x.shape[axis]
        places = torch.arange(-before, size + after, device=x.device)
        if mode == "reflect":
            places = places.abs()
            places = torch.where(places < size, places, 2 * (size - 1) - places)
        elif mode == "edge":
            places = places.clamp(0, size - 1)
        else:
            first, last = max(-before, 0), size - max(-after, 0)
            places = first + (places - first) % (last - first)
        if before or after:
            x = x.index_select(axis, places)
    return x
