"""Tests of dicts whose keys JAX has sorted: the order of keys makes no other call."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import graph_compiler  # noqa: E402

X = np.linspace(-1, 1, 3, dtype=np.float32)


def of_torch(p: dict[str, Any], x: Any) -> Any:
    return (
        p["w"] * x + p["inner"][0]["z"] * torch.stack([item for key, item in p.items() if key != "inner"])[-1]
    ).sum()


def of_numpy(p: dict[str, Any], x: Any) -> Any:
    return (
        p["w"] * x + p["inner"][0]["z"] * np.stack([item for key, item in p.items() if key != "inner"])[-1]
    ).sum()


def given(make: Any) -> dict[str, Any]:
    return {"w": make(X + 2), "b": make(X * 3), "inner": ({"z": make(X - 1), "a": make(X)},)}


def expected() -> dict[str, Any]:
    p = given(lambda x: torch.tensor(x, requires_grad=True))
    of_torch(p, torch.tensor(X)).backward()
    found: dict[str, Any] = jax.tree.map(
        lambda item: np.zeros(3) if item.grad is None else item.grad.numpy(), p
    )
    return found


@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("source", ["torch", "numpy"])
def test_keys_that_are_not_sorted_under_transformations(source: str, functional: bool) -> None:
    function, make = (of_torch, torch.tensor) if source == "torch" else (of_numpy, np.array)
    graph = graph_compiler.transpile(function, to="jax", args=(given(make), make(X)), source=source)
    run = (lambda p, x: graph.functional({}, p, x)) if functional else graph
    p, x = given(jnp.asarray), jnp.asarray(X)
    wanted = of_torch(given(torch.tensor), torch.tensor(X)).item()
    assert jax.tree.all(jax.tree.map(np.allclose, jax.grad(run)(p, x), expected()))
    np.testing.assert_allclose(jax.jit(run)(p, x), wanted, rtol=1e-6)
    np.testing.assert_allclose(
        jax.vmap(run, in_axes=(None, 0))(p, jnp.stack([x, x])), [wanted] * 2, rtol=1e-6
    )
    np.testing.assert_allclose(jax.jit(jax.grad(run))(p, x)["w"], expected()["w"])
    assert len(graph.variants) == 1


def test_other_keys_and_other_classes_are_another_call() -> None:
    graph = graph_compiler.transpile(
        lambda p: p["a"] - p["b"], to="jax", args=({"b": torch.ones(2), "a": torch.ones(2)},)
    )
    for other in (
        {"a": jnp.ones(2)},
        {"a": jnp.ones(2), "b": jnp.ones(2), "c": jnp.ones(2)},
        OrderedDict(a=jnp.ones(2), b=jnp.ones(2)),
    ):
        with pytest.raises(graph_compiler.errors.CallMismatch, match="fits no recorded variant"):
            jax.jit(graph)(other)


def test_the_order_of_an_ordered_dict_counts() -> None:
    def rows(p: Any) -> Any:
        return torch.stack([row for inner in p.values() for row in inner.values()])

    recorded = OrderedDict((key, {"b": torch.ones(2), "a": torch.zeros(2)}) for key in "zy")
    graph = graph_compiler.transpile(rows, to="jax", args=(recorded,))
    first, second = (
        {key: jnp.full(2, base + place) for place, key in enumerate("ba")} for base in (0.0, 2.0)
    )
    found = jax.jit(graph)(OrderedDict(z=first, y=second))
    np.testing.assert_array_equal(found, [[0, 0], [1, 1], [2, 2], [3, 3]])
    with pytest.raises(graph_compiler.errors.CallMismatch, match="fits no recorded variant"):
        jax.jit(graph)(OrderedDict(y=first, z=second))


def test_the_order_of_a_call_that_is_not_traced_counts() -> None:
    graph = graph_compiler.transpile(lambda p: torch.stack(list(p.values())), to="jax", source="torch")
    for p in ({"b": jnp.ones(1), "a": jnp.zeros(1)}, {"a": jnp.zeros(1), "b": jnp.ones(1)}):
        np.testing.assert_array_equal(graph(p), jnp.stack(list(p.values())))
