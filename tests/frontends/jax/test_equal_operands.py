"""Tests that loops and branches with equal operands are merged only if their bodies are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import graph_compiler
from tests.support.compare import assert_same

from .test_samples import TARGETS, plain


def summed(x: Any, step: Callable[[Any], Any]) -> Any:
    return lax.scan(lambda total, row: (total + step(row), total), x[0], x)[0]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "branches": lambda x: (
        lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x) + 2 * lax.cond(x.sum() > 0, jnp.exp, jnp.tanh, x)
        - lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)
    ),
    "numbers": lambda x: lax.cond(x.sum() > 0, lambda y: y * 0.0, jnp.cos, x) / 2 + lax.cond(x.sum() > 0, lambda y: y * -0.0, jnp.cos, x),
    "scans that begin with a number": lambda x: lax.scan(lambda total, row: (total + jnp.sin(row), total), 0.0, x)[0] / (
        lax.scan(lambda total, row: (total + jnp.exp(row), total), 0.0, x)[0]
    ),
    "while loops": lambda x: (
        lax.while_loop(lambda y: y.sum() < 50, lambda y: y + 1.5, x) - 2 * lax.while_loop(lambda y: y.sum() < 90, lambda y: y + 1.5, x)
    ),
    "scans": lambda x: summed(x, jnp.sin) - 2 * summed(x, jnp.exp),
}  # fmt: skip


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_programs_stay_apart(name: str, to: str) -> None:
    function = FUNCTIONS[name]
    graph = graph_compiler.compile(function, to=to, source="jax", args=(jnp.ones(4),))
    for x in (jnp.linspace(-1.0, 2.0, 5), -jnp.ones(3), jnp.ones(4)):
        assert_same(graph(*plain((x,), to)), function(x))


def test_the_same_program_is_run_once() -> None:
    graph = graph_compiler.compile(
        lambda x: summed(x, jnp.sin) + summed(x, jnp.sin), to="numpy", source="jax", args=(jnp.ones(4),)
    )
    assert graph.source.count("for i") == 1, graph.source
    x = np.linspace(0, 1, 5, dtype=np.float32)
    np.testing.assert_allclose(graph(x), 2 * (x[0] + np.sin(x).sum()), rtol=1e-6)
