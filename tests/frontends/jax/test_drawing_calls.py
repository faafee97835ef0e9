"""Tests of JAX functions with random numbers, written for JAX: ``jax.random`` in the source, the same
numbers, also after loading from a file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import graph_compiler  # noqa: E402
from tests.support.compare import assert_same  # noqa: E402

X = jnp.linspace(0.1, 0.9, 5)


def dropout(x: Any, key: Any) -> Any:
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x / 0.5, 0.0)


def several(x: Any, key: Any) -> Any:
    first, second = jax.random.split(key)
    return x * jax.random.normal(first, x.shape) + jax.random.uniform(jax.random.fold_in(second, 3), x.shape)


def over_steps(x: Any, key: Any) -> Any:
    return jax.lax.scan(
        lambda carry, one: (carry + jax.random.normal(one, ()), carry), x[0], jax.random.split(key, 6)
    )


def one_a_row(x: Any, key: Any) -> Any:
    return jax.vmap(lambda item, one: item + jax.random.normal(one, (2,)))(
        x, jax.random.split(key, x.shape[0])
    )


def shuffled(x: Any, key: Any) -> Any:
    return (
        jax.random.permutation(key, x),
        jax.random.choice(key, x, (3,)),
        jax.random.randint(key, (2,), 0, 9),
    )


def from_seeds(x: Any, key: Any) -> Any:
    seeds = (
        jnp.arange(3) + key
        if key.dtype != jnp.uint32 and jnp.issubdtype(key.dtype, jnp.integer)
        else jnp.arange(3)
    )
    return jax.vmap(lambda seed: jax.random.normal(jax.random.key(seed), ()))(seeds) + x[:3]


def words(x: Any, key: Any) -> Any:
    return jax.random.key_data(jax.random.split(jax.random.wrap_key_data(jax.random.bits(key, (2,))))), x


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    one.__name__: one for one in (dropout, several, over_steps, one_a_row, shuffled, from_seeds, words)
}
KEYS: dict[str, Callable[[int], Any]] = {
    "words": jax.random.PRNGKey,
    "typed": jax.random.key,
    "of another generator": lambda seed: jax.random.key(seed, impl="rbg"),
}


def two_of_a_seed(x: Any) -> Any:
    first, second = jax.random.split(jax.random.key(3))
    return x * jax.random.normal(first, x.shape) + jax.random.uniform(jax.random.fold_in(second, 3), x.shape)


# These have only constants as arguments, so JAX computes them once during the recording.
SEEDED: dict[str, Callable[[Any], Any]] = {
    "a key": lambda x: x + jax.random.uniform(jax.random.key(3), x.shape),
    "words": lambda x: x + jax.random.uniform(jax.random.PRNGKey(3), x.shape),
    "words as a key": lambda x: (
        x + jax.random.uniform(jax.random.wrap_key_data(jnp.array([1, 2], "uint32")), x.shape)
    ),
    "a key as words": lambda x: x + jax.random.uniform(jax.random.key_data(jax.random.key(3)), x.shape),
    "keys": lambda x: (
        x[:3] + jax.vmap(lambda seed: jax.random.uniform(jax.random.key(seed), ()))(jnp.arange(3))
    ),
    "two": two_of_a_seed,
}


@pytest.mark.parametrize("to", ["jax", "numpy", "torch", "tensorflow"])
@pytest.mark.parametrize("name", SEEDED)
def test_a_function_has_its_own_seed(name: str, to: str) -> None:
    function = SEEDED[name]
    graph = graph_compiler.compile(function, args=(X,), to=to, source="jax")
    assert_same(graph(X * 2), function(X * 2))


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_draws_comes_back_from_a_file(name: str, kind: str, tmp_path: Path) -> None:
    function, key = FUNCTIONS[name], KEYS[kind]
    graph = graph_compiler.compile(function, args=(X, key(0)))
    graph.save(tmp_path / "graph.zip")
    loaded = graph_compiler.load(tmp_path / "graph.zip")
    assert "primitive_object" not in graph.source + loaded.source
    for seed in (0, 7):
        expected = jax.tree.leaves(function(X * 2, key(seed)))
        for result in (graph(X * 2, key(seed)), loaded(X * 2, key(seed)), jax.jit(loaded)(X * 2, key(seed))):
            assert all(map(jnp.allclose, jax.tree.leaves(result), expected))


def test_a_key_of_another_generator_is_none_of_those_recorded(tmp_path: Path) -> None:
    graph_compiler.compile(dropout, args=(X, jax.random.key(0))).save(tmp_path / "graph.zip")
    with pytest.raises(graph_compiler.errors.GuardFailed, match=r"key<rbg> and was recorded as key<fry>"):
        graph_compiler.load(tmp_path / "graph.zip")(X, jax.random.key(0, impl="rbg"))
