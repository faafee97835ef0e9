"""JAX kernels that are layers of networks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def conv2d(images: Any, weights: Any) -> Any:
    size, inside = weights.shape[0], weights.shape[2]
    batch, height, width = images.shape[0], images.shape[1] - size + 1, images.shape[2] - size + 1

    def row(i: Any) -> Any:
        def element(j: Any) -> Any:
            window = lax.dynamic_slice(images, (0, i, j, 0), (batch, size, size, inside))
            return jnp.sum(window[..., None] * weights, axis=(1, 2, 3))

        return lax.map(element, jnp.arange(width))

    return jnp.moveaxis(lax.map(row, jnp.arange(height)), 2, 0)


def pooled(x: Any) -> Any:
    return jnp.max(
        x[:, : x.shape[1] // 2 * 2, : x.shape[2] // 2 * 2].reshape(
            x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2, -1
        ),
        (2, 4),
    )


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    x = jnp.maximum(x @ w1 + b1, 0)
    x = jnp.maximum(x @ w2 + b2, 0)
    return softmax(x @ w3 + b3)


def lenet(images: Any, conv1: Any, conv2: Any, w1: Any, w2: Any) -> Any:
    x = pooled(jnp.maximum(conv2d(images, conv1), 0))
    x = pooled(jnp.maximum(conv2d(x, conv2), 0))
    return jnp.maximum(x.reshape(x.shape[0], -1) @ w1, 0) @ w2


def batch_norm(x: Any) -> Any:
    return (x - jnp.mean(x, axis=0)) / jnp.sqrt(jnp.std(x, axis=0) + 1e-5)


def residual_block(x: Any, conv1: Any, conv2: Any, conv3: Any) -> Any:
    y = jnp.pad(conv2d(x, conv1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = jnp.maximum(batch_norm(y), 0)
    y = jnp.maximum(batch_norm(conv2d(y, conv2)), 0)
    return jnp.maximum(batch_norm(conv2d(y, conv3)) + x, 0)
