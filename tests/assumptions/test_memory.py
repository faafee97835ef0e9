"""Tests of which arrays count as sharing memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import graph_compiler
from graph_compiler.assumptions import may_share_memory, overlap

X, Y = torch.ones(4, 3, device="meta"), torch.ones(3, device="meta")


class Foreign:
    """Array with strides whose address cannot be read."""

    shape, strides, itemsize = (3,), (4,), 4


def test_arrays_without_an_address_are_apart() -> None:
    assert not overlap([X, Y], [0])
    assert not overlap([Foreign(), Foreign()], [0, 1])
    held = np.ones((4, 3))
    assert overlap([held, held[0]], [1]) and not overlap([held[1:], held[0]], [0])


def test_views_of_one_tensor_without_elements_are_compared() -> None:
    assert may_share_memory(X, X[1:]) and not may_share_memory(X[:1], X[1:])


def adding(x: Any, y: Any) -> Any:
    x.add_(1)
    return x + y


def adding_into_itself(x: Any, y: Any) -> Any:
    torch.add(x, y, out=x[:])
    return x + y


@pytest.mark.parametrize("function", [adding, adding_into_itself])
def test_two_tensors_without_elements_are_recorded(function: Any) -> None:
    graph = graph_compiler.compile(function, to="torch", args=(X, Y))
    found = graph(torch.full((4, 3), 2.0), torch.ones(3))
    torch.testing.assert_close(found, function(torch.full((4, 3), 2.0), torch.ones(3)))
