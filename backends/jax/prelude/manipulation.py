"""Windows, strides and padding."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def sliding_window(x: jax.Array, axis: int, size: int, step: int = 1) -> jax.Array:
    """All windows of ``size`` elements along ``axis``, every ``step`` elements; the elements of a window become the last axis."""
    if x.ndim == 0:
        return jnp.broadcast_to(x, (size,))
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    windows = jnp.take(x, starts[:, None] + np.arange(size), axis=axis)
    return jnp.moveaxis(windows, axis + 1, -1)


def as_strided(x: jax.Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> jax.Array:
    """Element ``i, j, ..`` of the result is element ``offset + i * strides[0] + j * strides[1] + ..`` of the flattened ``x``."""
    positions = np.full((1,) * len(shape), offset)
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=False)):
        positions = positions + np.arange(size).reshape((-1,) + (1,) * (len(shape) - axis - 1)) * stride
    return x.reshape(-1)[positions]


def pad(x: jax.Array, padding: tuple[tuple[int, int], ...], value: float = 0) -> jax.Array:
    """``jnp.pad`` where negative amounts cut elements off."""
    return lax.pad(x, jnp.asarray(value, x.dtype), [(before, after, 0) for before, after in padding])


def pad_from_inside(x: jax.Array, padding: tuple[tuple[int, int], ...], mode: str) -> jax.Array:
    """:func:`pad` with elements of ``x``."""
    for axis, (before, after) in enumerate(padding):
        size = x.shape[axis]
        places = np.arange(-before, size + after)
        if mode == "reflect":
            places = np.abs(places)
            places = np.where(places < size, places, 2 * (size - 1) - places)
        elif mode == "edge":
            places = np.clip(places, 0, size - 1)
        else:
            first, last = max(-before, 0), size - max(-after, 0)
            places = first + (places - first) % (last - first)
        if before or after:
            x = jnp.take(x, places, axis=axis)
    return x
