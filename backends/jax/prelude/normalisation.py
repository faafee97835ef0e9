"""Normalisation layers. Half precision is computed in float32."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .statistical import norm_over


def widened(x: jax.Array) -> jax.Array:
    """``x``, half precision as float32."""
    return x.astype(jnp.float32) if jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4 else x


def over_channels(vector: jax.Array, ndim: int, axis: int = 1) -> jax.Array:
    """A vector shaped to be broadcast over ``axis`` of ``ndim``, half precision as float32."""
    return widened(vector).reshape([-1 if i == axis else 1 for i in range(ndim)])


def standardised(x: jax.Array, axis: int | tuple[int, ...], epsilon: float) -> jax.Array:
    """``(x - mean) / sqrt(variance + epsilon)`` over ``axis``."""
    centred = x - x.mean(axis, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(axis, keepdims=True) + epsilon)


def batch_norm(
    x: jax.Array,
    mean: jax.Array,
    variance: jax.Array,
    weight: jax.Array | None = None,
    bias: jax.Array | None = None,
    *,
    axis: int = 1,
    epsilon: float,
) -> jax.Array:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with vectors over ``axis``."""
    scale = lax.rsqrt(widened(variance) + epsilon)
    if weight is not None:
        scale = scale * weight
    result = (widened(x) - over_channels(mean, x.ndim, axis)) * over_channels(scale, x.ndim, axis)
    if bias is not None:
        result = result + over_channels(bias, x.ndim, axis)
    return result.astype(x.dtype)


def layer_norm(
    x: jax.Array,
    weight: jax.Array | None = None,
    bias: jax.Array | None = None,
    *,
    axis: int | tuple[int, ...] = -1,
    epsilon: float,
) -> jax.Array:
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias`` with mean and variance over ``axis``."""
    result = standardised(widened(x), axis, epsilon)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result.astype(x.dtype)


def rms_norm(x: jax.Array, weight: jax.Array | None = None, *, axis: int | tuple[int, ...] = -1, epsilon: float) -> jax.Array:
    """``x / sqrt(mean(x ** 2) + epsilon) * weight`` with the mean over ``axis``."""
    wide = widened(x)
    result = wide * lax.rsqrt((wide * wide).mean(axis, keepdims=True) + epsilon)
    if weight is not None:
        result = result * weight
    return result.astype(x.dtype)


def group_norm(
    x: jax.Array, weight: jax.Array | None = None, bias: jax.Array | None = None, *, axis: int = 1, groups: int, epsilon: float
) -> jax.Array:
    """Normalises each of ``groups`` groups of channels, which stand in ``axis``, with all axes but the first."""
    grouped = widened(x).reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    result = standardised(grouped, tuple(place for place in range(1, grouped.ndim) if place != axis), epsilon).reshape(x.shape)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype)


def instance_norm(
    x: jax.Array, weight: jax.Array | None = None, bias: jax.Array | None = None, *, axis: int = 1, epsilon: float
) -> jax.Array:
    """Normalises each channel of each sample over the axes of space."""
    result = standardised(widened(x), tuple(place for place in range(1, x.ndim) if place != axis), epsilon)
    return scaled_channels(result, weight, bias, axis).astype(x.dtype)


def scaled_channels(x: jax.Array, weight: jax.Array | None, bias: jax.Array | None, axis: int) -> jax.Array:
    """``x * weight + bias`` with vectors over ``axis``, each as far as there is one."""
    if weight is not None:
        x = x * over_channels(weight, x.ndim, axis)
    return x if bias is None else x + over_channels(bias, x.ndim, axis)


def local_response_norm(x: jax.Array, *, size: int, alpha: float, beta: float, k: float) -> jax.Array:
    """``x / (k + alpha * mean of x ** 2 over size neighbouring channels) ** beta``."""
    wide = widened(x)
    window = (1, size) + (1,) * (x.ndim - 2)
    padding = [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2)
    total = lax.reduce_window(wide * wide, np.zeros((), wide.dtype), lax.add, window, (1,) * x.ndim, padding)
    return (wide / (k + total * (alpha / size)) ** beta).astype(x.dtype)


def normalize(x: jax.Array, *, ord: float = 2, axis: int | tuple[int, ...], epsilon: float) -> jax.Array:
    """``x / max(norm, epsilon)`` with the ``ord``-norm over ``axis``; zeros have a gradient of 0 in the norm."""
    wide = widened(x)
    norm = norm_over(wide, axis, ord, True)
    return (wide / jnp.maximum(norm, epsilon)).astype(x.dtype)
