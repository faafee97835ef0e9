"""Normalisation by statistics that gradients flow through."""

from __future__ import annotations

import torch


def normalised_by(
    x: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> torch.Tensor:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with vectors over ``axis``; half precision is computed in float32."""
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    wide = torch.promote_types(x.dtype, torch.float32)
    scale = torch.rsqrt(variance.to(wide) + epsilon)
    if weight is not None:
        scale = scale * weight
    result = (x.to(wide) - mean.to(wide).reshape(shape)) * scale.reshape(shape)
    if bias is not None:
        result = result + bias.reshape(shape)
    return result.to(x.dtype)
