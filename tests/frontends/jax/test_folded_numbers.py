"""Tests of arrays that JAX folds into numbers in a body or gradient; public functions must get arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import graph_compiler
from tests.support.compare import assert_same

from .test_samples import TARGETS, plain


def one(x):
    return jnp.ones_like(x.sum())


def stepped(added: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: lax.fori_loop(0, 3, lambda _, held: held + added(held), x)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "index": stepped(lambda x: one(x)[None] + jnp.full_like(x.sum(), 2.0)[None, None][0]),
    "index in a scan": lambda x: lax.scan(
        lambda held, row: (held + one(held)[None] * row, None), jnp.zeros(3), x
    )[0],
    "index in a branch": lambda x: lax.cond(x.sum() > 3, lambda y: y + one(y)[None], lambda y: y, x),
    "index in a gradient": jax.grad(
        lambda x: (
            lax.scan(lambda held, row: (held + one(held)[..., None] * row, None), jnp.zeros(3), x)[0] ** 2
        ).sum()
    ),
    "index in a while": lambda x: lax.while_loop(lambda y: y.sum() < 50, lambda y: y + one(y)[None], x),
    "linear algebra": stepped(
        lambda x: jnp.dot(one(x), 2.0) + jnp.dot(one(x), x) + jnp.linalg.norm(one(x)[None])
    ),
    "activations": stepped(
        lambda x: jax.nn.relu(one(x)) + jax.nn.softmax(one(x)[None]) + jax.nn.logsumexp(one(x))
    ),
    "joined": stepped(lambda x: jnp.concatenate([one(x)[None], x[1:]])),
    "classes": stepped(lambda x: jax.nn.one_hot(one(x).astype(int), 4).sum() + jnp.sort(one(x)[None])),
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_of_folded_numbers(name: str, to: str) -> None:
    function = FUNCTIONS[name]
    graph = graph_compiler.compile(function, to=to, source="jax", args=(jnp.array([1.0, 5.0, 3.0, 2.0]),))
    for x in (jnp.array([0.5, -1.0, 0.25, 4.0]), jnp.array([1.0, 2.0, 3.0, 4.0, 5.0])):
        assert_same(graph(*plain((x,), to)), function(x))
