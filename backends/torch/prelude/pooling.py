"""Pooling with any number of leading axes or asymmetric padding, and max unpooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F


def over_leading_axes(
    pool: Callable[..., Any], x: torch.Tensor, rank: int, *args: Any, **options: Any
) -> Any:
    """Apply ``pool`` over the last ``rank`` axes of ``x``, with any number of axes before them.

    ``pool`` gets them merged into one axis, and may return a tuple.
    """
    lead = x.shape[: x.ndim - rank]
    result = pool(x.reshape(math.prod(lead), *x.shape[x.ndim - rank :]), *args, **options)
    if isinstance(result, tuple):
        return tuple(part.reshape(*lead, *part.shape[1:]) for part in result)
    return result.reshape(*lead, *result.shape[1:])


def max_unpool(x: torch.Tensor, indices: torch.Tensor, size: tuple[int, ...]) -> torch.Tensor:
    """Put the elements of ``x`` at ``indices`` of an array of zeros with the spatial shape ``size``.

    ``indices`` has the shape of ``x``, and indexes the flattened spatial axes of the result.
    """
    lead = x.shape[: x.ndim - len(size)]
    zeros = x.new_zeros(*lead, math.prod(size))
    flat = (*lead, math.prod(x.shape[len(lead) :]))
    return zeros.scatter(-1, indices.reshape(flat), x.reshape(flat)).reshape(*lead, *size)


def avg_pool_inside(
    pool: Callable[..., Any], x: torch.Tensor, padding: tuple[int, ...], kernel: Any, strides: Any
) -> torch.Tensor:
    """Compute the mean of each window over the elements of ``x``, not counting the padding.

    ``pool`` is the function of torch, such as ``F.avg_pool2d``. ``padding`` is in the order of ``F.pad``,
    and may be asymmetric.
    """
    inside = F.pad(torch.ones_like(x[:1]), padding)
    return pool(F.pad(x, padding), kernel, strides) / pool(inside, kernel, strides)


def with_unpadded_indices(
    pooled: tuple[torch.Tensor, torch.Tensor],
    x: torch.Tensor,
    padding: list[tuple[int, int]],
    dilation: Sequence[int] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the values of a max pooling of padded ``x``, with flat indices into the pooled axes of ``x``.

    ``pooled`` has the values and the indices into the padded axes.
    """
    _, places = pooled
    sizes = x.shape[-len(padding) :]
    found = torch.zeros_like(places)
    step = 1
    for size, (before, after), gap in list(zip(sizes, padding, dilation or (1,) * len(padding)))[::-1]:
        whole = size + before + after
        place = places % whole - before
        # torch chooses padding only if all elements are the lowest value, and then the start of the window.
        found = found + torch.where(place < 0, place % gap, place) * step
        places = torch.div(places, whole, rounding_mode="floor")
        step = step * size
    # The values of the pooling itself would pass the gradient of such a window to the padding.
    lead = found.shape[: -len(padding)]
    values = x.reshape(*lead, step).gather(-1, found.reshape(*lead, math.prod(found.shape[len(lead) :])))
    return values.reshape(found.shape), found
