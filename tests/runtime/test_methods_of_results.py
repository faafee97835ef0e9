"""Tests of objects in results of graphs for another framework: they contain its arrays, and the original's
methods work on them.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

X = torch.arange(6.0).reshape(2, 3)
TARGETS = ("jax", "numpy", "tensorflow")
REGISTERED: list[type] = []


class Base:
    def __init_subclass__(cls) -> None:
        REGISTERED.append(cls)


class Layer(Base):
    def __init__(self) -> None:
        self.keys: Any = None
        self.states: dict[int, Any] = {}

    def update(self, x: Any) -> Any:
        self.keys = x * 1 if self.keys is None else torch.cat([self.keys, x])
        self.states[0] = x.sum()
        return self.keys

    def length(self) -> int:
        return 0 if self.keys is None else self.keys.numel() // self.keys.shape[-1]

    @property
    def total(self) -> Any:
        return torch.sum(self.keys)

    def crop(self, length: int) -> None:
        self.keys = self.keys[:length].contiguous()

    def reorder(self, index: Any) -> Any:
        self.keys = self.keys.index_select(0, index.to(self.keys.device))
        return self

    def scale(self) -> None:
        self.keys.mul_(2)


class Cache:
    def __init__(self) -> None:
        self.layers = [Layer()]

    def length(self) -> int:
        return self.layers[0].length()


def made(x: Any) -> Any:
    layer = Layer()
    layer.update(x)
    return {"layer": layer}


def grown(x: Any, cache: Any) -> Any:
    for layer in cache.layers:
        x = x + layer.update(x).sum()
    return x


@pytest.mark.parametrize("to", TARGETS)
def test_methods_of_a_result(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(made, to=to, args=(X,))
    array, ours, theirs = type(graph(X)["layer"].keys), graph(X)["layer"], made(X)["layer"]
    assert (
        ours.length() == theirs.length() == 2 and isinstance(ours, Layer) and type(ours).__name__ == "Layer"
    )
    assert isinstance(ours.total, array)
    assert_same(ours.total, theirs.total)
    for work in (
        lambda one: one.update(X),
        lambda one: one.reorder(torch.tensor([2, 0])),
        lambda one: one.crop(1),
        lambda one: one.scale(),
    ):
        work(ours), work(theirs)
        assert_same(ours, theirs)
        assert isinstance(ours.keys, array)
    assert ours.reorder(torch.tensor([0])) is ours
    assert [Layer] == REGISTERED
    for again in (
        copy.deepcopy(ours),
        copy.copy(ours),
        pickle.loads(pickle.dumps(ours)) if to != "tensorflow" else ours,
    ):
        assert isinstance(again, Layer) and again.keys.shape == ours.keys.shape


@pytest.mark.parametrize("to", TARGETS)
def test_a_cache_goes_from_call_to_call_and_is_changed_between(to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(grown, to=to)
    for _ in range(2):
        ours, theirs = Cache(), Cache()
        for step in range(4):
            assert_same(graph(X, ours), grown(X, theirs))
            assert ours.length() == theirs.length()
            if step == 1:
                for cache in (ours, theirs):
                    cache.layers[0].crop(3)
            assert_same(ours, theirs)
    # One variant serves the empty cache, the other all filled ones.
    assert len(graph.variants) == 2


def test_results_of_compiled_functions_and_pytrees() -> None:
    jax = pytest.importorskip("jax")
    graph = graph_compiler.transpile(made, to="jax", args=(X,), return_backend_compiled_fn=True)
    assert graph(X)["layer"].length() == 2
    result = jax.jit(lambda x: graph.functional({}, x))(X.numpy())
    assert (
        result["layer"].length() == 2
        and jax.tree_util.tree_map(lambda leaf: leaf * 2, result)["layer"].length() == 2
    )
