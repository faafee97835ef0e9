"""Special functions that torch lacks."""

from __future__ import annotations

import math

import torch

from .gradients import with_gradient


def betainc(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Regularised incomplete beta function, with its limits for parameters at 0 and at infinity."""
    dtype = x.dtype
    a, b, x = (item.to(torch.promote_types(dtype, torch.float32)) for item in torch.broadcast_tensors(a, b, x))
    starts, ends = (a == 0) | (b == math.inf), (b == 0) | (a == math.inf)  # all of its mass lies at 0, or at 1
    wrong = ~((a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)) | (starts & ends)
    inside = ~(wrong | starts | ends) & (x > 0) & (x < 1)
    near_a, near_b, near_x = torch.where(inside, a, 1), torch.where(inside, b, 1), torch.where(inside, x, 0.5)
    limit = torch.where(wrong, math.nan, ((starts & (x > 0)) | (x == 1)).to(x.dtype))
    value = torch.where(inside, beta_fraction(near_a, near_b, near_x), limit)
    log_beta = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
    slope = torch.exp(torch.xlogy(a - 1, x) + torch.special.xlog1py(b - 1, -x) - log_beta)
    at_ends = with_gradient(torch.zeros_like(value), torch.where(inside, 0, x), torch.where(inside, 0, slope))
    return (value + at_ends).to(dtype)


def beta_fraction(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The function inside of its domain, by a continued fraction (https://dlmf.nist.gov/8.17.E22) on the side where that is short."""
    is_short = x < (a + 1) / (a + b + 2)
    p, q, y = torch.where(is_short, a, b), torch.where(is_short, b, a), torch.where(is_short, x, 1 - x)
    rest = torch.ones_like(y)
    for m in range(300 if y.dtype == torch.float64 else 100, -1, -1):
        rest = 1 - (p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1)) / rest
        rest = 1 + m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m)) / rest if m else rest
    factor = torch.exp(p * torch.log(y) + q * torch.log1p(-y) + torch.lgamma(p + q) - torch.lgamma(p) - torch.lgamma(q))
    part = factor / (p * rest)
    return torch.where(is_short, part, 1 - part)
