"""Tests of functions under ``jax.jit`` that a program calls several times: they are written once, as
functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import graph_compiler

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


@jax.jit
def layer(x: Any, w: Any, scale: Any = 1.0) -> Any:
    h = jnp.tanh(x @ w) * scale
    return h / (1 + jnp.abs(h).sum(-1, keepdims=True)), h.shape[0] * h.mean()


@jax.jit
def inner(c: Any, x: Any) -> Any:
    c = jax.nn.relu(c + x)
    return c * jnp.cos(c), jax.nn.softplus(c)


@partial(jax.jit, static_argnums=(1,))
def pooled(x: Any, n: int) -> Any:
    x = jnp.sort(x, -1)[:, ::-1]
    return jax.lax.cond(x.sum() > 0, lambda x: x * n, jnp.sin, x)


@jax.jit
def nested(x: Any, w: Any) -> Any:
    x, a = layer(x, w)
    x, b = layer(x, w)
    return x + a * b - jnp.max(x)


@jax.custom_jvp
def doubled_slope(x: Any) -> Any:
    return jnp.sin(x)


@doubled_slope.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return doubled_slope(primals[0]), tangents[0] * 2


@jax.jit
def ruled(x: Any) -> Any:
    return doubled_slope(x * 2) + jnp.sin(x) * jnp.cos(x)


def several(x: Any, w: Any) -> Any:
    x, first = layer(x, w)
    x, second = layer(x, w)
    x, third = layer(x, w)
    return x, first + second + third


def in_a_loop(x: Any, w: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        c, a = inner(c, r)
        c, b = inner(c, r)
        return c, a + b

    last, rows = jax.lax.scan(step, x[0], x)
    return inner(last, x[0])[0], rows


def by_static_argument(x: Any, w: Any) -> Any:
    return pooled(pooled(pooled(x, 2), 2), 3) + pooled(x, 3)


def one_in_another(x: Any, w: Any) -> Any:
    return nested(nested(nested(x, w), w), w)


def with_a_rule(x: Any, w: Any) -> Any:
    return ruled(ruled(x))


def many(x: Any, w: Any) -> Any:
    return jax.vmap(lambda row: ruled(ruled(row)))(x)


# function: (its name in the source, number of definitions)
PROGRAMS: dict[Callable[..., Any], tuple[str, int]] = {
    several: ("layer", 1), in_a_loop: ("inner", 1), by_static_argument: ("pooled", 2), one_in_another: ("nested", 1),
    with_a_rule: ("ruled", 1), many: ("ruled", 1),
}  # fmt: skip


def arrays(rows: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(rows)
    return draw.normal(size=(rows, 3)).astype("float32"), draw.normal(size=(3, 3)).astype("float32")


@pytest.mark.parametrize("to", ["jax", "numpy", "torch", "tensorflow"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_functions_are_written_once(program: Callable[..., Any], to: str) -> None:
    graph = graph_compiler.compile(program, args=tuple(map(jnp.asarray, arrays(4))), to=to)
    name, count = PROGRAMS[program]
    assert len(re.findall(rf"^def {name}\w*\(", graph.source, re.M)) == count, graph.source
    assert (
        len(re.findall(rf"= {name}\w*\(", graph.source))
        + len(re.findall(rf"return .*{name}\w*\(", graph.source))
        > count
    )
    for rows in (4, 2):
        x, w = arrays(rows)
        given = (jnp.asarray(x), jnp.asarray(w)) if to == "jax" else _native(to, x, w)
        for found, wanted in zip(jax.tree.leaves(graph(*given)), jax.tree.leaves(program(x, w)), strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-5)
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_go_through_the_functions(program: Callable[..., Any]) -> None:
    torch = pytest.importorskip("torch")
    graph = graph_compiler.compile(program, args=tuple(map(jnp.asarray, arrays(4))), to="torch")
    x, w = arrays(3)
    given, weights = torch.tensor(x, requires_grad=True), torch.tensor(w)
    sum(item.sum() for item in jax.tree.leaves(graph(given, weights))).backward()
    wanted = jax.grad(lambda x: sum(item.sum() for item in jax.tree.leaves(program(x, w))))(jnp.asarray(x))
    np.testing.assert_allclose(given.grad, wanted, rtol=1e-4, atol=1e-4)


def test_what_is_called_once_stands_where_it_is_called() -> None:
    graph = graph_compiler.compile(
        lambda x, w: layer(x, w)[0] + 1, args=tuple(map(jnp.asarray, arrays(4))), to="jax"
    )
    assert graph.source.count("def ") == 1, graph.source


def _native(to: str, *items: Any) -> Any:
    return tuple(map(pytest.importorskip("torch").tensor, items)) if to == "torch" else items
