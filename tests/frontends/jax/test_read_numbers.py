"""Tests of numbers that Python reads from arrays in JAX functions: one variant computes with them, under
JAX's transformations too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")
torch = pytest.importorskip("torch")

import jax.numpy as jnp  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler import transforms  # noqa: E402
from tests.support.tolerance import tolerance  # noqa: E402

MADE: dict[str, Callable[[Any], Any]] = {
    "torch": torch.tensor, "numpy": np.asarray, "jax": jnp.asarray, "tensorflow": tf.constant,
}  # fmt: skip


@jax.custom_jvp
def ruled(x: Any) -> Any:
    return x**2


ruled.defjvp(lambda primals, tangents: (ruled(*primals), 5 * tangents[0]))

COMPUTED: dict[str, Callable[[Any], Any]] = {
    "a sine": lambda x: math.sin(x[0]) * x,
    "a logarithm": lambda x: math.log(abs(x[1].item()) + 1) * x,
    "a factor": lambda x: x * float(x.max()),
    "an index": lambda x: x[int(jnp.argmax(x))] * x,
    "a start": lambda x: jax.lax.dynamic_slice(x, (int(jnp.argmax(x)),), (1,)),
    "a rounded number": lambda x: x * (int(x.sum() * 4) // 3),
    "a rule": lambda x: ruled(x) * float(x.max()),
    "a loop": lambda x: (
        jax.lax.scan(lambda carry, row: (carry + row * 1.5, carry), 0.0, x)[0] * float(x.min())
    ),
    "a result": lambda x: float(x.max()),
}
INPUTS = tuple(np.random.default_rng(seed).normal(size=5).astype(np.float32) for seed in range(3))


def close(found: Any, expected: Any, factor: float = 1.0) -> None:
    relative, absolute = tolerance("float32")
    np.testing.assert_allclose(
        np.asarray(found), np.asarray(expected), rtol=relative * factor, atol=absolute * factor
    )


@pytest.mark.parametrize("to", MADE)
@pytest.mark.parametrize("name", COMPUTED)
def test_one_variant(name: str, to: str) -> None:
    function = COMPUTED[name]
    graph = graph_compiler.transpile(function, to=to, source="jax")
    for x in INPUTS:
        close(graph(MADE[to](x)), function(jnp.asarray(x)))
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("name", [name for name in COMPUTED if name not in ("a rule", "a result")])
def test_transformations_of_jax(name: str) -> None:
    function = COMPUTED[name]
    graph = graph_compiler.transpile(function, to="jax", source="jax")
    graph(jnp.asarray(INPUTS[0]))
    close(jax.jit(graph)(INPUTS[1]), function(jnp.asarray(INPUTS[1])))
    close(jax.vmap(graph)(jnp.stack(INPUTS)), jnp.stack([function(jnp.asarray(x)) for x in INPUTS]))


@pytest.mark.parametrize("to", ["jax", "tensorflow", "torch"])
@pytest.mark.parametrize("name", ["a sine", "a logarithm", "a factor", "an index"])
def test_derivatives_are_those_of_the_elements(name: str, to: str) -> None:
    function = COMPUTED[name]
    graph = graph_compiler.transpile(function, to=to, source="jax")
    graph(MADE[to](INPUTS[0]))
    found = transforms.vjp(graph, MADE[to](INPUTS[1]))[1](MADE[to](np.ones(5, np.float32)))
    step = 1e-2 * np.eye(5, dtype=np.float32)
    ends = [
        [np.asarray(function(jnp.asarray(INPUTS[1] + sign * row))).sum() for sign in (1, -1)] for row in step
    ]
    close(
        found[0] if isinstance(found, tuple) else found,
        [(above - below) / 2e-2 for above, below in ends],
        100,
    )


def test_keys_are_those_of_jax() -> None:
    def drawn(key: Any, x: Any) -> Any:
        return jax.random.normal(key, x.shape) * float(x.max())

    graph = graph_compiler.transpile(drawn, to="jax", source="jax")
    for seed, x in enumerate(INPUTS):
        key = jax.random.key(seed)
        close(graph(key, jnp.asarray(x)), drawn(key, jnp.asarray(x)))
