"""Recurrent layers: torch's own, one layer in one direction, arrays [time, batch, features]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def whole_layer(
    layer: Callable[..., Any],
    x: torch.Tensor,
    state: tuple[torch.Tensor, ...],
    weights: list[torch.Tensor],
    biases: bool,
    reverse: bool = False,
) -> tuple[torch.Tensor, ...]:
    """torch's own ``layer`` over the whole sequence: (outputs, *last states)."""
    start = tuple(part[None] for part in state)
    sequence = x.flip(0) if reverse else x
    outputs, *last = layer(sequence, start if len(start) > 1 else start[0], weights, biases, 1, 0.0, False, False, False)
    return outputs.flip(0) if reverse else outputs, *(part[0] for part in last)
