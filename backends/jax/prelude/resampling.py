"""Resampling of the last axes: positions and weights are computed with numpy as torch computes them, in the precision of the array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ...array_code.resampling import interpolate_bytes, reflected
from ...positions import antialias_taps, nearest_places, sample_taps, small_image


def weighted_taps(x: jax.Array, axis: int, places: np.ndarray, weights: np.ndarray) -> jax.Array:
    """The weighted sums over the elements at ``places`` [out, taps] of ``axis``, which becomes ``out`` long."""
    out, taps = places.shape
    if taps > 4:
        sums = jnp.einsum("...ot,ot->...o", jnp.moveaxis(x, axis, -1)[..., places], weights, precision="highest")
        return jnp.moveaxis(sums, -1, axis)
    # one by one: XLA for CPU (jax 0.10) crashes on some gathers of all taps that are summed at once
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


def affine_grid(theta: jax.Array, size: tuple[int, ...], align_corners: bool = False) -> jax.Array:
    """The positions ``[batch, *size, axes]`` under the affine maps ``theta[batch, axes, axes + 1]``, the last axis first."""
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners else line * (n - 1) / n)
    base = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size)], axis=-1).astype(theta.dtype)
    positions = jnp.matmul(base.reshape(-1, len(size) + 1), theta.swapaxes(1, 2), precision="highest")
    return positions.reshape(theta.shape[0], *size, len(size))
