"""Element-wise functions whose derivatives differ in torch, and arithmetic of uint64."""

from __future__ import annotations

from typing import Any

import torch


def absolute(x: torch.Tensor) -> torch.Tensor:
    """Compute the absolute value, with derivative 1 at 0 if ``x`` requires a gradient."""
    return torch.where(x < 0, -x, x + 0) if x.requires_grad else torch.abs(x)


def signed(x: Any) -> torch.Tensor:
    """Bitcast a uint64 tensor to int64, or return a Python number as such a tensor."""
    return x.view(torch.int64) if isinstance(x, torch.Tensor) else torch.tensor((x + 2**63) % 2**64 - 2**63)


def shifted_right(x: Any, count: Any) -> torch.Tensor:
    """Shift the bits of uint64 right and insert zeros. A count outside of 0 to 63 returns 0."""
    bits, places = signed(x), signed(count)
    moved = (bits >> places) & ~(torch.full_like(bits, -1) << (64 - places))
    return torch.where((places >= 0) & (places < 64), torch.where(places == 0, bits, moved), 0).view(
        torch.uint64
    )


def is_less(x: Any, y: Any) -> torch.Tensor:
    """Compare uint64 element-wise: True where ``x < y``."""
    return (signed(x) ^ -(2**63)) < (signed(y) ^ -(2**63))


def divided(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return quotient and remainder of uint64. Division by 0 returns quotient 0 and remainder ``x``."""
    number, divisor = signed(x), signed(y)
    # The halved number fits int64. A divisor that does not fit is contained at most once.
    half = shifted_right(x, 1).view(torch.int64)
    quotient = torch.where(
        divisor > 0, torch.div(half, torch.where(divisor > 0, divisor, 1), rounding_mode="floor") << 1, 0
    )
    rest = number - quotient * divisor
    more = (divisor != 0) & ~is_less(rest.view(torch.uint64), divisor.view(torch.uint64))
    return (quotient + more).view(torch.uint64), torch.where(more, rest - divisor, rest).view(torch.uint64)
