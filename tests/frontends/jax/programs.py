"""Small programs as users write them in JAX, at two sizes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax

from tests.support.samples import array, ints


def attention(q, k, v):
    scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((q.shape[-2], k.shape[-2]), dtype=bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return weights @ v, weights


def mlp_loss(params, x, labels):
    hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
    logits = hidden @ params["w2"] + params["b2"]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1)
    return -picked.mean()


def sgd_step(params, x, labels):
    loss, grads = jax.value_and_grad(mlp_loss)(params, x, labels)
    return loss, jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


def conv_block(x, kernel, scale, shift):
    y = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
    y = jax.nn.relu((y - mean) * lax.rsqrt(variance + 1e-5) * scale + shift)
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def fft_filter(signal):
    spectrum = jnp.fft.rfft(signal)
    frequencies = jnp.fft.rfftfreq(signal.shape[-1])
    return jnp.fft.irfft(jnp.where(frequencies < 0.25, spectrum, 0), n=signal.shape[-1])


def least_squares(x, y):
    design = jnp.stack([jnp.ones_like(x), x, x**2], axis=1)
    coefficients = jnp.linalg.solve(design.T @ design + 1e-3 * jnp.eye(3), design.T @ y)
    return coefficients, jnp.sum((design @ coefficients - y) ** 2)


def conjugate_gradients(a, b):
    definite = jax.device_put(a @ a.T) + jnp.eye(a.shape[0]) * 5
    jax.debug.print("solving for {}", b.sum())
    return jax.scipy.sparse.linalg.cg(lambda v: definite @ v, b, maxiter=3, tol=0.0)[0]


def k_means(points, centres):
    for _ in range(3):
        distances = jnp.sum((points[:, None] - centres[None]) ** 2, axis=-1)
        nearest = jax.nn.one_hot(jnp.argmin(distances, axis=1), centres.shape[0])
        centres = (nearest.T @ points) / jnp.maximum(nearest.sum(0)[:, None], 1)
    return centres


def n_body(positions, velocities, masses):
    for _ in range(2):
        offsets = positions[None] - positions[:, None]
        distances = jnp.sqrt((offsets**2).sum(-1) + 0.1)
        forces = (masses[None, :, None] * offsets / distances[..., None] ** 3).sum(1)
        velocities = velocities + 0.01 * forces
        positions = positions + 0.01 * velocities
    energy = 0.5 * (masses * (velocities**2).sum(-1)).sum()
    return positions, velocities, energy


def layer_norm(x, scale):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-6) * scale


def rope(x):
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[-2])[:, None] / 10000 ** (jnp.arange(half) / half)
    left, right = jnp.split(x, 2, axis=-1)
    return jnp.concatenate(
        [left * jnp.cos(angles) - right * jnp.sin(angles), left * jnp.sin(angles) + right * jnp.cos(angles)],
        axis=-1,
    )


def beam(log_probabilities, k_first):
    values, tokens = lax.top_k(log_probabilities, 2)
    return values + k_first[:, None], tokens


def per_example_gradients(w, x, y):
    return jax.vmap(jax.grad(lambda u, a, b: (jnp.tanh(a @ u) - b) ** 2), in_axes=(None, 0, 0))(w, x, y)


def histogram_matching(x):
    order = jnp.argsort(x)
    ranks = jnp.zeros_like(order).at[order].set(jnp.arange(x.shape[0]))
    return ranks / x.shape[0]


def batch_index(x, i):
    return x[jnp.arange(x.shape[0]), i]


def recurrent(x, w):
    return lax.scan(lambda state, row: (jnp.tanh(row + state @ w), state.sum()), jnp.zeros(w.shape[0]), x)


def newton(x):
    return lax.fori_loop(0, 5, lambda i, y: 0.5 * (y + x / y), x + i_zero(x))


def i_zero(x):
    return lax.cond(x.sum() > 0, lambda y: y * 0, lambda y: y * 0 + 1, x)


_MLP = {"w1": array(4, 8), "b1": array(8), "w2": array(8, 3), "b2": array(3)}
_QKV, _OTHER_QKV = (array(2, 5, 4),) * 3, (array(3, 7, 6),) * 3
_CONV = (array(3, 3, 3, 4), array(4), array(4))

# (function, arguments, other arguments)
PROGRAMS: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = [
    (attention, _QKV, _OTHER_QKV),
    (mlp_loss, (_MLP, array(5, 4), ints(5, low=0, high=3)), (_MLP, array(9, 4), ints(9, low=0, high=3))),
    (sgd_step, (_MLP, array(5, 4), ints(5, low=0, high=3)), (_MLP, array(9, 4), ints(9, low=0, high=3))),
    (conv_block, (array(2, 8, 8, 3), *_CONV), (array(1, 6, 10, 3), *_CONV)),
    (fft_filter, (array(3, 16),), (array(2, 10),)),
    (least_squares, (array(10), array(10)), (array(7), array(7))),
    (conjugate_gradients, (array(4, 4), array(4)), (array(6, 6), array(6))),
    (k_means, (array(12, 2), array(3, 2)), (array(20, 3), array(4, 3))),
    (
        n_body,
        (array(4, 3), array(4, 3), array(4, kind="positive")),
        (array(6, 3), array(6, 3), array(6, kind="positive")),
    ),
    (layer_norm, (array(2, 3, 8), array(8)), (array(4, 5, 6), array(6))),
    (rope, (array(2, 5, 8),), (array(3, 7, 4),)),
    (beam, (array(3, 7), array(3)), (array(2, 9), array(2))),
    (per_example_gradients, (array(4), array(6, 4), array(6)), (array(3), array(5, 3), array(5))),
    (histogram_matching, (array(8),), (array(5),)),
    (recurrent, (array(4, 3), array(3, 3)), (array(4, 5), array(5, 5))),
    (newton, (array(4, kind="positive"),), (array(7, kind="positive"),)),
    (batch_index, (array(5, 4), ints(5, low=0, high=4)), (array(3, 6), ints(3, low=0, high=6))),
]


class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.attention = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)
        self.norm1, self.norm2 = nnx.LayerNorm(8, rngs=rngs), nnx.RMSNorm(8, rngs=rngs)
        self.up, self.down = nnx.Linear(8, 16, rngs=rngs), nnx.Linear(16, 8, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nnx.gelu(self.up(self.norm2(x))))


class ConvNet(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.conv, self.norm = (
            nnx.Conv(3, 4, (3, 3), rngs=rngs),
            nnx.BatchNorm(4, use_running_average=True, rngs=rngs),
        )
        self.head = nnx.Linear(4, 5, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), strides=(2, 2))
        return self.head(x.mean((1, 2)))


class Embedded(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.table, self.block = nnx.Embed(11, 8, rngs=rngs), Block(rngs)

    def __call__(self, tokens):
        return self.table.attend(self.block(self.table(tokens)))


# (class, argument, other argument)
MODULES: list[tuple[Any, Any, Any]] = [
    (Block, array(2, 5, 8), array(3, 7, 8)),
    (ConvNet, array(2, 8, 8, 3), array(3, 6, 10, 3)),
    (Embedded, ints(2, 5, low=0, high=11), ints(3, 4, low=0, high=11)),
]

CONSTANT, NUMBERS = jnp.arange(4.0), np.arange(4, dtype=np.float32)
