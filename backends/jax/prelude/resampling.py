"""Resampling of the last axes: positions and weights are computed with numpy as torch computes them, in the precision of the array."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ...positions import antialias_taps, byte_weights, cubic_weights, nearest_places, sample_taps, small_image


def weighted_taps(x: jax.Array, axis: int, places: np.ndarray, weights: np.ndarray) -> jax.Array:
    """The weighted sums over the elements at ``places`` [out, taps] of ``axis``, which becomes ``out`` long."""
    out, taps = places.shape
    if taps > 4:
        sums = jnp.einsum("...ot,ot->...o", jnp.moveaxis(x, axis, -1)[..., places], weights, precision="highest")
        return jnp.moveaxis(sums, -1, axis)
    # one by one: XLA for CPU (jax 0.10) crashes on some gathers of all taps that are summed at once
    before, after = (slice(None),) * axis, (1,) * (x.ndim - axis - 1)
    return sum(x[(*before, places[:, tap])] * weights[:, tap].reshape(out, *after) for tap in range(taps))


def interpolate_bytes(
    x: jax.Array, size: tuple[int, ...], method: str, scales: tuple[float | None, ...], align_corners: bool, antialias: bool, first: int
) -> jax.Array:
    """``interpolate`` of uint8 in fixed point, one axis after the other from the last, each rounded: the very numbers that torch gives."""
    taps = antialias_taps if antialias else sample_taps
    for axis, out, scale in reversed(list(zip(range(first, x.ndim), size, scales))):
        if out == x.shape[axis]:
            continue
        places, weights = taps(x.shape[axis], out, method, scale, align_corners, np.float64)
        whole, bits = byte_weights(places, weights)
        total = weighted_taps(x.astype(jnp.int32), axis, places, whole)
        x = jnp.clip((total + (1 << bits - 1)) >> bits, 0, 255).astype(jnp.uint8)
    return x


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
    """``x`` with its axes of space resampled to ``size``; ``scales`` are the factors that positions are computed with."""
    scales = scales or (None,) * len(size)
    first = x.ndim - len(size) - (layout == "channels_last")
    nearest = method.startswith("nearest")
    if x.dtype == np.uint8 and not nearest:
        return interpolate_bytes(x, size, method, scales, align_corners, antialias, first)
    real, exact, small = np.float64 if x.dtype == np.float64 else np.float32, method == "nearest-exact", small_image(size)
    result = x if nearest else x.astype(real)
    for axis, (out, scale) in enumerate(zip(size, scales), first):
        if nearest:
            result = result[(*(slice(None),) * axis, nearest_places(x.shape[axis], out, scale, exact, small))]
        elif out != x.shape[axis] or (method == "cubic" and not antialias and scale):  # torch leaves other axes as they are
            taps = antialias_taps if antialias else sample_taps
            places, weights = taps(x.shape[axis], out, method, scale, align_corners, real)
            result = weighted_taps(result, axis, places, weights)
    return result.astype(x.dtype)


def reflected(position: jax.Array, size: int, align_corners: bool) -> jax.Array:
    """Positions reflected at the ends of an axis, at the centres or at the outer edges of its first and last elements."""
    start, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return jnp.zeros_like(position)
    distance = abs(position - start)
    turns, rest = jnp.floor(distance / span), distance % span
    return jnp.where(turns % 2 == 0, rest, span - rest) + start


def padded_position(position: jax.Array, size: int, padding: str, align_corners: bool) -> jax.Array:
    """Positions inside of the array, as far as ``padding`` brings them there; no gradient flows at the ends and beyond."""
    if padding == "reflection":
        position = reflected(position, size, align_corners)
    return position if padding == "zeros" else jnp.where(position <= 0, 0, jnp.where(position >= size - 1, size - 1, position))


def elements_at(x: jax.Array, places: list[jax.Array]) -> jax.Array:
    """``x[batch, channels, *space]`` at integer ``places``, one array [batch, *out] for each axis of space; 0 outside."""
    inside = np.array(True)
    for place, n in zip(places, x.shape[2:]):
        inside = inside & (place >= 0) & (place < n)
    places = [jnp.clip(place, 0, n - 1).astype(int) for place, n in zip(places, x.shape[2:])]
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (places[0].ndim - 1))
    found = jnp.moveaxis(x, 1, -1)[(batch, *places)]
    return jnp.moveaxis(jnp.where(inside[..., None], found, 0), -1, 1)


def grid_sample(x: jax.Array, grid: jax.Array, method: str = "linear", padding: str = "zeros", align_corners: bool = False) -> jax.Array:
    """``x[batch, channels, *space]`` at the positions ``grid[batch, *out, axes]``, -1 to 1 over each axis, the last axis first."""
    space = x.shape[2:]
    positions = []
    for axis, n in enumerate(space):
        position = grid[..., len(space) - 1 - axis]
        position = (position + 1) / 2 * (n - 1) if align_corners else ((position + 1) * n - 1) / 2
        positions.append(position if method == "cubic" else padded_position(position, n, padding, align_corners))
    if method == "nearest":
        return elements_at(x, [jnp.round(position) for position in positions])
    bases = [jnp.floor(position) for position in positions]
    parts = [position - base for position, base in zip(positions, bases)]
    taps = [cubic_weights(t) if method == "cubic" else [1 - t, t] for t in parts]
    total = jnp.zeros((), x.dtype)
    for corner in np.ndindex(*map(len, taps)):
        places = [base + (offset - 1 if method == "cubic" else offset) for base, offset in zip(bases, corner)]
        if method == "cubic":
            places = [padded_position(place, n, padding, align_corners) for place, n in zip(places, space)]
        weight = math.prod([of_axis[offset] for of_axis, offset in zip(taps, corner)])
        total = total + elements_at(x, places) * weight[:, None]
    return total


def affine_grid(theta: jax.Array, size: tuple[int, ...], align_corners: bool = False) -> jax.Array:
    """The positions ``[batch, *size, axes]`` under the affine maps ``theta[batch, axes, axes + 1]``, the last axis first."""
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners else line * (n - 1) / n)
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], axis=-1).astype(theta.dtype)
    positions = jnp.matmul(base.reshape(-1, len(size) + 1), theta.swapaxes(1, 2), precision="highest")
    return positions.reshape(theta.shape[0], *size, len(size))


def pixel_shuffle(x: jax.Array, factor: int) -> jax.Array:
    """``[..., channels * factor ** 2, height, width]`` to ``[..., channels, height * factor, width * factor]``."""
    *batch, channels, height, width = x.shape
    split = x.reshape(*batch, channels // factor**2, factor, factor, height, width)
    moved = jnp.moveaxis(split, (-4, -3), (-3, -1))
    return moved.reshape(*batch, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(x: jax.Array, factor: int) -> jax.Array:
    """The inverse of ``pixel_shuffle``."""
    *batch, channels, height, width = x.shape
    split = x.reshape(*batch, channels, height // factor, factor, width // factor, factor)
    moved = jnp.moveaxis(split, (-3, -1), (-4, -3))
    return moved.reshape(*batch, channels * factor**2, height // factor, width // factor)


def channel_shuffle(x: jax.Array, groups: int) -> jax.Array:
    """Channels (axis 1) of ``groups`` groups dealt out in turn."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)
