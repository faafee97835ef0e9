"""Conversions of data types."""

from __future__ import annotations

import torch


def converted(parts: tuple[torch.Tensor, ...], *dtypes: torch.dtype | None) -> tuple[torch.Tensor, ...]:
    """Each of several tensors as its data type; as it is for None."""
    return tuple(part if dtype is None else part.to(dtype) for part, dtype in zip(parts, dtypes, strict=True))
