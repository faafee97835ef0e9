"""Samples of rounding floats to the levels of a quantised type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.support.samples import Sample, array, ints

_tensor, _channel = torch.fake_quantize_per_tensor_affine, torch.fake_quantize_per_channel_affine


def _edges() -> torch.Tensor:
    """Return numbers halfway between levels, at the limits, infinities and NaN."""
    return torch.tensor(
        [[float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.25], [0.75, -0.25, -0.0, 3.0, 100.0, 1e5]]
    )


def _slope(function: Callable[..., Any]) -> Callable[..., Any]:
    def slope(x: Any, *args: Any) -> Any:
        return torch.func.grad(lambda x: (function(x, *args) * x.detach()).sum())(x)

    return slope


SAMPLES = [
    *(Sample(_tensor, (array(3, 4, dtype=dtype), 0.1, 3, 0, 15), name=f"tensor of {dtype}") for dtype in ("float32", "float64", "float16")),
    Sample(_tensor, (array(3, 4, dtype="bfloat16"), 0.0371, -2, -8, 7), other=(array(5, 2, dtype="bfloat16"), 0.0371, -2, -8, 7)),
    Sample(_tensor, (array(3, 4), array(kind="positive"), ints(1, low=1, high=2, dtype="int32"), 0, 3), other=(array(2), array(kind="positive"), ints(1, low=0, high=1, dtype="int32"), 0, 3), name="steps in arrays"),
    Sample(_channel, (array(3, 4), array(4, kind="positive"), ints(4, low=0, high=3, dtype="int32"), 1, 0, 3), other=(array(5, 6), array(6, kind="positive"), ints(6, low=0, high=3, dtype="int32"), 1, 0, 3)),
    Sample(_channel, (array(3, 4, dtype="float64"), array(3, kind="positive"), array(3), 0, -4, 3), name="zero points between levels"),
    Sample(_tensor, (_edges(), 0.5, 0, -128, 127), name="edges, one step"),
    Sample(_channel, (_edges(), torch.full((2,), 0.5), torch.zeros(2, dtype=torch.int32), 0, -128, 127), name="edges, steps by channel"),
    Sample(_slope(_tensor), (array(3, 4), 0.1, 3, 0, 15), name="gradient, one step"),
    Sample(_slope(_tensor), (array(3, 4), array(kind="positive"), ints(1, low=1, high=2, dtype="int32"), 0, 3), name="gradient, steps in arrays"),
    Sample(_slope(_channel), (_edges()[1:], torch.full((1,), 0.5), torch.zeros(1, dtype=torch.int32), 0, -128, 127), name="gradient, steps by channel"),
]  # fmt: skip
