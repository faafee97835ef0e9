"""Tests of functions whose result depends on the class of a tensor: each class has its own variant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402


class Masked(torch.Tensor):
    def relu(self) -> Any:
        return torch.where(self > 0.5, self, 0.0)


class Signed(Masked): ...


def by_class(x: Any, n: int) -> Any:
    return x * 2 if type(x) is Masked else x + n


def by_base(x: Any, n: int) -> Any:
    return x * 2 if isinstance(x, Masked) else x + n


def by_attribute(x: Any, n: int) -> Any:
    return x * len(x.__class__.__name__)


def by_method(x: Any, n: int) -> Any:
    return x.relu() * n


def of_items(x: Any, n: int) -> Any:
    return {"all": [(item * 2 if type(item) is Masked else item) for item in (x, x[0])], "n": n}


FUNCTIONS = (by_class, by_base, by_attribute, by_method, of_items)
CLASSES = (torch.Tensor, Masked, Signed)


def values(rows: int, cls: type) -> Any:
    return torch.linspace(-1.0, 1.0, rows * 3).reshape(rows, 3).as_subclass(cls)


@pytest.mark.parametrize("recorded", CLASSES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_class_is_recorded(function: Callable[[Any, int], Any], recorded: type) -> None:
    graph = graph_compiler.compile(function, args=(values(2, recorded), 3))
    for rows in (4, 2, 5):
        for cls in CLASSES:
            assert_same(graph(values(rows, cls), 3), function(values(rows, cls), 3))
    assert len(graph.variants) == 3, graph.explain()
    assert "is a tensor of another class" in str(graph.explain())


def test_a_parameter_needs_no_variant_of_its_own() -> None:
    graph = graph_compiler.compile(by_method, args=(values(2, torch.Tensor), 3))
    assert_same(graph(torch.nn.Parameter(values(2, torch.Tensor)), 3), by_method(values(2, torch.Tensor), 3))
    assert len(graph.variants) == 1, graph.explain()


def test_the_class_counts_while_torch_compiles() -> None:
    graph = graph_compiler.compile(by_class, args=(values(2, torch.Tensor), 3))
    graph(values(2, Masked), 3)
    for cls in (torch.Tensor, Masked, torch.nn.Parameter):
        x = torch.nn.Parameter(values(2, torch.Tensor)) if cls is torch.nn.Parameter else values(2, cls)
        found = torch.compile(lambda x: graph(x, 3), backend="eager")(x)
        assert_same(found, by_class(x, 3))


def test_random_arguments_have_the_recorded_class() -> None:
    graph_compiler.compile(by_class, args=(values(2, Masked), 3)).verify()
