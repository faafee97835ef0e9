"""``torch.autograd.Function`` whose backward applies the function itself: values are right, derivatives right or refused, in bounded time."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from graph_compiler import transforms  # noqa: E402
from graph_compiler.errors import GradientRefused  # noqa: E402

from ..support.compare import assert_same  # noqa: E402


class Sine(torch.autograd.Function):
    """Its derivative is itself, shifted, and has one in turn, without end."""

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
