"""Tests of gradients where elements are 0, unreachable or equal: those of torch in every target with
gradients.

A row: function, and the array with respect to which the gradient is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch._higher_order_ops.associative_scan import associative_scan  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.selection import is_jitted  # noqa: E402


def _scores(*shape: int) -> Any:
    return ((torch.arange(torch.Size(shape).numel()) * 0.61 + 0.3) % 1).reshape(shape) * 3


def _aligned(scores: Any, zero_infinity: bool, lengths: tuple[int, ...]) -> Any:
    """Repeated labels need a blank between them, so that parts of the table of the CTC loss are unreachable."""
    targets = torch.tensor([[1, 1, 2], [3, 3, 0], [1, 2, 2]])
    return F.ctc_loss(
        scores.log_softmax(-1),
        targets,
        torch.tensor(lengths),
        torch.tensor([3, 2, 3]),
        reduction="none",
        zero_infinity=zero_infinity,
    )


def _pooled(name: str) -> Callable[[Any], Any]:
    pool = getattr(F, name)
    return lambda x: pool(x, 2) ** 2


def _ramp(rank: int) -> Any:
    return torch.arange(2.0 * 4**rank).reshape(1, 2, *(4,) * rank)


def _rebuilt(x: Any, triangle: str) -> Any:
    """Return the matrix rebuilt of eigenvalues and eigenvectors, which does not depend on phases."""
    values, vectors = torch.linalg.eigh(x, triangle)
    return vectors @ torch.diag(values**2) @ vectors.mT


POSITIVE = torch.tensor([[4.0, 9.0, 9.0], [-0.5, 3.0, 9.0], [0.3, -1.0, 2.0]])
# Not symmetric: one triangle is looked at, and the gradient is that of the matrix which it tells.
TRIANGLES = torch.tensor([[4.0, 1.0, 0.5], [-0.5, 3.0, 0.2], [0.3, -1.0, 1.0]])
TWICE = torch.tensor([[0, 2], [2, 1]])
ROWS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "batch_norm-statistics": (
        lambda x: sum(
            o.square().sum() for o in torch.native_batch_norm(x, x[0], None, None, None, True, 0.1, 1e-5)
        ),
        _scores(4, 3),
    ),
    **{
        f"{kind}_pool{rank}d": (_pooled(f"{kind}_pool{rank}d"), _ramp(rank))
        for kind in ("avg", "max")
        for rank in (1, 2, 3)
    },
    "safe_softmax-nothing": (
        lambda x: torch.ops.aten._safe_softmax(x, -1) ** 2,
        torch.tensor([[-math.inf, -math.inf], [2.0, 3.0], [-math.inf, 4.0]]),
    ),
    "layer_norm-statistics": (
        lambda x: sum(o.square().sum() for o in torch.native_layer_norm(x, [3], x[0], None, 1e-5)),
        _scores(4, 3),
    ),
    "ctc_loss": (lambda x: _aligned(x, False, (4, 4, 4)), _scores(4, 3, 5)),
    "ctc_loss-no-alignment": (lambda x: _aligned(x, True, (4, 4, 3)), _scores(4, 3, 5)),
    "cumprod": (
        lambda x: x.cumprod(1),
        torch.tensor([[2.0, 0.0, 3.0, 0.0, 4.0], [1.0, 5.0, 2.0, 0.0, 3.0], [2.0, 3.0, 4.0, 5.0, 6.0]]),
    ),
    "associative_scan": (
        lambda x: associative_scan(lambda a, b: torch.exp(a.log() + b.log()), x, 0, combine_mode="generic")[
            1::2
        ],
        # The product of the last prefix and the first element overflows float32.
        torch.tensor([1e20, 1e-20, 1e20, 1e-20, 1e20]),
    ),
    "cumprod-of-one": (lambda x: x.cumprod(0), torch.tensor([0.0])),
    "element-at-computed-places": (lambda x: x[x[0].argmax(), x[:, 0].argmin()] ** 2, POSITIVE),
    "embedding-by-frequency": (lambda x: F.embedding(TWICE, x, scale_grad_by_freq=True) ** 2, _scores(4, 3)),
    "embedding-infinite": (
        lambda x: F.embedding(TWICE, x, scale_grad_by_freq=True),
        torch.tensor([[1.0, math.inf], [-math.inf, 2.0], [math.inf, 3.0]]),
    ),
    "embedding-infinite-not-scaled": (
        lambda x: F.embedding(TWICE, x.clone(), max_norm=math.inf),
        torch.tensor([[1.0, math.inf], [-math.inf, 2.0], [math.inf, 3.0]]),
    ),
    "embedding-kernel": (lambda x: torch.embedding(x, TWICE, 2, True) ** 2, _scores(4, 3)),
    "embedding-padding": (lambda x: F.embedding(TWICE, x, padding_idx=2) ** 2, _scores(4, 3)),
    "embedding-padding-from-the-end": (lambda x: F.embedding(TWICE, x, padding_idx=-4) ** 2, _scores(4, 3)),
    "embedding-scaled-down": (lambda x: F.embedding(TWICE, x.clone(), max_norm=1.5) ** 2, _scores(4, 3)),
    "embedding_bag-by-frequency": (
        lambda x: F.embedding_bag(TWICE, x, scale_grad_by_freq=True) ** 2,
        _scores(4, 3),
    ),
    "embedding_bag-padding": (
        lambda x: F.embedding_bag(TWICE, x, mode="sum", padding_idx=2) ** 2,
        _scores(4, 3),
    ),
    **{
        f"{function.__name__}-{triangle}": (
            lambda x, function=function, triangle=triangle: function(x, triangle),
            TRIANGLES,
        )
        for function in (_rebuilt, torch.linalg.eigvalsh)
        for triangle in "LU"
    },
    "pinv-hermitian": (lambda x: torch.linalg.pinv(x + x.mT, hermitian=True), TRIANGLES),
    "cholesky-L": (torch.linalg.cholesky, POSITIVE),
    "cholesky-U": (lambda x: torch.linalg.cholesky(x.mT, upper=True), POSITIVE),
    "cholesky_ex-U": (lambda x: torch.linalg.cholesky_ex(x.mT, upper=True)[0], POSITIVE),
    "power-of-0": (lambda x: x**0 + x, torch.tensor([0.0, 2.0])),
}


def _gradient(function: Callable[[Any], Any], x: Any) -> Any:
    x = x.clone().requires_grad_()
    result = function(x)
    return torch.autograd.grad((result * _weights(result)).sum(), x)[0].numpy()


def _weights(result: Any) -> Any:
    count = math.prod(result.shape)
    return torch.arange(1.0, count + 1).reshape(tuple(result.shape))


@pytest.mark.parametrize("name", ROWS)
def test_gradients_in_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    function, x = ROWS[name]
    graph = graph_compiler.compile(function, to="jax", args=(x,))

    def loss(array: Any) -> Any:
        result = graph.functional({}, array)
        return (result * _weights(result).numpy()).sum()

    slope = jax.jit(jax.grad(loss)) if is_jitted(name, "jax") else jax.grad(loss)
    np.testing.assert_allclose(slope(x.numpy()), _gradient(function, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ROWS)
def test_gradients_in_tensorflow(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    function, x = ROWS[name]
    graph = graph_compiler.compile(function, to="tensorflow", args=(x,))
    with tf.GradientTape() as tape:
        array = tf.constant(x.numpy())
        tape.watch(array)
        result = graph.functional({}, array)
        loss = tf.reduce_sum(result * _weights(result).numpy())
    np.testing.assert_allclose(
        tf.convert_to_tensor(tape.gradient(loss, array)), _gradient(function, x), rtol=1e-4, atol=1e-5
    )
