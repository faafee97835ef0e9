"""Writing through indices and masks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def along_axis(indices: jax.Array, axis: int) -> tuple[jax.Array, ...]:
    """The key that takes ``indices`` along ``axis`` and counts along the other axes."""
    shapes = [tuple(size if i == j else 1 for j in range(indices.ndim)) for i, size in enumerate(indices.shape)]
    return tuple(indices if i == axis else lax.broadcasted_iota(indices.dtype, shape, i) for i, shape in enumerate(shapes))


def scatter_reduce(x: jax.Array, key: Any, values: Any, reduce: str, include_self: bool = True) -> jax.Array:
    """``x`` with the values that meet at each place of ``x[key]`` reduced to one, together with the old element if ``include_self``."""
    count = jnp.zeros(x.shape, jnp.int32).at[key].add(1)
    if not include_self:
        floating = jnp.issubdtype(x.dtype, jnp.inexact)
        lowest, highest = (
            (-jnp.inf, jnp.inf) if floating else (False, True) if x.dtype == bool else (jnp.iinfo(x.dtype).min, jnp.iinfo(x.dtype).max)
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
    """``x.at[key].multiply(values)``, with derivatives also where several values meet at one place: they are multiplied in the order of
    their places, by a loop that JAX differentiates."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return x.at[key].multiply(jnp.asarray(values, x.dtype))
    places = jnp.arange(x.size).reshape(x.shape).at[key].get(mode="fill", fill_value=x.size)
    values = jnp.broadcast_to(jnp.asarray(values, x.dtype), places.shape).reshape(-1)
    order = jnp.argsort(places.reshape(-1))
    places, values = places.reshape(-1)[order], values[order]
    is_other, edge = places[1:] != places[:-1], jnp.ones(min(1, places.size), bool)

    def combine(left: Any, right: Any) -> Any:
        return left[0] | right[0], jnp.where(right[0], right[1], left[1] * right[1])

    _, products = lax.associative_scan(combine, (jnp.concatenate((edge, is_other)), values))
    lasts = jnp.where(jnp.concatenate((is_other, edge)), places, x.size)
    return x * jnp.ones(x.size, x.dtype).at[lasts].set(products, mode="drop").reshape(x.shape)


def masked_scatter(x: jax.Array, mask: jax.Array, source: jax.Array) -> jax.Array:
    """``x`` with the elements of ``source``, in order, in the places where ``mask`` is true."""
    if source.size == 0:
        return x
    place = jnp.cumsum(mask.reshape(-1)) - 1
    return jnp.where(mask, source.reshape(-1)[place].reshape(x.shape), x)


def diag_embed(x: jax.Array, offset: int = 0, axis1: int = -2, axis2: int = -1) -> jax.Array:
    """Zeros with ``x`` on a diagonal over two new axes."""
    size = x.shape[-1] + abs(offset)
    place = jnp.arange(x.shape[-1])
    matrices = jnp.zeros((*x.shape[:-1], size, size), x.dtype)
    matrices = matrices.at[..., place - min(offset, 0), place + max(offset, 0)].set(x)
    return jnp.moveaxis(matrices, (-2, -1), (axis1, axis2))
