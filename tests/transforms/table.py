"""Functions of each source, with one real number as their result, and the arguments they are differentiated at.

Each stands for a kind of program: elementwise, reductions, linear algebra, Fourier transforms, gather and scatter, sorting, loops, branches,
models, losses, several arguments, structures.
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
    """``shapes`` of the float64 arguments; ``kind``: ``"positive"`` (0.5 to 1.5), ``"definite"`` (a symmetric matrix) or ``"normal"``."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...] = ((3, 4),)
    kind: str = "normal"
    is_stopped: bool = False  # its gradient, too: differences of that are no second derivative

    def arguments(self, seed: int = 0) -> list[np.ndarray[Any, Any]]:
        """The arguments."""
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
    "stopped": Case(lambda x: (x * jax.lax.stop_gradient(x)).sum(), is_stopped=True),
    "checkpointed": Case(jax.checkpoint(lambda y: jnp.sin(y).sum() ** 2)),
    "inner gradient": Case(lambda x: (jax.grad(lambda y: (y**3).sum())(x) ** 2).sum()),
}

TENSORFLOW = {
    "sin": Case(lambda x: tf.reduce_sum(tf.sin(x) * x**2)),
    "softmax": Case(lambda x: tf.reduce_sum(tf.nn.softmax(x) * tf.cumsum(x))),
    "logsumexp": Case(lambda x: tf.reduce_sum(tf.reduce_logsumexp(x, -1)) + tf.reduce_mean(tf.math.log(x)), kind="positive"),
    "norm": Case(lambda x: tf.norm(x) + tf.reduce_sum(tf.math.reduce_std(x, 0))),
    "matmul": Case(lambda x, y: tf.reduce_sum(tf.tanh(x @ y)), ((3, 4), (4, 2))),
    "einsum": Case(lambda x, y: tf.reduce_sum(tf.einsum("bij,bjk->bik", x, y) ** 2), ((2, 3, 4), (2, 4, 3))),
    "solve": Case(lambda a: tf.reduce_sum(tf.linalg.solve(a, tf.ones((3, 1), a.dtype))), ((3, 3),), "definite"),
    "cholesky": Case(lambda a: tf.reduce_sum(tf.math.log(tf.linalg.diag_part(tf.linalg.cholesky(a)))), ((3, 3),), "definite"),
    "fft": Case(lambda x: tf.reduce_sum(tf.abs(tf.signal.rfft(x)) ** 2)),
    "gather": Case(lambda x: tf.reduce_sum(tf.gather(x, [0, 2, 2]) * x[:, 1:2])),
    "scatter": Case(lambda x: tf.reduce_sum(tf.scatter_nd([[0], [4], [0]], x, [5, 4]) ** 2)),
    "sort": Case(lambda x: tf.reduce_sum(tf.sort(x) * tf.range(4, dtype=x.dtype))),
    "where": Case(lambda x: tf.reduce_sum(tf.where(x > 0, x**2, tf.sin(x)))),
    "loop": Case(lambda x: tf.reduce_sum(tf.scan(lambda c, r: tf.tanh(c * 0.5 + r), x))),
    "cross entropy": Case(lambda x: tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits([0, 3, 1], x))),
    "conv": Case(lambda x, w: tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME") ** 2), ((1, 4, 4, 2), (3, 3, 2, 3))),
    "segments": Case(lambda x: tf.reduce_sum(tf.math.unsorted_segment_sum(x, [0, 1, 0], 2) ** 2)),
    "stopped": Case(lambda x: tf.reduce_sum(x * tf.stop_gradient(x)), is_stopped=True),
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
    "differences": Case(lambda x: (np.diff(x) ** 2).sum() + np.trapezoid(x).sum() + np.gradient(x, axis=0).sum()),
    "clip": Case(lambda x: np.clip(x, -0.5, 0.5).sum() + np.maximum(x, 0.1).sum()),
    "powers": Case(lambda x, y: (x**y + np.arctan2(x, y) + np.hypot(x, y)).sum(), ((4,), (4,)), "positive"),
}

SOURCES = {"torch": TORCH, "jax": JAX, "tensorflow": TENSORFLOW, "numpy": NUMPY}
CASES = [(source, name) for source, table in SOURCES.items() for name in table]
