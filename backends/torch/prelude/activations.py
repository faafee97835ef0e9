"""Activation functions whose slopes at some point differ in torch from those of the vocabulary."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def leaky_relu(x: torch.Tensor, negative_slope: float) -> torch.Tensor:
    """``x`` above 0, ``negative_slope * x`` below; the slope at 0 is 1."""
    return torch.where(x >= 0, x, x * negative_slope) if x.requires_grad else F.leaky_relu(x, negative_slope)
