"""Activations, attention, normalization and recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def leaky_relu(x: torch.Tensor, negative_slope: float) -> torch.Tensor:
    """Compute ``x`` for ``x >= 0``, otherwise ``negative_slope * x``.

    The derivative at 0 is 1 if ``x`` requires a gradient.
    """
    return torch.where(x >= 0, x, x * negative_slope) if x.requires_grad else F.leaky_relu(x, negative_slope)


def grouped_matmul(x: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Multiply rows ``offsets[g - 1]:offsets[g]`` of ``x`` by the matrix ``weight[g]``, for each group ``g``.

    The first group starts at row 0. Rows after the last group are 0 in the result.
    """
    bounds = [0, *offsets.tolist()]
    parts = [x[start:end] @ matrix for start, end, matrix in zip(bounds, bounds[1:], weight)]
    return torch.cat([*parts, x.new_zeros(x.shape[0] - bounds[-1], weight.shape[2])])


def attention_weights(
    query: torch.Tensor,
    key: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Compute ``softmax(query @ key.mT * scale + mask)``. A row whose scores are all masked is 0.

    A boolean mask is True for the scores to keep. With ``is_causal``, scores above the diagonal are masked,
    too.
    """
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf)
    return torch.softmax(scores, -1).masked_fill((scores == -torch.inf).all(-1, keepdim=True), 0)


def normalised_by(
    x: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> torch.Tensor:
    """Compute ``(x - mean) / sqrt(variance + epsilon) * weight + bias``.

    The operands other than ``x`` are vectors along ``axis``, which is not negative.
    """
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    wide = torch.promote_types(x.dtype, torch.float32)
    scale = torch.rsqrt(variance.to(wide) + epsilon)
    if weight is not None:
        scale = scale * weight
    result = (x.to(wide) - mean.to(wide).reshape(shape)) * scale.reshape(shape)
    if bias is not None:
        result = result + bias.reshape(shape)
    return result.to(x.dtype)


def recurrent_layer(
    layer: Callable[..., Any],
    x: torch.Tensor,
    state: tuple[torch.Tensor, ...],
    weights: list[torch.Tensor],
    biases: bool,
    reverse: bool = False,
) -> tuple[torch.Tensor, ...]:
    """Run a recurrent layer of torch over a sequence [time, batch, features] in one direction.

    ``layer`` is ``torch.lstm``, ``torch.gru`` or the like. Return the outputs and the last states. With
    ``reverse``, the sequence is read from its end, and output ``t`` still belongs to input ``t``.
    """
    start = tuple(part[None] for part in state)
    sequence = x.flip(0) if reverse else x
    outputs, *last = layer(
        sequence, start if len(start) > 1 else start[0], weights, biases, 1, 0.0, False, False, False
    )
    return outputs.flip(0) if reverse else outputs, *(part[0] for part in last)
