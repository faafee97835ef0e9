"""Element-wise functions whose slopes at some point differ in torch from those of the vocabulary."""

from __future__ import annotations

import torch


def absolute(x: torch.Tensor) -> torch.Tensor:
    """The absolute value; its slope at 0 is 1."""
    return torch.where(x < 0, -x, x + 0) if x.requires_grad else torch.abs(x)
