"""Element-wise functions whose slopes at some point differ in torch from those of the vocabulary."""

from __future__ import annotations

from typing import Any

import torch


def absolute(x: torch.Tensor) -> torch.Tensor:
    """The absolute value; its slope at 0 is 1."""
    return torch.where(x < 0, -x, x + 0) if x.requires_grad else torch.abs(x)


def signed(x: Any) -> torch.Tensor:
    """The bits of unsigned integers of 64 bits, or of a number, as a signed integer."""
    return x.view(torch.int64) if isinstance(x, torch.Tensor) else torch.tensor((x + 2**63) % 2**64 - 2**63)


def shifted_right(x: Any, count: Any) -> torch.Tensor:
    """Unsigned integers of 64 bits moved to the right, with zeros from the left."""
    bits, places = signed(x), signed(count)
    moved = (bits >> places) & ~(torch.full_like(bits, -1) << (64 - places))
    return torch.where((places >= 0) & (places < 64), torch.where(places == 0, bits, moved), 0).view(
        torch.uint64
    )


def is_less(x: Any, y: Any) -> torch.Tensor:
    """Whether unsigned integers of 64 bits are less than others."""
    return (signed(x) ^ -(2**63)) < (signed(y) ^ -(2**63))


def divided(x: Any, y: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Quotient and remainder of unsigned integers of 64 bits; those by 0 are 0 and the number."""
    number, divisor = signed(x), signed(y)
    half = shifted_right(x, 1).view(
        torch.int64
    )  # what it is divided by fits; a divisor that does not goes in once at most
    quotient = torch.where(
        divisor > 0, torch.div(half, torch.where(divisor > 0, divisor, 1), rounding_mode="floor") << 1, 0
    )
    rest = number - quotient * divisor
    more = (divisor != 0) & ~is_less(rest.view(torch.uint64), divisor.view(torch.uint64))
    return (quotient + more).view(torch.uint64), torch.where(more, rest - divisor, rest).view(torch.uint64)
