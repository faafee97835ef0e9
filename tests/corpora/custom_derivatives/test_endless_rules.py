"""Tests of a torch rule that differentiates its own function without end: values are right, and a gradient
raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import graph_compiler
from graph_compiler.errors import GraphCompilerError
from tests.support.compare import assert_same


class Cubed(torch.autograd.Function):
    """A function whose backward calls itself without end, in torch too."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            again = x.detach().requires_grad_()
            result = Cubed.apply(again)
        return torch.autograd.grad(result, again, gradient)[0]


def test_results_are_right_whatever_the_backward_does() -> None:
    x = torch.tensor([0.5, -1.0, 2.0])
    graph = graph_compiler.transpile(lambda x: Cubed.apply(x) + 1, source="torch", to="torch", args=(x,))
    other = torch.tensor([3.0, 0.25])
    assert_same(graph(other), np.array([28.0, 1.015625], "float32"))
    with pytest.raises(GraphCompilerError, match="again and again"):
        graph(other.requires_grad_()).sum().backward()
