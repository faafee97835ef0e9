"""Convolutions, and windows of an array as columns (im2col).

On a CPU, some convolutions are computed by sums or matrix products, which XLA runs faster there.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...common.positions import column_places


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
    """Convolve ``x`` with ``weight[out, in // groups, *kernel]``, and add ``bias`` if it is not None.

    For the ``layout`` "channels_first", ``x`` and the result are ``[batch, channels, *space]``, for
    "channels_last" ``[batch, *space, channels]``.
    """
    rank = x.ndim - 2
    # XLA on a CPU is slow at depthwise convolutions and, because it transposes the weight at every call, at
    # those whose weight is larger than all windows together. Sizes are symbolic under ``jax.export``.
    known = all(isinstance(size, int) for size in x.shape)
    if known and layout == "channels_last" and input_dilation is None and jax.default_backend() == "cpu":
        shape = (strides or (1,) * rank, padding or ((0, 0),) * rank, dilation or (1,) * rank)
        if groups == weight.shape[0] == x.shape[-1] > 1 and math.prod(weight.shape[2:]) <= 128:
            return plus_bias(depthwise_conv(x, weight.reshape(groups, -1).T, weight.shape[2:], *shape), bias)
        if (
            groups == 1
            and weight.shape[0] >= math.prod(window_counts(x, weight.shape[2:], *shape)) * x.shape[0]
        ):
            return plus_bias(conv_of_columns(x, weight, *shape), bias)
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
    return plus_bias(result, bias, rank if layout == "channels_first" else 0)


def conv_channels_last(
    x: jax.Array,
    kernel: jax.Array,
    bias: jax.Array | None = None,
    *,
    strides: tuple[int, ...] | None = None,
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    groups: int = 1,
) -> jax.Array:
    """Convolve ``x[batch, *space, channels]`` with ``kernel[*kernel, in // groups, out]``."""
    rank = x.ndim - 2
    space = "DHW"[3 - rank :]
    arrays = "N" + space + "C"
    result = lax.conv_general_dilated(
        x,
        kernel,
        strides or (1,) * rank,
        padding or ((0, 0),) * rank,
        rhs_dilation=dilation,
        dimension_numbers=(arrays, space + "IO", arrays),
        feature_group_count=groups,
    )
    return plus_bias(result, bias)


def grouped_conv_channels_last(
    x: jax.Array,
    kernel: jax.Array,
    bias: jax.Array | None = None,
    *,
    strides: tuple[int, ...] | None = None,
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    groups: int,
) -> jax.Array:
    """Convolve as ``conv_channels_last`` does, with a faster path for small depthwise kernels on a CPU."""
    rank = x.ndim - 2
    # Sizes are symbolic under ``jax.export``.
    known = all(isinstance(size, int) for size in x.shape)
    is_by_channel = groups == kernel.shape[-1] == x.shape[-1] > 1 and math.prod(kernel.shape[:-2]) <= 128
    if known and is_by_channel and jax.default_backend() == "cpu":
        shape = (strides or (1,) * rank, padding or ((0, 0),) * rank, dilation or (1,) * rank)
        return plus_bias(depthwise_conv(x, kernel.reshape(-1, groups), kernel.shape[:-2], *shape), bias)
    return conv_channels_last(
        x, kernel, bias, strides=strides, padding=padding, dilation=dilation, groups=groups
    )


def plus_bias(x: jax.Array, bias: jax.Array | None, behind: int = 0) -> jax.Array:
    return x if bias is None else x + bias.reshape(-1, *(1,) * behind)


def window_counts(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> list[int]:
    reach = [step * (k - 1) + 1 for step, k in zip(dilation, kernel)]
    return [
        max((n + sum(pair) - r) // s + 1, 0) for n, pair, r, s in zip(x.shape[1:-1], padding, reach, strides)
    ]


def shifted(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> list[jax.Array]:
    """Return, for each element of the kernel, the elements of padded ``x`` under it in all windows.

    Each of these arrays has the axes ``[batch, *windows, channels]``.
    """
    counts = window_counts(x, kernel, strides, padding, dilation)
    padded = lax.pad(x, np.zeros((), x.dtype), [(0, 0, 0), *((*pair, 0) for pair in padding), (0, 0, 0)])
    parts = []
    for tap in np.ndindex(*kernel):
        starts = [place * step for place, step in zip(tap, dilation)]
        places = (
            slice(start, start + (n - 1) * s + 1, s) if n else slice(0)
            for start, n, s in zip(starts, counts, strides)
        )
        parts.append(padded[(slice(None), *places)])
    return parts


def depthwise_conv(x: jax.Array, taps: jax.Array, kernel: tuple[int, ...], *shape: Any) -> jax.Array:
    """Convolve each channel of ``x[batch, *space, channels]`` with its column of ``taps``.

    A column is a flattened window of the shape ``kernel``. ``shape`` is the strides, the padding and the
    dilation.
    """
    # Sums in half precision would lose small terms.
    wide = jnp.promote_types(x.dtype, jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x.dtype
    parts = shifted(x.astype(wide), kernel, *shape)
    return sum(part * tap for part, tap in zip(parts, taps.astype(wide))).astype(x.dtype)


def conv_of_columns(
    x: jax.Array,
    weight: jax.Array,
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> jax.Array:
    """Convolve ``x[batch, *space, channels]`` with ``weight[out, in, *kernel]`` by a matrix product."""
    kernel = weight.shape[2:]
    if tuple(strides) == kernel and all(step == 1 for step in dilation):
        columns = tiles(x, kernel, padding)
    else:
        columns = jnp.stack(shifted(x, kernel, strides, padding, dilation), axis=-1)
    columns = columns.reshape(*columns.shape[: x.ndim - 1], math.prod(weight.shape[1:]))
    return jnp.inner(columns, weight.reshape(weight.shape[0], -1))


def tiles(x: jax.Array, kernel: tuple[int, ...], padding: tuple[tuple[int, int], ...]) -> jax.Array:
    """Split ``x[batch, *space, channels]`` into adjacent windows ``[batch, *windows, channels, *kernel]``.

    ``x`` is padded by ``padding`` first. Elements after the last whole window are left out.
    """
    rank = len(kernel)
    counts = window_counts(x, kernel, kernel, padding, (1,) * rank)
    padded = lax.pad(x, np.zeros((), x.dtype), [(0, 0, 0), *((*pair, 0) for pair in padding), (0, 0, 0)])
    whole = padded[(slice(None), *(slice(n * k) for n, k in zip(counts, kernel)))]
    parts = whole.reshape(x.shape[0], *(size for pair in zip(counts, kernel) for size in pair), x.shape[-1])
    return parts.transpose(0, *range(1, 2 * rank, 2), 2 * rank + 1, *range(2, 2 * rank + 1, 2))


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
    """Compute the transposed convolution of ``x`` with ``weight[in, out // groups, *kernel]``.

    ``padding`` is cut off the result, and ``output_padding`` makes it longer at the end of each axis.
    """
    rank = x.ndim - 2
    taken, given, *kernel = weight.shape
    # This is a convolution of the dilated input with the flipped kernel, whose input and output channels are
    # swapped.
    flipped = (
        weight.reshape(groups, taken // groups, given, *kernel)
        .swapaxes(1, 2)
        .reshape(groups * given, taken // groups, *kernel)
    )
    flipped = lax.rev(flipped, range(2, 2 + rank))
    dilation, padding = dilation or (1,) * rank, padding or ((0, 0),) * rank
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    around = [
        (r - before, r - after + more)
        for r, (before, after), more in zip(reach, padding, output_padding or (0,) * rank)
    ]
    return conv(
        x,
        flipped,
        bias,
        padding=tuple(around),
        dilation=dilation,
        groups=groups,
        layout=layout,
        input_dilation=strides,
    )


def im2col(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> jax.Array:
    """Return all windows of ``x[batch, channels, *space]`` as columns.

    The result has the axes ``[batch, channels * elements of a window, windows]``.
    """
    places = column_places(x.shape[2:], kernel, strides, padding, dilation)
    windows = jnp.pad(x, ((0, 0), (0, 0), *padding))[(slice(None), slice(None), *places)]
    return windows.reshape(
        x.shape[0], x.shape[1] * math.prod(kernel), math.prod(windows.shape[2 + len(kernel) :])
    )


def col2im(
    x: jax.Array,
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
) -> jax.Array:
    """Sum columns into an array ``[batch, channels, *size]``. This is the adjoint of ``im2col``."""
    places = column_places(size, kernel, strides, padding, dilation)
    lead = (x.shape[0], x.shape[1] // math.prod(kernel))
    windows = x.reshape(*lead, *np.broadcast_shapes(*(place.shape for place in places)))
    padded = jnp.zeros((*lead, *(n + before + after for n, (before, after) in zip(size, padding))), x.dtype)
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(size, padding))
    whole = (slice(None), slice(None))
    return padded.at[(*whole, *places)].add(windows)[(*whole, *inner)]
