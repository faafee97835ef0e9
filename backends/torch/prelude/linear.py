"""Products of matrices in groups."""

from __future__ import annotations

import torch


def grouped_matmul(x: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Rows ``offsets[g - 1]:offsets[g]`` of ``x`` times ``weight[g]``; rows after all of them give 0."""
    ends = offsets.tolist()
    parts = [x[start:end] @ matrix for start, end, matrix in zip([0, *ends], ends, weight)]
    return torch.cat([*parts, x.new_zeros(x.shape[0] - ends[-1], weight.shape[2])])
