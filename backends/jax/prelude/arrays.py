"""Creation, windows, padding, scatters and masked writes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def linspace(start: jax.Array | float, stop: jax.Array | float, num: int, dtype: jnp.dtype) -> jax.Array:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop`` inclusive, cast to ``dtype``.

    A single number is ``start``.
    """
    index = np.arange(num)
    step = (stop - start) / max(num - 1, 1)
    counted = (start + step * index, stop - step * (num - 1 - index))
    # Bounds that are numbers are computed in NumPy, in float64.
    if isinstance(step, jax.Array):
        return jnp.where((index < num // 2) | (num == 1), *counted).astype(dtype)
    return jnp.array(np.where((index < num // 2) | (num == 1), *counted), dtype)


def sliding_window(x: jax.Array, axis: int, size: int, step: int = 1) -> jax.Array:
    """Return windows of ``size`` elements along the nonnegative ``axis``, ``step`` elements apart.

    The elements of a window are on a new last axis.
    """
    if x.ndim == 0:
        return jnp.broadcast_to(x, (size,))
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    windows = jnp.take(x, starts[:, None] + np.arange(size), axis=axis)
    return jnp.moveaxis(windows, axis + 1, -1)


def as_strided(x: jax.Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> jax.Array:
    """Return an array of ``shape`` with elements of flattened ``x`` (row-major).

    Element ``[i, j, ...]`` is element ``offset + i * strides[0] + j * strides[1] + ...`` of flattened ``x``.
    """
    positions = np.full((1,) * len(shape), offset)
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=False)):
        positions = positions + np.arange(size).reshape((-1,) + (1,) * (len(shape) - axis - 1)) * stride
    return x.reshape(-1)[positions]


def pad(x: jax.Array, padding: tuple[tuple[int, int], ...], value: float = 0) -> jax.Array:
    """Pad ``x`` with ``value``.

    ``padding`` is a pair of amounts for each axis. Negative amounts crop.
    """
    return lax.pad(x, jnp.asarray(value, x.dtype), [(before, after, 0) for before, after in padding])


def pad_from_inside(x: jax.Array, padding: tuple[tuple[int, int], ...], mode: str) -> jax.Array:
    """Pad ``x`` with its own elements: mirrored ("reflect"), the outermost ("edge"), or periodic ("wrap").

    ``padding`` is a pair of amounts for each axis. Negative amounts crop.
    """
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


def along_axis(indices: jax.Array, axis: int) -> tuple[jax.Array, ...]:
    """Return a key for which ``x[key]`` has the shape of ``indices``, which select elements along ``axis``.

    Element ``[i, j, ...]`` of ``x[key]`` is ``x[i, j, ...]`` with the index on the nonnegative ``axis``
    replaced by ``indices[i, j, ...]``.
    """
    shapes = [
        tuple(size if i == j else 1 for j in range(indices.ndim)) for i, size in enumerate(indices.shape)
    ]
    return tuple(
        indices if i == axis else lax.broadcasted_iota(indices.dtype, shape, i)
        for i, shape in enumerate(shapes)
    )


def scatter_reduce(x: jax.Array, key: Any, values: Any, reduce: str, include_self: bool = True) -> jax.Array:
    """Return a copy of ``x`` with each element of ``x[key]`` replaced by a reduction of its ``values``.

    ``reduce`` is "sum", "mean", "prod", "max" or "min". With ``include_self``, the reduction includes the old
    element.
    """
    count = jnp.zeros(x.shape, jnp.int32).at[key].add(1)
    if not include_self:
        floating = jnp.issubdtype(x.dtype, jnp.inexact)
        lowest, highest = (
            (-jnp.inf, jnp.inf)
            if floating
            else (False, True)
            if x.dtype == bool
            else (jnp.iinfo(x.dtype).min, jnp.iinfo(x.dtype).max)
        )
        neutral = {"sum": 0, "mean": 0, "prod": 1, "max": lowest, "min": highest}[reduce]
        x = jnp.where(count > 0, jnp.asarray(neutral, x.dtype), x)
    if reduce == "prod":
        return scatter_product(x, key, values)
    if reduce in ("min", "max"):
        return x.at[key].min(values) if reduce == "min" else x.at[key].max(values)
    total = x.at[key].add(values)
    if reduce == "sum":
        return total
    count = jnp.maximum(count + include_self, 1).astype(x.dtype)
    return total / count if jnp.issubdtype(x.dtype, jnp.inexact) else total // count


def scatter_product(x: jax.Array, key: Any, values: Any) -> jax.Array:
    """Compute ``x.at[key].multiply(values)``, differentiable for repeated indices, too."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return x.at[key].multiply(jnp.asarray(values, x.dtype))
    places = jnp.arange(x.size).reshape(x.shape).at[key].get(mode="fill", fill_value=x.size)
    values = jnp.broadcast_to(jnp.asarray(values, x.dtype), places.shape).reshape(-1)
    order = jnp.argsort(places.reshape(-1))
    places, values = places.reshape(-1)[order], values[order]
    is_other, edge = places[1:] != places[:-1], jnp.ones(min(1, places.size), bool)

    def combine(left: Any, right: Any) -> Any:
        return left[0] | right[0], jnp.where(right[0], right[1], left[1] * right[1])

    # JAX has no gradient for repeated indices, so a scan multiplies the values of each element.
    _, products = lax.associative_scan(combine, (jnp.concatenate((edge, is_other)), values))
    lasts = jnp.where(jnp.concatenate((is_other, edge)), places, x.size)
    return x * jnp.ones(x.size, x.dtype).at[lasts].set(products, mode="drop").reshape(x.shape)


def masked_scatter(x: jax.Array, mask: jax.Array, source: jax.Array) -> jax.Array:
    """Return ``x`` with the elements where ``mask`` is True replaced by the first elements of ``source``.

    The order of both is row-major. ``source`` has at least as many elements as ``mask`` selects.
    """
    # An empty source has no element to read, even if the mask selects nothing.
    if source.size == 0:
        return x
    place = jnp.cumsum(mask.reshape(-1)) - 1
    return jnp.where(mask, source.reshape(-1)[place].reshape(x.shape), x)


def diag_embed(x: jax.Array, offset: int = 0, axis1: int = -2, axis2: int = -1) -> jax.Array:
    """Return matrices with the last axis of ``x`` on the diagonal ``offset``, and zeros elsewhere.

    Their rows and columns are the new axes ``axis1`` and ``axis2``.
    """
    size = x.shape[-1] + abs(offset)
    place = jnp.arange(x.shape[-1])
    matrices = jnp.zeros((*x.shape[:-1], size, size), x.dtype)
    matrices = matrices.at[..., place - min(offset, 0), place + max(offset, 0)].set(x)
    return jnp.moveaxis(matrices, (-2, -1), (axis1, axis2))
