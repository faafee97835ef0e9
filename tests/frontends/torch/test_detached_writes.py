"""Tests of gradients where the memory of a tensor is written to through ``.data``, ``detach`` or ``no_grad``, or
copied by ``torch.tensor``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402


def a_copy(x: Any, w: Any) -> Any:
    y = torch.zeros(x.shape[0])
    y.data.copy_(w * 2)
    return y * x


def an_assignment(x: Any, w: Any) -> Any:
    y = torch.zeros(x.shape[0])
    y.data[:] = w * 2
    return y * x, y + 1


def a_kept_alias(x: Any, w: Any) -> Any:
    """Not the owner of the memory but the alias gets the gradient."""
    y = torch.zeros(x.shape[0])
    alias = y.detach()
    alias.copy_(w)
    alias.mul_(3)
    return y * x + alias * 5


def a_view_of_an_alias(x: Any, w: Any) -> Any:
    y = torch.zeros(x.shape[0])
    y[:2].copy_(w[:2])
    y[1:].data.mul_(w[1:])
    return y * x + y[:1]


def behind_a_write(x: Any, w: Any) -> Any:
    y = torch.zeros(x.shape[0])
    y.copy_(w)
    y.data.mul_(2)
    return y * x


def without_gradients_behind_a_write(x: Any, w: Any) -> Any:
    y = torch.zeros(x.shape[0])
    y += w
    with torch.no_grad():
        y.mul_(2)
        z = y * 2
    return y * x + z


def of_a_differentiable_tensor(x: Any, w: Any) -> Any:
    y = w * 1
    y.data.copy_(x * w)
    return y * y


def a_copy_of_complex_numbers(x: Any, w: Any) -> Any:
    return torch.tensor(torch.complex(w, x)).real * w


FUNCTIONS = (
    a_copy,
    an_assignment,
    a_kept_alias,
    a_view_of_an_alias,
    behind_a_write,
    without_gradients_behind_a_write,
    of_a_differentiable_tensor,
    pytest.param(
        a_copy_of_complex_numbers, marks=pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
    ),
)


def arrays(size: int) -> tuple[Any, Any]:
    return np.arange(2.0, 2.0 + size, dtype="float32"), np.arange(1.0, 1.0 + size, dtype="float32")


def gradient_in_torch(function: Callable[..., Any], size: int) -> Any:
    """Return the gradient of the sum of all results in ``w``; zeros if they have none."""
    x, w = map(torch.tensor, arrays(size))
    w.requires_grad_()
    results = function(x, w)
    total = sum(item.sum() for item in (results if isinstance(results, tuple) else (results,)))
    return torch.autograd.grad(total, w)[0] if total.requires_grad else torch.zeros(size)


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients(function: Callable[..., Any], to: str) -> None:
    graph = graph_compiler.compile(function, to=to, args=tuple(map(torch.tensor, arrays(3))))
    for size in (3, 5):
        if to == "torch":
            found = gradient_in_torch(graph, size)
        else:
            x, w = arrays(size)
            found = jax.grad(lambda w, x=x: sum(item.sum() for item in jax.tree.leaves(graph(x, w))))(w)
        assert np.array_equal(found, gradient_in_torch(function, size))
