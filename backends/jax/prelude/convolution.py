"""Convolutions, and windows as columns."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...positions import column_places


def conv(
    x: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    strides: tuple[int, ...] | None = None,
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    groups: int = 1,
    layout: str = "channels_first",
    input_dilation: tuple[int, ...] | None = None,
) -> jax.Array:
    """Convolution of ``x`` with ``weight[out, in // groups, *kernel]``, one stride, pair of padding and dilation an axis of space."""
    rank = x.ndim - 2
    space = "DHW"[3 - rank :]
    arrays = "NC" + space if layout == "channels_first" else "N" + space + "C"
    result = lax.conv_general_dilated(
        x,
        weight,
        strides or (1,) * rank,
        padding or ((0, 0),) * rank,
        lhs_dilation=input_dilation,
        rhs_dilation=dilation,
        dimension_numbers=(arrays, "OI" + space, arrays),
        feature_group_count=groups,
    )
    if bias is None:
        return result
    return result + (bias.reshape(-1, *(1,) * rank) if layout == "channels_first" else bias)


def conv_transpose(
    x: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    strides: tuple[int, ...] | None = None,
    padding: tuple[tuple[int, int], ...] | None = None,
    output_padding: tuple[int, ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    groups: int = 1,
    layout: str = "channels_first",
) -> jax.Array:
    """Transposed convolution with ``weight[in, out // groups, *kernel]``: a convolution of ``x`` spread out by the strides."""
    rank = x.ndim - 2
    taken, given, *kernel = weight.shape
    flipped = weight.reshape(groups, taken // groups, given, *kernel).swapaxes(1, 2).reshape(groups * given, taken // groups, *kernel)
    flipped = lax.rev(flipped, range(2, 2 + rank))
    dilation, padding = dilation or (1,) * rank, padding or ((0, 0),) * rank
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    around = [(r - before, r - after + more) for r, (before, after), more in zip(reach, padding, output_padding or (0,) * rank)]
    return conv(x, flipped, bias, padding=tuple(around), dilation=dilation, groups=groups, layout=layout, input_dilation=strides)


def im2col(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> jax.Array:
    """All windows of ``x[batch, channels, *space]`` as columns [batch, channels * window, windows]."""
    places = column_places(x.shape[2:], kernel, strides, padding, dilation)
    windows = jnp.pad(x, ((0, 0), (0, 0), *padding))[(slice(None), slice(None), *places)]
    return windows.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(windows.shape[2 + len(kernel) :]))


def col2im(
    x: jax.Array,
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> jax.Array:
    """The sum of the columns that ``im2col`` makes of an array [batch, channels, *size], each element at its place."""
    places = column_places(size, kernel, strides, padding, dilation)
    lead = (x.shape[0], x.shape[1] // math.prod(kernel))
    windows = x.reshape(*lead, *np.broadcast_shapes(*(place.shape for place in places)))
    padded = jnp.zeros((*lead, *(n + before + after for n, (before, after) in zip(size, padding))), x.dtype)
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(size, padding))
    whole = (slice(None), slice(None))
    return padded.at[(*whole, *places)].add(windows)[(*whole, *inner)]
