"""Tests of loops over ``arange``, which are written as ``range`` if the body does not compute with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


def one_bound(x: Any) -> Any:
    s = torch.zeros(())
    for _ in torch.arange(x.shape[0]):
        s = s * 0.5 + x.sum()
    return s


def two_bounds(x: Any) -> Any:
    s = torch.zeros(())
    for _ in torch.arange(1, x.shape[0]):
        s = s * 0.5 + x.sum()
    return s


def three_bounds(x: Any) -> Any:
    s = torch.zeros(())
    for _ in torch.arange(0, x.shape[0], 2):
        s = s * 0.5 + x.sum()
    return s


def keyword(x: Any) -> Any:
    s = torch.zeros(())
    for _ in torch.arange(end=x.shape[0]):
        s = s * 0.5 + x.sum()
    return s


def index(x: Any) -> Any:
    s = torch.zeros(())
    for i in torch.arange(x.shape[0]):
        s = s * 0.5 + x[i]
    return s


def keyword_argument(x: Any) -> Any:
    s = torch.zeros(())
    for i in torch.arange(x.shape[0]):
        s = s * 0.5 + torch.sin(input=i) * x.sum()
    return s


def floats(x: Any) -> Any:
    s = torch.zeros(())
    for _ in torch.arange(1.0, x.shape[0], dtype=torch.int64):
        s = s * 0.5 + x.sum()
    return s


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
@pytest.mark.parametrize(
    "function", [one_bound, two_bounds, three_bounds, keyword, index, keyword_argument, floats]
)
def test_loops_over_aranges(function: Callable[[Any], Any], to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(graph_compiler.trace(function), to=to, args=(torch.ones(3),))
    for size in (5, 1, 3):
        x = torch.arange(1.0, 1 + size)
        assert_same(graph(x), function(x))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (one_bound, "range(x_dim0)"),
        (two_bounds, "range(1, x_dim0)"),
        (three_bounds, "range(0, x_dim0, 2)"),
        (keyword, "range(x_dim0)"),
        (index, "arange"),
        (keyword_argument, "arange"),
        (floats, "arange"),
    ],
)
def test_only_rows_that_are_not_read_are_numbers(function: Callable[[Any], Any], text: str) -> None:
    graph = graph_compiler.compile(graph_compiler.trace(function), args=(torch.ones(3),))
    assert f" in {text}:" in graph.source


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_range_of_numpy_without_a_stop(to: str) -> None:
    def function(x: Any) -> Any:
        s = np.zeros(())
        for _ in np.arange(x.shape[0], None):
            s = s * 0.5 + x.sum()
        return s

    graph = graph_compiler.compile(graph_compiler.trace(function), to=to, args=(np.ones(3),))
    assert_same(graph(np.ones(5)), function(np.ones(5)))
