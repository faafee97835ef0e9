"""Tests of loops whose iterations change objects that only torch's containers and methods lead to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def step(self) -> None:
        self.count += 1

    def sum(self) -> None:
        self.count += 1

    def forward(self, x: Any) -> Any:
        self.count += 1
        return x


class Rows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.nn.ModuleList([Counter()])
        self.net = torch.nn.Sequential(self.rows[0])

    def __getattr__(self, name: str) -> Any:
        return self.rows[0] if name == "first" else super().__getattr__(name)

    @functools.cached_property
    def cached(self) -> Any:
        return self.rows[0]


def item_of_a_list(model: Rows, x: Any) -> Any:
    for row in model.rows:
        row.step()
    return x


def method_named_like_a_tensors(model: Rows, x: Any) -> Any:
    model.rows[0].sum()
    return x


def method_of_the_framework(model: Rows, x: Any) -> Any:
    model.get_submodule("rows.0").step()
    return x


def result_of_a_helper(model: Rows, x: Any) -> Any:
    def first(rows: Any) -> Any:
        return rows[0]

    first(model.rows).step()
    return x


def container_that_is_called(model: Rows, x: Any) -> Any:
    return model.net(x)


def attribute_by_a_method(model: Rows, x: Any) -> Any:
    model.first.step()
    return x


def cached_attribute(model: Rows, x: Any) -> Any:
    model.cached.step()
    return x


STEPS = (
    item_of_a_list, method_named_like_a_tensors, method_of_the_framework, result_of_a_helper,
    container_that_is_called, attribute_by_a_method, cached_attribute,
)  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_each_iteration_changes_the_object(step: Callable[[Rows, Any], Any]) -> None:
    model = Rows()

    def run(x: Any, n: int) -> Any:
        before = model.rows[0].count
        for _ in range(n):
            x = step(model, x) * 0.9
        return x * (model.rows[0].count - before)

    graph, x = graph_compiler.compile(run), torch.linspace(0.1, 1.0, 3)
    for n in (3, 5, 4):
        assert_same(graph(x, n), run(x, n))


def frameworks_parts(x: Any, n: int) -> Any:
    for _ in range(n):
        for layer in LAYERS:
            x = layer.forward(x)
        x = torch.distributions.Normal(x, 1.0).log_prob(x * 0.5).tanh()
    return x


LAYERS = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Tanh()])


def test_parts_of_the_framework_alone_are_recorded_once() -> None:
    graph, x = graph_compiler.compile(frameworks_parts), torch.linspace(0.1, 1.0, 3)
    for n in (3, 5, 4):
        assert_same(graph(x, n), frameworks_parts(x, n))
    assert len(graph.variants) == 1, graph.explain()
