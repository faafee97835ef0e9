"""Tests of ``torch.autograd.Function`` whose backward applies the function again: values are right,
derivatives right or refused, in bounded time.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler import transforms  # noqa: E402
from graph_compiler.errors import GradientRefused  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Sine(torch.autograd.Function):
    """A function whose derivative is itself, shifted, so that rules of rules never end."""

    @staticmethod
    def forward(ctx: Any, x: Any, shifts: int) -> Any:
        ctx.save_for_backward(x)
        ctx.shifts = shifts
        return torch.sin(x + shifts * torch.pi / 2)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * (Sine.apply(x, ctx.shifts + 1) - Sine.apply(x, ctx.shifts + 3)) / 2, None


X, OTHER = torch.tensor([0.3, 1.0]), torch.tensor([-0.5, 0.1, 2.0])


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_values_are_right_whatever_the_backward_does(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(lambda x: Sine.apply(x, 0), to=to, args=(X,))
    assert_same(graph(OTHER), torch.sin(OTHER))


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_derivatives_are_right_or_refused(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(lambda x: Sine.apply(x, 0), to=to, args=(X,))
    graph(OTHER)
    x = graph.variants[-1].target.convert(OTHER)
    derivative: Any = graph
    for expected in (torch.cos(OTHER), -torch.sin(OTHER)):
        derivative = transforms.grad(lambda x, function=derivative: function(x).sum())
        assert_same(derivative(x), expected)
    for _ in range(2):
        derivative = transforms.grad(lambda x, function=derivative: function(x).sum())
    with pytest.raises(GradientRefused):
        derivative(x)


class Scaled(torch.autograd.Function):
    """A function whose gradients have the broadcast shape; torch sums them to the shape of each argument."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any) -> Any:
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, weight = ctx.saved_tensors
        return gradient * weight, gradient * x


@pytest.mark.parametrize(
    ("to", "shape"),
    [
        *(("torch", shape) for shape in ((3,), (1, 3), (1,), ())),
        *((to, shape) for to in ("jax", "tensorflow") for shape in ((3,), ())),
    ],
)
def test_a_larger_gradient_is_summed(to: str, shape: tuple[int, ...]) -> None:
    pytest.importorskip(to)
    weight = torch.linspace(1, 2, max(1, torch.Size(shape).numel())).reshape(shape).requires_grad_()
    graph = graph_compiler.compile(Scaled.apply, to=to, args=(torch.ones(4, 3), weight.detach()))
    x = torch.linspace(-1, 3, 15).reshape(5, 3)
    expected = torch.autograd.grad((Scaled.apply(x, weight) ** 2).sum(), weight)[0]
    convert = graph.variants[-1].target.convert
    graph(x, weight.detach())
    derivative = transforms.grad(lambda x, w: _total(to, graph(x, w)), argnums=1)
    assert_same(derivative(convert(x), convert(weight.detach())), expected)


def _total(to: str, made: Any) -> Any:
    if to != "tensorflow":
        return (made**2).sum()
    import tensorflow as tf

    return tf.reduce_sum(made**2)
