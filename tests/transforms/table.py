"""Functions of each source with a real number as result, and the arguments at which they are differentiated.

Each represents a kind of program: element-wise, reductions, linear algebra, Fourier transforms, gather and
scatter, sorting, loops, branches, models, losses, several arguments, structures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
import torch
from torch.nn import functional as F


@dataclass(frozen=True)
class Case:
    """A function and its float64 arguments.

    kind: ``"positive"`` (0.5 to 1.5), ``"definite"`` (a symmetric matrix) or ``"normal"``.
    """

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = ((3, 4),)
    kind: str = "normal"
    # True if the source framework has a second derivative.
    has_second: bool = True

    def arguments(self, seed: int = 0) -> list[np.ndarray[Any, Any]]:
        random = np.random.default_rng(seed)
        return [self._made(random, shape) for shape in self.shapes]

    def _made(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        made = random.standard_normal(shape) if self.kind != "positive" else random.random(shape) + 0.5
        return made @ made.T + 3 * np.eye(shape[0]) if self.kind == "definite" else np.asarray(made)


def torch_loop(x: torch.Tensor) -> torch.Tensor:
    state = x[0]
    for row in x[1:]:
        state = torch.tanh(state * 0.5 + row)
    return state.sum()


def torch_scatter(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (torch.zeros(5, 4, dtype=x.dtype).index_add(0, torch.tensor([0, 4, 0]), x) ** 2 * y.sum()).sum()


def torch_written(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[1:] *= x[:-1]
    y[0, 1] = x.sum()
    return (y**2).sum()


TORCH = {
    "sin": Case(lambda x: (torch.sin(x) * x**2).sum()),
    "softplus": Case(lambda x: F.softplus(x).mean() + F.gelu(x).sum() + F.silu(x).sum()),
    "log of a sum": Case(lambda x: torch.logsumexp(x, -1).sum() + torch.log(x).mean(), kind="positive"),
    "norm": Case(lambda x: torch.linalg.vector_norm(x) + x.std() + x.var(0).sum()),
    "softmax": Case(lambda x: (F.softmax(x, -1) * torch.cumsum(x, 0)).sum()),
    "layer norm": Case(lambda x, w: (F.layer_norm(x, (4,), w) ** 3).sum(), ((3, 4), (4,))),
    "cross entropy": Case(lambda x: F.cross_entropy(x, torch.tensor([0, 3, 1]))),
    "huber": Case(lambda x, y: F.huber_loss(x, y) + F.smooth_l1_loss(x, y) + F.mse_loss(x, y), ((3, 4), (3, 4))),
    "matmul": Case(lambda x, y: torch.tanh(x @ y).sum(), ((3, 4), (4, 2))),
    "einsum": Case(lambda x, y: (torch.einsum("bij,bjk->bik", x, y) ** 2).sum(), ((2, 3, 4), (2, 4, 3))),
    "solve": Case(lambda a: torch.linalg.solve(a, torch.ones(3, dtype=a.dtype)).sum(), ((3, 3),), "definite"),
    "cholesky": Case(lambda a: torch.linalg.cholesky(a).diagonal().log().sum() + torch.logdet(a), ((3, 3),), "definite"),
    "inverse": Case(lambda a: (torch.linalg.inv(a) ** 2).sum() + torch.linalg.det(a), ((3, 3),), "definite"),
    "fft": Case(lambda x: (torch.fft.rfft(x, dim=-1).abs() ** 2).sum() + torch.fft.fft(x).real.pow(3).sum()),
    "gather": Case(lambda x: (x[[0, 2, 2]] * x[:, [1]]).sum() + x.gather(1, torch.tensor([[0], [3], [1]])).pow(2).sum()),
    "scatter": Case(torch_scatter, ((3, 4), (2,))),
    "sort": Case(lambda x: (torch.sort(x, -1).values * torch.arange(4.0, dtype=x.dtype)).sum() + x.topk(2, 0).values.pow(2).sum()),
    "where": Case(lambda x: torch.where(x > 0, x**2, torch.sin(x)).sum() + torch.clamp(x, -0.5, 0.5).sum()),
    "conv": Case(lambda x, w: (F.conv2d(x, w, padding=1) ** 2).sum() + F.max_pool2d(x, 2).sum(), ((1, 2, 4, 4), (3, 2, 3, 3))),
    "attention": Case(lambda q, k: F.scaled_dot_product_attention(q, k, k).pow(2).sum(), ((1, 3, 4), (1, 5, 4))),
    "loop": Case(torch_loop),
    "written": Case(torch_written),
    "special": Case(lambda x: (torch.lgamma(x) + torch.erf(x) + torch.special.i0(x)).sum(), kind="positive"),
    "powers": Case(lambda x, y: (x**y + torch.atan2(x, y) + torch.hypot(x, y)).sum(), ((4,), (4,)), "positive"),
    "tanh": Case(lambda x: torch.tanh(x).prod()),
    "scattered products": Case(lambda x: torch.ones(3, 2, dtype=x.dtype).scatter_reduce(1, torch.tensor([[0, 1, 1, 0]] * 3), x, "prod").pow(3).sum()),
    "cholesky inverse": Case(lambda a: torch.cholesky_inverse(torch.linalg.cholesky(a)).sum(), ((3, 3),), "definite"),
    "embedding": Case(lambda w: F.embedding(torch.tensor([[0, 1], [2, 2]]), w).pow(3).sum(), ((4, 3),)),
    "log1p": Case(lambda x: (torch.log1p(x) + torch.expm1(x) + torch.exp2(x)).sum(), kind="positive"),
    "cumulative": Case(lambda x: x.cummax(1).values.pow(2).sum() + x.cumprod(0).sum()),
    "elu": Case(lambda x: (F.elu(x) + F.selu(x) + F.leaky_relu(x, 0.1)).pow(2).sum()),
    "log softmax": Case(lambda x: (F.log_softmax(x, 0) * x).sum()),
    "kl": Case(lambda x, y: F.kl_div(F.log_softmax(x, -1), F.softmax(y, -1), reduction="sum"), ((3, 4), (3, 4))),
    "bce": Case(lambda x, y: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y)), ((3, 4), (3, 4))),
    "cosine": Case(lambda x, y: F.cosine_similarity(x, y).sum(), ((3, 4), (3, 4))),
    "distances": Case(lambda x, y: torch.cdist(x, y).sum(), ((3, 4), (2, 4)), has_second=False),
    "batch norm": Case(lambda x, w: (F.batch_norm(x, None, None, w, training=True) ** 3).sum(), ((5, 4), (4,))),
    "group norm": Case(lambda x: (F.group_norm(x, 2) ** 3).sum(), ((2, 4, 3),)),
    "rms norm": Case(lambda x, w: (F.rms_norm(x, (4,), w) ** 3).sum(), ((3, 4), (4,))),
    "average pool": Case(lambda x: F.avg_pool2d(x, 2).pow(3).sum(), ((1, 2, 4, 4),)),
    "conv1d": Case(lambda x, w: F.conv1d(x, w, stride=2).pow(2).sum(), ((1, 2, 7), (3, 2, 3))),
    "transposed conv": Case(lambda x, w: F.conv_transpose2d(x, w).pow(2).sum(), ((1, 2, 3, 3), (2, 2, 2, 2))),
    "pad": Case(lambda x: F.pad(x, (1, 2)).cumsum(1).pow(2).sum()),
    "roll": Case(lambda x: (x.roll(1, 0) * x.flip(1)).sum()),
    "cat": Case(lambda x, y: torch.cat([x, y]).mul(torch.stack([y, x]).reshape(6, 4)).sum(), ((3, 4), (3, 4))),
    "triangle": Case(lambda x: (x.tril() @ x.triu()).sum() + x.trace() ** 2, ((3, 3),)),
    "outer": Case(lambda x, y: torch.outer(x, y).sin().sum() + torch.dot(x, x), ((4,), (3,))),
    "kron": Case(lambda x, y: torch.kron(x, y).pow(2).sum(), ((2, 3), (3, 2))),
    "extremes": Case(lambda x: x.max() * x.min() + x.amax(0).sum() + x.median()),
    "masked": Case(lambda x: x.masked_fill(x > 0.5, 0.0).pow(2).sum() + x.clamp(min=0).sum()),
}  # fmt: skip

JAX = {
    "sin": Case(lambda x: (jnp.sin(x) * x**2).sum()),
    "softmax": Case(lambda x: (jax.nn.softmax(x, -1) * jnp.cumsum(x, 0)).sum()),
    "logsumexp": Case(lambda x: jax.nn.logsumexp(x, -1).sum() + jnp.log(x).mean(), kind="positive"),
    "norm": Case(lambda x: jnp.linalg.norm(x) + x.std() + x.var(0).sum()),
    "matmul": Case(lambda x, y: jnp.tanh(x @ y).sum(), ((3, 4), (4, 2))),
    "einsum": Case(lambda x, y: (jnp.einsum("bij,bjk->bik", x, y) ** 2).sum(), ((2, 3, 4), (2, 4, 3))),
    "solve": Case(lambda a: jnp.linalg.solve(a, jnp.ones(3)).sum(), ((3, 3),), "definite"),
    "cholesky": Case(lambda a: jnp.log(jnp.diagonal(jnp.linalg.cholesky(a))).sum(), ((3, 3),), "definite"),
    "fft": Case(lambda x: (jnp.abs(jnp.fft.rfft(x)) ** 2).sum()),
    "gather": Case(lambda x: (x[jnp.array([0, 2, 2])] * x[:, 1:2]).sum()),
    "scatter": Case(lambda x: (jnp.zeros((5, 4)).at[jnp.array([0, 4, 0])].add(x) ** 2).sum()),
    "sort": Case(lambda x: (jnp.sort(x, -1) * jnp.arange(4.0)).sum()),
    "where": Case(lambda x: jnp.where(x > 0, x**2, jnp.sin(x)).sum()),
    "scan": Case(lambda x: jax.lax.scan(lambda c, r: (jnp.tanh(c * 0.5 + r), c.sum()), x[0], x)[1].sum()),
    "branch": Case(lambda x: jax.lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x).sum()),
    "fori loop": Case(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) + y, x).sum()),
    "rule": Case(lambda x: jax.nn.relu6(x).sum() + jax.nn.silu(x).sum()),
    "stopped": Case(lambda x: (x * jax.lax.stop_gradient(x)).sum()),
    "checkpointed": Case(jax.checkpoint(lambda y: jnp.sin(y).sum() ** 2)),
    "inner gradient": Case(lambda x: (jax.grad(lambda y: (y**3).sum())(x) ** 2).sum()),
    "tanh": Case(lambda x: jnp.prod(jnp.tanh(x))),
    "cosh": Case(lambda x: (jnp.cosh(x) * jnp.sinh(x)).mean()),
    "arcs": Case(lambda x: (jnp.arcsin(x / 3) + jnp.arccos(x / 3) + jnp.arctan(x)).sum(), kind="positive"),
    "log1p": Case(lambda x: (jnp.log1p(x) + jnp.expm1(x) + jnp.exp2(x)).sum(), kind="positive"),
    "sigmoid": Case(lambda x: (jax.nn.sigmoid(x) * jax.nn.log_sigmoid(x)).sum()),
    "elu": Case(lambda x: ((jax.nn.elu(x) + jax.nn.selu(x) + jax.nn.leaky_relu(x)) ** 2).sum()),
    "gelu": Case(lambda x: (jax.nn.gelu(x) * jax.nn.softplus(x)).sum()),
    "log softmax": Case(lambda x: (jax.nn.log_softmax(x, 0) * x).sum()),
    "powers": Case(lambda x, y: (x**y + jnp.arctan2(x, y) + jnp.hypot(x, y)).sum(), ((4,), (4,)), "positive"),
    "determinant": Case(lambda a: jnp.linalg.slogdet(a)[1] + jnp.linalg.inv(a).sum(), ((3, 3),), "definite"),
    "eigenvalues": Case(lambda a: (jnp.linalg.eigvalsh(a + a.T) ** 3).sum(), ((3, 3),), "definite"),
    "outer": Case(lambda x, y: jnp.sin(jnp.outer(x, y)).sum() + jnp.dot(x, x), ((4,), (3,))),
    "kron": Case(lambda x, y: (jnp.kron(x, y) ** 2).sum(), ((2, 3), (3, 2))),
    "triangle": Case(lambda x: (jnp.tril(x) @ jnp.triu(x)).sum() + jnp.trace(x) ** 2, ((3, 3),)),
    "extremes": Case(lambda x: x.max() * x.min() + x.max(0).sum()),
    "clip": Case(lambda x: jnp.clip(x, -0.5, 0.5).sum() + (jnp.maximum(x, 0.1) ** 2).sum()),
    "pad": Case(lambda x: (jnp.cumsum(jnp.pad(x, ((0, 0), (1, 2))), 1) ** 2).sum()),
    "roll": Case(lambda x: (jnp.roll(x, 1, 0) * x[:, ::-1]).sum()),
    "concatenate": Case(
        lambda x, y: (jnp.concatenate([x, y]) * jnp.stack([y, x]).reshape(6, 4)).sum(), ((3, 4), (3, 4))
    ),
    "conv": Case(lambda x, w: (jax.lax.conv(x, w, (1, 1), "SAME") ** 2).sum(), ((1, 2, 4, 4), (3, 2, 3, 3))),
    "vmap": Case(lambda x, y: jax.vmap(lambda a: jnp.dot(a, y) ** 2)(x).sum(), ((3, 4), (4,))),
    "segments": Case(lambda x: (jax.ops.segment_sum(x, jnp.array([0, 1, 0]), 2) ** 2).sum()),
    "set": Case(lambda x: (x.at[0].set(x[1] * 2).at[1, 2].multiply(3.0) ** 2).sum()),
    "checkpointed loop": Case(
        lambda x: jax.lax.scan(jax.checkpoint(lambda c, r: (jnp.sin(c) * r, c)), x[0], x)[1].sum()
    ),
    "attention": Case(lambda q, k: (jax.nn.softmax(q @ k.T / 2, -1) @ k).sum() ** 2, ((3, 4), (5, 4))),
    "special": Case(
        lambda x: (jax.scipy.special.gammaln(x) + jax.scipy.special.erf(x)).sum(), kind="positive"
    ),
    "differences": Case(lambda x: (jnp.diff(x) ** 2).sum() + (jnp.cumprod(x, 1)).sum()),
    "layer norm": Case(
        lambda x: (
            ((x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)) ** 3
        ).sum()
    ),
    "cross entropy": Case(
        lambda x: -jnp.take_along_axis(jax.nn.log_softmax(x), jnp.array([[0], [3], [1]]), 1).mean()
    ),
    "switch": Case(lambda x: jax.lax.switch(1, [jnp.sin, jnp.cos], x).sum()),
}

TENSORFLOW = {
    "sin": Case(lambda x: tf.reduce_sum(tf.sin(x) * x**2)),
    "softmax": Case(lambda x: tf.reduce_sum(tf.nn.softmax(x) * tf.cumsum(x))),
    "logsumexp": Case(
        lambda x: tf.reduce_sum(tf.reduce_logsumexp(x, -1)) + tf.reduce_mean(tf.math.log(x)), kind="positive"
    ),
    "norm": Case(lambda x: tf.norm(x) + tf.reduce_sum(tf.math.reduce_std(x, 0))),
    "matmul": Case(lambda x, y: tf.reduce_sum(tf.tanh(x @ y)), ((3, 4), (4, 2))),
    "einsum": Case(lambda x, y: tf.reduce_sum(tf.einsum("bij,bjk->bik", x, y) ** 2), ((2, 3, 4), (2, 4, 3))),
    "solve": Case(
        lambda a: tf.reduce_sum(tf.linalg.solve(a, tf.ones((3, 1), a.dtype))), ((3, 3),), "definite"
    ),
    "cholesky": Case(
        lambda a: tf.reduce_sum(tf.math.log(tf.linalg.diag_part(tf.linalg.cholesky(a)))),
        ((3, 3),),
        "definite",
    ),
    "fft": Case(lambda x: tf.reduce_sum(tf.abs(tf.signal.rfft(x)) ** 2)),
    "gather": Case(lambda x: tf.reduce_sum(tf.gather(x, [0, 2, 2]) * x[:, 1:2])),
    "scatter": Case(lambda x: tf.reduce_sum(tf.scatter_nd([[0], [4], [0]], x, [5, 4]) ** 2)),
    "sort": Case(lambda x: tf.reduce_sum(tf.sort(x) * tf.range(4, dtype=x.dtype))),
    "where": Case(lambda x: tf.reduce_sum(tf.where(x > 0, x**2, tf.sin(x)))),
    "loop": Case(lambda x: tf.reduce_sum(tf.scan(lambda c, r: tf.tanh(c * 0.5 + r), x))),
    "cross entropy": Case(
        lambda x: tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits([0, 3, 1], x))
    ),
    "conv": Case(
        lambda x, w: tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME") ** 2), ((1, 4, 4, 2), (3, 3, 2, 3))
    ),
    "segments": Case(lambda x: tf.reduce_sum(tf.math.unsorted_segment_sum(x, [0, 1, 0], 2) ** 2)),
    "stopped": Case(lambda x: tf.reduce_sum(x * tf.stop_gradient(x))),
    "tanh": Case(lambda x: tf.reduce_prod(tf.tanh(x))),
    "cosh": Case(lambda x: tf.reduce_mean(tf.cosh(x) * tf.sinh(x))),
    "arcs": Case(lambda x: tf.reduce_sum(tf.asin(x / 3) + tf.acos(x / 3) + tf.atan(x)), kind="positive"),
    "log1p": Case(lambda x: tf.reduce_sum(tf.math.log1p(x) + tf.math.expm1(x)), kind="positive"),
    "sigmoid": Case(lambda x: tf.reduce_sum(tf.sigmoid(x) * tf.math.log_sigmoid(x))),
    "elu": Case(lambda x: tf.reduce_sum((tf.nn.elu(x) + tf.nn.selu(x) + tf.nn.leaky_relu(x)) ** 2)),
    "gelu": Case(lambda x: tf.reduce_sum(tf.nn.gelu(x) * tf.nn.softplus(x))),
    "log softmax": Case(lambda x: tf.reduce_sum(tf.nn.log_softmax(x) * x)),
    "powers": Case(lambda x, y: tf.reduce_sum(x**y + tf.atan2(x, y)), ((4,), (4,)), "positive"),
    "determinant": Case(
        lambda a: tf.linalg.logdet(a) + tf.reduce_sum(tf.linalg.inv(a)), ((3, 3),), "definite"
    ),
    "triangle": Case(
        lambda x: tf.reduce_sum(tf.linalg.band_part(x, -1, 0) @ x) + tf.linalg.trace(x) ** 2, ((3, 3),)
    ),
    "extremes": Case(lambda x: tf.reduce_max(x) * tf.reduce_min(x) + tf.reduce_sum(tf.reduce_max(x, 0))),
    "clip": Case(
        lambda x: tf.reduce_sum(tf.clip_by_value(x, -0.5, 0.5)) + tf.reduce_sum(tf.maximum(x, 0.1) ** 2)
    ),
    "pad": Case(lambda x: tf.reduce_sum(tf.cumsum(tf.pad(x, [[0, 0], [1, 2]]), 1) ** 2)),
    "roll": Case(lambda x: tf.reduce_sum(tf.roll(x, 1, 0) * tf.reverse(x, [1]))),
    "concat": Case(
        lambda x, y: tf.reduce_sum(tf.concat([x, y], 0) * tf.reshape(tf.stack([y, x]), [6, 4])),
        ((3, 4), (3, 4)),
    ),
    "pool": Case(lambda x: tf.reduce_sum(tf.nn.avg_pool2d(x, 2, 2, "VALID") ** 3), ((1, 4, 4, 2),)),
    "depthwise": Case(
        lambda x, w: tf.reduce_sum(tf.nn.depthwise_conv2d(x, w, [1] * 4, "SAME") ** 2),
        ((1, 4, 4, 2), (3, 3, 2, 1)),
    ),
    "update": Case(lambda x: tf.reduce_sum(tf.tensor_scatter_nd_update(x, [[1]], x[:1] * 2) ** 2)),
    "top": Case(lambda x: tf.reduce_sum(tf.math.top_k(x, 2).values ** 2)),
    "attention": Case(
        lambda q, k: tf.reduce_sum(tf.nn.softmax(q @ tf.transpose(k) / 2) @ k) ** 2, ((3, 4), (5, 4))
    ),
    "special": Case(lambda x: tf.reduce_sum(tf.math.lgamma(x) + tf.math.erf(x)), kind="positive"),
    "layer norm": Case(
        lambda x: tf.reduce_sum(
            ((x - tf.reduce_mean(x, -1, keepdims=True)) / tf.math.reduce_std(x, -1, keepdims=True)) ** 3
        )
    ),
    "batch norm": Case(
        lambda x: tf.reduce_sum(tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), None, None, 1e-3) ** 3),
        ((5, 4),),
    ),
    "moments": Case(
        lambda x: (
            tf.reduce_sum(tf.math.reduce_variance(x, 0)) + tf.reduce_mean(tf.math.squared_difference(x, 1.0))
        )
    ),
    "one hot": Case(lambda x: tf.reduce_sum(tf.one_hot([0, 3, 1], 4, dtype=x.dtype) * tf.nn.softmax(x))),
    "tensordot": Case(lambda x, y: tf.reduce_sum(tf.tensordot(x, y, [[0], [0]]) ** 2), ((3, 4), (3, 2))),
    "l2": Case(lambda x: tf.nn.l2_loss(x) + tf.reduce_sum(tf.math.l2_normalize(x, -1) ** 3)),
    "switch": Case(lambda x: tf.reduce_sum(tf.cond(x[0, 0] > 0, lambda: tf.sin(x), lambda: tf.cos(x)))),
    "while": Case(
        lambda x: tf.reduce_sum(
            tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) + y), (tf.constant(0), x))[1]
        )
    ),
    "xlogy": Case(lambda x, y: tf.reduce_sum(tf.math.xlogy(x, y)), ((4,), (4,)), "positive"),
    "squares": Case(
        lambda x: tf.reduce_sum(tf.sqrt(x) + tf.math.rsqrt(x) + tf.math.reciprocal(x)), kind="positive"
    ),
}

NUMPY = {
    "sin": Case(lambda x: (np.sin(x) * x**2).sum()),
    "norm": Case(lambda x: np.linalg.norm(x) + x.std() + x.var(0).sum()),
    "logarithms": Case(lambda x: np.log(x).mean() + np.log1p(x).sum(), kind="positive"),
    "matmul": Case(lambda x, y: np.tanh(x @ y).sum(), ((3, 4), (4, 2))),
    "einsum": Case(lambda x, y: (np.einsum("bij,bjk->bik", x, y) ** 2).sum(), ((2, 3, 4), (2, 4, 3))),
    "solve": Case(lambda a: np.linalg.solve(a, np.ones(3)).sum(), ((3, 3),), "definite"),
    "determinant": Case(lambda a: np.linalg.slogdet(a)[1] + np.linalg.inv(a).sum(), ((3, 3),), "definite"),
    "fft": Case(lambda x: (np.abs(np.fft.rfft(x)) ** 2).sum()),
    "gather": Case(lambda x: (x[[0, 2, 2]] * x[:, 1:2]).sum()),
    "sort": Case(lambda x: (np.sort(x, -1) * np.arange(4.0)).sum()),
    "where": Case(lambda x: np.where(x > 0, x**2, np.sin(x)).sum()),
    "differences": Case(
        lambda x: (np.diff(x) ** 2).sum() + np.trapezoid(x).sum() + np.gradient(x, axis=0).sum()
    ),
    # No element is so close to a kink that a difference would cross it.
    "clip": Case(lambda x: np.clip(x, -0.5, 0.5).sum() + np.maximum(x, 0.2).sum()),
    "powers": Case(lambda x, y: (x**y + np.arctan2(x, y) + np.hypot(x, y)).sum(), ((4,), (4,)), "positive"),
    "tanh": Case(lambda x: np.prod(np.tanh(x))),
    "cosh": Case(lambda x: (np.cosh(x) * np.sinh(x)).mean()),
    "arcs": Case(lambda x: (np.arcsin(x / 3) + np.arccos(x / 3) + np.arctan(x)).sum(), kind="positive"),
    "exponentials": Case(
        lambda x: (np.expm1(x) + np.exp2(x) + np.log2(x) + np.log10(x)).sum(), kind="positive"
    ),
    "roots": Case(lambda x: (np.sqrt(x) + np.cbrt(x) + 1 / x).sum(), kind="positive"),
    "softmax": Case(lambda x: (np.exp(x) / np.exp(x).sum(-1, keepdims=True) * x).sum()),
    "logaddexp": Case(lambda x, y: np.logaddexp(x, y).sum(), ((4,), (4,))),
    "outer": Case(lambda x, y: np.sin(np.outer(x, y)).sum() + np.dot(x, x), ((4,), (3,))),
    "kron": Case(lambda x, y: (np.kron(x, y) ** 2).sum(), ((2, 3), (3, 2))),
    "triangle": Case(lambda x: (np.tril(x) @ np.triu(x)).sum() + np.trace(x) ** 2, ((3, 3),)),
    "extremes": Case(lambda x: x.max() * x.min() + x.max(0).sum()),
    "pad": Case(lambda x: (np.cumsum(np.pad(x, ((0, 0), (1, 2))), 1) ** 2).sum()),
    "roll": Case(lambda x: (np.roll(x, 1, 0) * x[:, ::-1]).sum()),
    "concatenate": Case(
        lambda x, y: (np.concatenate([x, y]) * np.stack([y, x]).reshape(6, 4)).sum(), ((3, 4), (3, 4))
    ),
    "cholesky": Case(
        lambda a: np.log(np.diagonal(np.linalg.cholesky((a + a.T) / 2))).sum(), ((3, 3),), "definite"
    ),
    "tensordot": Case(lambda x, y: (np.tensordot(x, y, ((0,), (0,))) ** 2).sum(), ((3, 4), (3, 2))),
    "means": Case(lambda x: np.average(x, axis=0, weights=np.arange(1.0, 4.0)).sum() ** 2 + np.ptp(x)),
    "cumulative": Case(lambda x: np.cumprod(x, 1).sum() + np.cumsum(x, 0).std()),
    "absolute": Case(lambda x: np.abs(x).sum() * np.sign(x).sum() + np.square(x).mean()),
    "attention": Case(lambda q, k: (np.exp(q @ k.T / 2) @ k).sum(), ((3, 4), (5, 4))),
    "polynomial": Case(lambda x: np.polyval(np.array([1.0, -2.0, 3.0]), x).sum()),
    "interpolated": Case(lambda x: np.interp(np.array([0.5, 1.5]), np.arange(4.0), x[0]).sum() ** 2),
    "repeat": Case(lambda x: (np.repeat(x, 2, 0) * np.tile(x, (2, 1))).sum()),
    "cross": Case(lambda x, y: (np.cross(x, y) ** 2).sum(), ((4, 3), (4, 3))),
    "convolve": Case(lambda x, y: (np.convolve(x, y) ** 2).sum(), ((5,), (3,))),
    "swapped": Case(lambda x: (np.swapaxes(x, 0, 1) @ np.moveaxis(x, 0, 0)).sum()),
    "written": Case(lambda x: (np.where(np.arange(4) > 1, x * 2, np.sin(x)) ** 2).sum()),
    "loop": Case(lambda x: sum((np.tanh(row) * place).sum() for place, row in enumerate(x))),
    "sinc": Case(lambda x: (np.sinc(x) + np.hypot(x, 1.0)).sum(), kind="positive"),
    "variance": Case(lambda x: np.var(x, axis=1).sum() * np.std(x)),
    "broadcast": Case(lambda x: (np.broadcast_to(x[0], (3, 4)) * x).sum()),
    "indexed": Case(lambda x: (x[np.array([0, 1]), np.array([2, 3])] ** 2).sum() + (x[..., 1:3] ** 3).sum()),
    "fourth": Case(lambda x: ((x - x.mean()) ** 4).mean() / x.var() ** 2),
    "entropy": Case(lambda x: -(x / x.sum() * np.log(x / x.sum())).sum(), kind="positive"),
    "huber": Case(lambda x: np.where(np.abs(x) < 1, x**2 / 2, np.abs(x) - 0.5).sum()),
    "gaussian": Case(lambda x: np.exp(-(x**2) / 2).sum() ** 2),
}

SOURCES = {"torch": TORCH, "jax": JAX, "tensorflow": TENSORFLOW, "numpy": NUMPY}
CASES = [(source, name) for source, table in SOURCES.items() for name in table]
