"""Functions with products over 512 elements, in torch and NumPy. Their relative error is 3e-4 in TF32 and
1e-6 in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

IN_TORCH: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda x: x @ x.T,
    "linear": lambda x: F.linear(x, x),
    "bmm": lambda x: torch.bmm(x.reshape(2, -1, 512), x.reshape(2, -1, 512).transpose(1, 2)),
    "einsum": lambda x: torch.einsum("ik,jk->ij", x, x),
    "tensordot": lambda x: torch.tensordot(x, x, dims=([1], [1])),
    "addmm": lambda x: torch.addmm(x @ x.T, x, x.T, beta=0.5),
    "mv": lambda x: torch.mv(x, x[0]),
    "conv1d": lambda x: F.conv1d(x[None], x[:, :, None].repeat(1, 1, 3)[:, : x.shape[0]]) / 20,
    "conv2d": lambda x: F.conv2d(x.T.reshape(1, 512, -1, 8).contiguous(), x[:8].reshape(8, 512, 1, 1)),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x.T[None], x.T[:, :8, None]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None] * 2 + 1, scale=0.01),
    "causal attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None], is_causal=True, scale=0.01),
    "bilinear": lambda x: F.bilinear(x, x[:, :16].contiguous(), x[:4, :, None].repeat(1, 1, 16)) / 16,
    "cdist": lambda x: torch.cdist(x, x * 0.5),
    "cov": torch.cov,
    "kron and sum": lambda x: torch.kron(x[:2, :8], x[:2, :8]) @ torch.ones(64, 8, dtype=x.dtype, device=x.device),
    "solve": lambda x: torch.linalg.solve(x @ x.T + 512 * torch.eye(x.shape[0], dtype=x.dtype, device=x.device), x),
    "inverse": lambda x: torch.linalg.inv(x @ x.T + 512 * torch.eye(x.shape[0], dtype=x.dtype, device=x.device)) * 512,
    "matrix power": lambda x: torch.linalg.matrix_power(x @ x.T / 512, 3),
    "multi_dot": lambda x: torch.linalg.multi_dot([x, x.T, x]),
    "chained": lambda x: torch.tanh(x @ x.T / 100) @ x,
    "scan": lambda x: torch.stack([x[: 1 + 0 * i] @ x.T for i in range(4)]),
}  # fmt: skip
IN_NUMPY: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda x: x @ x.T,
    "einsum": lambda x: np.einsum("ik,jk->ij", x, x),
    "dot": lambda x: np.dot(x, x[0]),
    "tensordot": lambda x: np.tensordot(x, x, axes=([1], [1])),
    "inner": lambda x: np.inner(x, x),
    "convolve": lambda x: np.convolve(x[0], x[1]),
    "cov": np.cov,
    "solve": lambda x: np.linalg.solve(x @ x.T + 512 * np.eye(x.shape[0], dtype=x.dtype), x),
    "corrcoef": np.corrcoef,
}


def array(dtype: str, rows: int = 32) -> Any:
    return np.random.default_rng(rows).normal(size=(rows, 512)).astype(dtype)
