"""Tests of random numbers with keys: the same key gives JAX's numbers in every target."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from flax import nnx

import graph_compiler
from graph_compiler.trees import map_structure
from tests.support.compare import assert_same
from tests.support.samples import array, made
from tests.support.selection import pairs

from .draws import DRAWS
from .test_samples import TARGETS, as_jax


def _given(args: Any) -> Any:
    return tuple(item if isinstance(item, jax.Array) else as_jax(made((item,)))[0] for item in args)


def _words(result: Any) -> Any:
    """Return keys as arrays of uint32, which other frameworks have for them."""
    return map_structure(
        lambda item: jax.random.key_data(item) if str(getattr(item, "dtype", "")).startswith("key") else item,
        result,
    )


@pytest.mark.parametrize(("place", "to"), pairs(range(len(DRAWS)), TARGETS))
def test_draws(place: int, to: str) -> None:
    function, *calls = DRAWS[place]
    args, other = map(_given, calls)
    graph = graph_compiler.compile(function, to=to, source="jax", args=args)
    for given in (args, other):
        assert_same(_words(graph(*given)), _words(function(*given)))
    assert len(graph.variants) == 1, graph.explain()


class Dropped(nnx.Module):
    def __init__(self, rngs: Any) -> None:
        self.layer, self.dropout = nnx.Linear(4, 4, rngs=rngs), nnx.Dropout(0.5)

    def __call__(self, x: Any, key: Any) -> Any:
        return self.dropout(self.layer(x), rngs=nnx.Rngs(dropout=key))


@pytest.mark.parametrize("to", ["torch"])
def test_dropout_of_flax(to: str) -> None:
    module, key = Dropped(nnx.Rngs(0)), jax.random.key(1)
    (x,), (y,) = _given((array(3, 4),)), _given((array(5, 4),))
    graph = graph_compiler.compile(module, to=to, source="jax", args=(x, key))
    assert_same(graph(y, key), module(y, key))


class Training(nnx.Module):
    def __init__(self, rngs: Any) -> None:
        self.layer, self.dropout = nnx.Linear(4, 4, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.dropout(self.layer(x))


@pytest.mark.parametrize("to", ["jax", "numpy"])
def test_keys_that_a_module_counts(to: str) -> None:
    module, twin = Training(nnx.Rngs(0)), Training(nnx.Rngs(0))
    (x,), (y,) = _given((array(3, 4),)), _given((array(5, 4),))
    graph = graph_compiler.compile(module, to=to, source="jax", args=(x,))
    for given in (x, y, x):
        assert_same(graph(given), twin(given))
    assert len(graph.variants) == 1, graph.explain()


def test_other_generators_are_refused() -> None:
    key = jax.random.key(0, impl="rbg")
    graph_compiler.compile(jax.random.normal, source="jax", args=(key, (3,)))
    with pytest.raises(graph_compiler.errors.GraphCompilerError):
        graph_compiler.transpile(jax.random.normal, source="jax", to="numpy", args=(key, (3,)))


def test_keys_of_threefry_beside_another_default_generator() -> None:
    def function(x: Any, seed: Any) -> Any:
        key = jax.random.key(seed, impl="threefry2x32")
        return x + jax.random.normal(jax.random.fold_in(key, 1), x.shape)

    x = jax.numpy.ones(3)
    with jax.default_prng_impl("rbg"):
        graph = graph_compiler.transpile(function, source="jax", to="torch", args=(x, jax.numpy.array(3)))
        assert_same(graph(x, 4), function(x, 4))


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_key_that_a_python_loop_splits(to: str) -> None:
    def summed(x: Any) -> Any:
        total, key = 0, jax.random.key(0)
        for place in range(x.shape[0]):
            key, part = jax.random.split(key)
            total = total + x[place] * jax.random.normal(part)
        return total

    graph = graph_compiler.compile(summed, to=to, source="jax", args=(jax.numpy.arange(1.0, 4.0),))
    for length in (3, 5, 2):
        x = jax.numpy.arange(1.0, 1.0 + length)
        assert_same(graph(x), summed(x))
