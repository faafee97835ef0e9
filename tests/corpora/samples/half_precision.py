"""Samples of half precision with Python numbers: where torch rounds the number, where it does not, and what
overflows on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tests.support.samples import Sample, array

# The first is what 0.1 is in the type, and the others are near where a result would jump.
NEAR = (0.1, 0.2, 0.3, 0.05, 0.7, 1.0, 0.0, -0.1, 3.0)
# float16 cannot represent these numbers.
MANY, FEW = 65536.0, 1e-9


def compared(x: Any) -> Any:
    """The number is rounded to half precision."""
    return x == 0.1, x != 0.1, x < 0.1, x <= 0.1, x > 0.1, x >= 0.1, torch.isclose(x, torch.full_like(x, 0.1))


def chosen(x: Any) -> Any:
    filled = (
        torch.where(x > 0.2, x, 0.1),
        x.clamp(max=0.1),
        x.masked_fill(x > 0.2, 0.1),
        F.pad(x, (1, 1), value=0.1),
    )
    return [array == 0.1 for array in filled]


def left_over(x: Any) -> Any:
    return x % 0.1, torch.fmod(x, 0.1), x - 0.1, 0.1 - x, x + 0.1, x**2.1, torch.xlogy(x, 1e6)


def divided(x: Any) -> Any:
    """The number is not rounded."""
    return x // 0.1, torch.div(x, 0.1, rounding_mode="trunc"), x / 0.1, 0.1 / x


def scaled(x: Any) -> Any:
    """The numbers overflow or underflow in float16."""
    return x * MANY, x / MANY, x * FEW, x / FEW, MANY / x, torch.mul(x, 1e5)


def scaled_by_array(x: Any, scale: Any) -> Any:
    return x * scale, x / scale, scale * x, x // scale, x.clone().mul_(scale)


def scaled_by_read(x: Any, scale: Any) -> Any:
    return x * scale.item(), x / scale.item()


def shrunk(x: Any) -> Any:
    """torch rounds some thresholds and not others."""
    return F.threshold(x, 0.1, 0.5), F.softshrink(x, 0.1), F.hardshrink(x, 0.1), F.hardtanh(x, -0.1, 0.1)


def of_a_unit(x: Any) -> Any:
    """The least norm is 0 in float16, so that a row of zeros gives NaN."""
    return (
        F.normalize(x),
        F.normalize(x, p=1.0, dim=0),
        F.cosine_similarity(x, -x),
        F.cosine_similarity(x, x + 1, dim=0),
    )


def _of(function: Callable[..., Any], *more: Any) -> list[Sample]:
    samples = []
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.tensor(NEAR).to(dtype)
        samples.append(
            Sample(
                function,
                (x, *more),
                other=(x[:5] * 2, *more),
                name=f"{function.__name__} {str(dtype).removeprefix('torch.')}",
            )
        )
    return samples


# Their squares overflow the dtype.
_FAR = array(2, 3, dtype="float16", low=200, high=400, kind="integers")

SAMPLES = [
    *(
        sample
        for function in (compared, chosen, left_over, divided, scaled, shrunk)
        for sample in _of(function)
    ),
    *(
        sample
        for function in (scaled_by_array, scaled_by_read)
        for sample in _of(function, torch.tensor(MANY))
    ),
    *(
        Sample(
            of_a_unit,
            (torch.tensor([[0.0, 0.0, 0.0], [0.5, 0.0, 1.0]]).to(dtype),),
            name=f"of_a_unit {dtype}",
        )
        for dtype in (torch.float16, torch.bfloat16)
    ),
    Sample(
        F.triplet_margin_loss,
        (_FAR, array(2, 3, dtype="float16"), array(2, 3, dtype="float16")),
        name="triplet_margin_loss of far ones",
    ),
]
