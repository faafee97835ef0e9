"""Tests of JAX functions whose derivative rules close over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.experimental.ode import odeint  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import GradientRefused  # noqa: E402
from tests.frontends.jax.test_gradients import TARGETS, of_original  # noqa: E402
from tests.support.compare import assert_same_array  # noqa: E402

from .test_jax_rules import _of  # noqa: E402


def solved(y: Any, rate: Any) -> Any:
    """Solve a differential equation by JAX's ``odeint``, whose own rule closes over coefficients of the
    steps.
    """
    return odeint(
        lambda y, t, rate: jnp.stack([y[0] * (rate - y[1]), y[1] * (y[0] - t)]),
        y,
        jnp.linspace(0.0, 0.5, 3),
        rate,
        rtol=1e-3,
    )


@jax.custom_vjp
def weighted(x: Any) -> Any:
    return x * jnp.array([1.0, 2.0, 3.0])


weighted.defvjp(lambda x: (weighted(x), None), lambda _, given: (given * jnp.array([1.0, -2.0, 3.0]),))


def check(function: Any, to: str, recorded: Any, args: Any) -> None:
    """Assert that the gradients are those of JAX."""
    graph = graph_compiler.compile(function, to=to, source="jax", args=recorded)
    given = args if to == "jax" else [_of(to, item) for item in args]
    for one, other in zip(TARGETS[to](graph, given), of_original(function, args), strict=True):
        assert_same_array(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("to", TARGETS)
def test_constants_that_a_rule_closes_over(to: str) -> None:
    check(lambda x: weighted(x) ** 2, to, (jnp.array([1.0, 0.5, 2.0]),), (jnp.array([-1.0, 0.25, 3.0]),))


@pytest.mark.slow
def test_odeint() -> None:
    # In float32, rounding decides whether some steps are accepted, and differs between processors.
    with jax.enable_x64(True):
        check(
            solved,
            "torch",
            (jnp.array([1.0, 0.5]), jnp.float64(1.2)),
            (jnp.array([0.7, 1.5]), jnp.float64(0.8)),
        )


def test_an_argument_that_a_rule_closes_over() -> None:
    def scaled(x: Any, scale: Any) -> Any:
        inner = jax.custom_vjp(lambda x: x * scale)
        inner.defvjp(lambda x: (inner(x), None), lambda _, given: (given * 10,))
        return inner(x)

    graph = graph_compiler.compile(scaled, to="torch", source="jax", args=(jnp.ones(3), jnp.ones(3)))
    x, scale = torch.arange(4.0), torch.full((4,), 2.0, requires_grad=True)
    np.testing.assert_array_equal(graph(x, scale).detach(), 2 * x)
    with pytest.raises(GradientRefused, match="closes over an array that depends on an argument"):
        graph(x, scale).sum().backward()
