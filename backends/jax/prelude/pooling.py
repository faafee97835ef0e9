"""Pooling over the last axes, or those before the channels."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...array_code.pooling import max_pool_with_indices
from ...positions import adaptive_places, padding_for_windows
from .normalisation import widened
from .statistical import power_of


def least_of(dtype: np.dtype) -> np.ndarray:
    """The number that no other of this type is below."""
    return np.array(-np.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min, dtype)


def max_pool(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    ceil_mode: bool = False,
    layout: str = "channels_first",
) -> jax.Array:
    """The largest element of each window over ``len(kernel)`` axes."""
    if dilation:  # reduce_window has no gradient there
        array = x if layout == "channels_first" else jnp.moveaxis(x, -1, 1)
        result = max_pool_with_indices(array, kernel, strides, padding, dilation, ceil_mode)[0]
        return result if layout == "channels_first" else jnp.moveaxis(result, 1, -1)
    padding = padding or ((0, 0),) * len(kernel)
    return over_windows(x, least_of(x.dtype), lax.max, kernel, strides, padding, ceil_mode, layout)


def over_windows(
    x: jax.Array,
    start: np.ndarray,
    join: Callable[..., jax.Array],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    ceil_mode: bool,
    layout: str,
) -> jax.Array:
    """``join`` over the elements of each window, beginning with ``start``."""
    after = 0 if layout == "channels_first" else 1
    lead = x.ndim - len(kernel) - after
    around = padding_for_windows(x.shape[lead : x.ndim - after], kernel, strides, padding, ceil_mode)
    window, step = ((*(1,) * lead, *sizes, *(1,) * after) for sizes in (kernel, strides))
    return lax.reduce_window(x, start, join, window, step, [(0, 0)] * lead + around + [(0, 0)] * after)


def avg_pool(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "channels_first",
) -> jax.Array:
    """The mean of each window over ``len(kernel)`` axes; integers are divided towards zero."""
    padding = padding or ((0, 0),) * len(kernel)
    wide = widened(x)
    total = over_windows(wide, np.zeros((), wide.dtype), lax.add, kernel, strides, padding, ceil_mode, layout)
    divisor = np.array(divisor_override or 1)
    last = x.ndim - (layout == "channels_last")
    space = slice(last - len(kernel), last)
    for n, k, stride, pair, windows in zip(x.shape[space], kernel, strides, padding, total.shape[space]):
        starts = np.arange(windows) * stride - pair[0]
        ends = np.minimum(starts + k, n + pair[1])
        counts = ends - starts if count_include_pad else np.minimum(ends, n) - np.maximum(starts, 0)
        divisor = divisor if divisor_override else divisor[..., None] * counts
    if layout == "channels_last":
        divisor = divisor[..., None]
    if jnp.issubdtype(x.dtype, jnp.integer):
        return lax.div(total, jnp.broadcast_to(divisor, total.shape).astype(x.dtype))
    return (total / divisor.astype(total.dtype)).astype(x.dtype)


def lp_pool(x: jax.Array, ord: float, kernel: tuple[int, ...], strides: tuple[int, ...], ceil_mode: bool = False) -> jax.Array:
    """The ``ord``-norm of each window; negative sums keep their sign under the root, as in torch."""
    mean = avg_pool(x**ord, kernel, strides, None, ceil_mode)
    return power_of(jnp.sign(mean) * jax.nn.relu(abs(mean)) * math.prod(kernel), 1 / ord)


def max_unpool(x: jax.Array, indices: jax.Array, size: tuple[int, ...]) -> jax.Array:
    """Zeros of spatial ``size`` with the elements of ``x`` at ``indices``."""
    lead = x.shape[: x.ndim - len(size)]
    zeros = jnp.zeros((*lead, math.prod(size)), x.dtype)
    flat = (*lead, math.prod(x.shape[len(lead) :]))
    return jnp.put_along_axis(zeros, indices.reshape(flat), x.reshape(flat), axis=-1, inplace=False).reshape(*lead, *size)


def adaptive_avg_pool(x: jax.Array, size: tuple[int, ...], layout: str = "channels_first") -> jax.Array:
    """Means over ``size`` windows that cover the axes of space evenly."""
    result = widened(x)
    for axis, windows in enumerate(size, x.ndim - len(size) - (layout == "channels_last")):
        places, inside = adaptive_places(x.shape[axis], windows)
        mask = inside.reshape(inside.shape + (1,) * (x.ndim - axis - 1))
        elements = jnp.where(mask, result[(slice(None),) * axis + (places,)], 0)
        result = elements.sum(axis + 1) / mask.sum(1).astype(result.dtype)
    return result.astype(x.dtype)


def fractional_starts(samples: jax.Array, size: int, windows: int, kernel: int) -> jax.Array:
    """Where the windows of a fractional pooling start: ``windows`` steps of uneven length, shifted by each of ``samples``."""
    if windows == 1:
        return jnp.full((*samples.shape, 1), size - kernel)
    step = jnp.asarray((size - kernel) / (windows - 1), samples.dtype)
    shift = samples[..., None]
    starts = ((jnp.arange(windows) + shift) * step).astype(int) - (shift * step).astype(int)
    return starts.at[..., -1].set(size - kernel)
