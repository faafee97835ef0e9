"""Pooling and resampling of the spatial axes, with channels first or last."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...common.array_code import interpolate_bytes, max_pool_with_indices, reflected
from ...common.positions import (
    adaptive_places,
    antialias_taps,
    nearest_places,
    padding_for_windows,
    sample_taps,
    small_image,
)
from .nn import widened
from .statistics import power_of


def lowest_value(dtype: np.dtype) -> np.ndarray:
    return np.array(-np.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min, dtype)


def max_pool(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...] | None = None,
    ceil_mode: bool = False,
    layout: str = "channels_first",
) -> jax.Array:
    """Compute the maximum of each window over ``len(kernel)`` spatial axes.

    These are the last axes, or for the ``layout`` "channels_last" those before the last.
    """
    padding = padding or ((0, 0),) * len(kernel)
    return reduced_windows(x, lowest_value(x.dtype), lax.max, kernel, strides, padding, ceil_mode, layout)


def dilated_max_pool(
    x: jax.Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...] | None = None,
    dilation: tuple[int, ...] | None = None,
    ceil_mode: bool = False,
    layout: str = "channels_first",
) -> jax.Array:
    """Compute the maximum of each window, whose elements are ``dilation`` apart, by default 1."""
    # ``lax.reduce_window`` has no gradient for such windows.
    channels = -1 - len(kernel)
    array = x if layout == "channels_first" else jnp.moveaxis(x, -1, channels)
    result = max_pool_with_indices(array, kernel, strides, padding, dilation, ceil_mode)[0]
    return result if layout == "channels_first" else jnp.moveaxis(result, channels, -1)


def reduced_windows(
    x: jax.Array,
    start: np.ndarray,
    join: Callable[..., jax.Array],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    ceil_mode: bool,
    layout: str,
) -> jax.Array:
    """Reduce each window over ``len(kernel)`` spatial axes by ``join``, starting with ``start``.

    These are the last axes, or for the ``layout`` "channels_last" those before the last.
    """
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
    """Sum each window over ``len(kernel)`` spatial axes, and divide by its size or by ``divisor_override``.

    These are the last axes, or for the ``layout`` "channels_last" those before the last. The size includes
    padding if ``count_include_pad``.
    """
    padding = padding or ((0, 0),) * len(kernel)
    # Sums in half precision would lose small terms.
    wide = widened(x)
    total = reduced_windows(
        wide, np.zeros((), wide.dtype), lax.add, kernel, strides, padding, ceil_mode, layout
    )
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


def lp_pool(
    x: jax.Array, ord: float, kernel: tuple[int, ...], strides: tuple[int, ...], ceil_mode: bool = False
) -> jax.Array:
    """Compute ``sum(x ** ord) ** (1 / ord)`` over each window of the last ``len(kernel)`` axes.

    With ``ceil_mode``, the sum over a window that extends beyond the end is scaled to a full window.
    """
    mean = avg_pool(x**ord, kernel, strides, None, ceil_mode)
    return power_of(jnp.sign(mean) * jax.nn.relu(abs(mean)) * math.prod(kernel), 1 / ord)


def max_unpool(x: jax.Array, indices: jax.Array, size: tuple[int, ...]) -> jax.Array:
    """Return zeros of spatial shape ``size`` with the elements of ``x`` at ``indices``.

    ``indices`` has the shape of ``x``, and indexes the flattened spatial axes of the result.
    """
    lead = x.shape[: x.ndim - len(size)]
    zeros = jnp.zeros((*lead, math.prod(size)), x.dtype)
    flat = (*lead, math.prod(x.shape[len(lead) :]))
    return jnp.put_along_axis(zeros, indices.reshape(flat), x.reshape(flat), axis=-1, inplace=False).reshape(
        *lead, *size
    )


def adaptive_avg_pool(x: jax.Array, size: tuple[int, ...], layout: str = "channels_first") -> jax.Array:
    """Average over ``size[i]`` windows of about equal length that cover spatial axis ``i``.

    The spatial axes are the last ones, or for the ``layout`` "channels_last" those before the last.
    """
    result = widened(x)
    for axis, windows in enumerate(size, x.ndim - len(size) - (layout == "channels_last")):
        places, inside = adaptive_places(x.shape[axis], windows)
        mask = inside.reshape(inside.shape + (1,) * (x.ndim - axis - 1))
        elements = jnp.where(mask, result[(slice(None),) * axis + (places,)], 0)
        result = elements.sum(axis + 1) / mask.sum(1).astype(result.dtype)
    return result.astype(x.dtype)


def fractional_starts(samples: jax.Array, size: int, windows: int, kernel: int) -> jax.Array:
    """Return the first index of each of ``windows`` windows of ``kernel`` elements, on a new last axis.

    The last window ends at the end of the axis, which has ``size`` elements. ``samples`` are random numbers
    in [0, 1).
    """
    if windows == 1:
        return jnp.full((*samples.shape, 1), size - kernel)
    step = jnp.asarray((size - kernel) / (windows - 1), samples.dtype)
    shift = samples[..., None]
    starts = ((jnp.arange(windows) + shift) * step).astype(int) - (shift * step).astype(int)
    return starts.at[..., -1].set(size - kernel)


def weighted_taps(x: jax.Array, axis: int, places: np.ndarray, weights: np.ndarray) -> jax.Array:
    """Return weighted sums of elements along the nonnegative ``axis``, whose length becomes ``len(places)``.

    Element ``i`` is the sum over ``t`` of element ``places[i, t]`` of ``x`` times ``weights[i, t]``.
    """
    out, taps = places.shape
    if taps > 4:
        sums = jnp.einsum(
            "...ot,ot->...o", jnp.moveaxis(x, axis, -1)[..., places], weights, precision="highest"
        )
        return jnp.moveaxis(sums, -1, axis)
    # XLA on a CPU (jax 0.10) crashes on some gathers of all taps, so they are summed one after the other.
    before, after = (slice(None),) * axis, (1,) * (x.ndim - axis - 1)
    return sum(x[(*before, places[:, tap])] * weights[:, tap].reshape(out, *after) for tap in range(taps))


def interpolate(
    x: jax.Array,
    size: tuple[int, ...],
    method: str = "nearest",
    *,
    scales: tuple[float | None, ...] | None = None,
    align_corners: bool = False,
    antialias: bool = False,
    layout: str = "channels_first",
) -> jax.Array:
    """Resample the spatial axes of ``x`` to ``size``.

    These are the last axes, or for the ``layout`` "channels_last" those before the last. ``method`` is
    "nearest", "nearest-exact", "linear", "cubic", or, with ``antialias``, "lanczos".
    """
    scales = scales or (None,) * len(size)
    first = x.ndim - len(size) - (layout == "channels_last")
    nearest = method.startswith("nearest")
    if x.dtype == np.uint8 and not nearest:
        return interpolate_bytes(x, size, method, scales, align_corners, antialias, first)
    real, exact, small = (
        np.float64 if x.dtype == np.float64 else np.float32,
        method == "nearest-exact",
        small_image(size),
    )
    result = x if nearest else x.astype(real)
    for axis, (out, scale) in enumerate(zip(size, scales), first):
        if nearest:
            result = result[(*(slice(None),) * axis, nearest_places(x.shape[axis], out, scale, exact, small))]
        # torch does not resample other axes.
        elif out != x.shape[axis] or (method == "cubic" and not antialias and scale):
            taps = antialias_taps if antialias else sample_taps
            places, weights = taps(x.shape[axis], out, method, scale, align_corners, real)
            result = weighted_taps(result, axis, places, weights)
    return result.astype(x.dtype)


def padded_position(position: jax.Array, size: int, padding: str, align_corners: bool) -> jax.Array:
    if padding == "reflection":
        position = reflected(position, size, align_corners)
    return (
        position
        if padding == "zeros"
        else jnp.where(position <= 0, 0, jnp.where(position >= size - 1, size - 1, position))
    )


def elements_at(x: jax.Array, places: list[jax.Array]) -> jax.Array:
    """Return the elements of ``x[batch, channels, *space]`` at integer ``places``.

    ``places`` has an array ``[batch, *out]`` for each spatial axis. Elements outside of ``x`` are 0.
    """
    inside = np.array(True)
    for place, n in zip(places, x.shape[2:]):
        inside = inside & (place >= 0) & (place < n)
    places = [jnp.clip(place, 0, n - 1).astype(int) for place, n in zip(places, x.shape[2:])]
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (places[0].ndim - 1))
    found = jnp.moveaxis(x, 1, -1)[(batch, *places)]
    return jnp.moveaxis(jnp.where(inside[..., None], found, 0), -1, 1)


def affine_grid(theta: jax.Array, size: tuple[int, ...], align_corners: bool = False) -> jax.Array:
    """Apply the affine maps ``theta`` to a regular grid, and return the positions ``[batch, *size, axes]``.

    ``theta`` has the shape ``[batch, axes, axes + 1]``. Coordinates are ordered from the last spatial axis to
    the first.
    """
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners else line * (n - 1) / n)
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], axis=-1).astype(theta.dtype)
    # By default JAX multiplies in fewer bits on accelerators.
    positions = jnp.matmul(base.reshape(-1, len(size) + 1), theta.swapaxes(1, 2), precision="highest")
    return positions.reshape(theta.shape[0], *size, len(size))
