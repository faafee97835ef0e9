"""Eigenvalues of matrices that may contain infinity or NaN."""

from __future__ import annotations

import torch


def eig(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute ``torch.linalg.eig``, or NaN for a matrix with infinity or NaN, which may crash LAPACK."""
    unknown = (x * 0).sum((-2, -1))
    values, vectors = torch.linalg.eig(torch.where(unknown.isnan()[..., None, None], 0, x))
    return values + unknown[..., None], vectors + unknown[..., None, None]


def eigvals(x: torch.Tensor) -> torch.Tensor:
    """Compute ``torch.linalg.eigvals``, or NaN for a matrix with infinity or NaN, which may crash LAPACK."""
    unknown = (x * 0).sum((-2, -1))
    return torch.linalg.eigvals(torch.where(unknown.isnan()[..., None, None], 0, x)) + unknown[..., None]
