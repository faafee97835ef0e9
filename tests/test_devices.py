"""Graphs of other frameworks in torch: arrays that they make are where their arguments are. The device ``meta`` stands for a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import graph_compiler  # noqa: E402

TABLE = jnp.arange(12.0).reshape(4, 3)


def causal(x: Any) -> Any:
    rows = jnp.arange(x.shape[0])
    return jnp.where(rows[:, None] >= rows, x @ x.T, -jnp.inf)


def with_a_constant(x: Any) -> Any:
    return x[:, :3] * TABLE[1] + jnp.ones(3)


def in_a_loop(x: Any) -> Any:
    return jax.lax.scan(lambda carry, row: (carry + row, carry * jnp.arange(3.0)), jnp.zeros(3), x)


def of_numbers(x: Any) -> Any:
    return jnp.nan_to_num(x, nan=1.0), x.at[jnp.array([0, 9])].set(2.0, mode="drop")


def of_numpy(x: Any) -> Any:
    made = np.zeros_like(x)
    for place in range(x.shape[0]):
        made[place] = x[place] * place
    return made @ np.eye(x.shape[1], dtype=np.float32) + np.arange(x.shape[1], dtype=np.float32)


def frequencies(x: Any) -> Any:
    return x[:, 0] * np.fft.fftfreq(x.shape[0])


FUNCTIONS = {
    "positions": (causal, jnp),
    "constant": (with_a_constant, jnp),
    "loop": (in_a_loop, jnp),
    "numbers": (of_numbers, jnp),
    "numpy": (of_numpy, np),
    "frequencies": (frequencies, np),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_new_arrays_are_where_the_arguments_are(name: str) -> None:
    function, framework = FUNCTIONS[name]
    graph = graph_compiler.transpile(function, to="torch", args=(framework.ones((4, 3), dtype="float32"),))
    found = graph(torch.ones(5, 3, device="meta"))
    assert {item.device.type for item in (found if isinstance(found, tuple) else (found,))} == {"meta"}
    assert len(graph.variants) == 1 and all(item.is_cpu for item in jax.tree.leaves(graph(torch.ones(5, 3))))


def test_a_module_takes_its_constants_along() -> None:
    def apply(weights: Any, x: Any) -> Any:
        return with_a_constant(x @ weights["kernel"])

    given = ({"kernel": jnp.ones((3, 3))}, jnp.ones((2, 3)))
    module = graph_compiler.transpile(apply, to="torch", args=given, parameters="weights").as_module()
    assert module.to("meta")(torch.ones(5, 3, device="meta")).device.type == "meta"


def test_what_makes_no_array_is_called_as_it_is() -> None:
    graph = graph_compiler.transpile(jnp.tanh, to="torch", args=(jnp.ones(3),))
    assert graph.variants[0].flat.__code__.co_name == graph.variants[0].program.name
