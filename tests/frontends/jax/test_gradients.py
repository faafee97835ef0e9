"""Tests of gradients of JAX functions in every target, compared with JAX; a rule that cannot be recorded
raises when a gradient is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import graph_compiler
from graph_compiler.errors import GradientRefused
from tests.support.jitted import by_jit
from tests.support.selection import pairs

from .gradient_models import LIBRARIES, models
from .gradients import BRANCHES, FUNCTIONS, OWN, REFUSED, SOLVES, Row, logistic

ROWS = {**OWN, **BRANCHES, **SOLVES, **FUNCTIONS}


@pytest.fixture(autouse=True)
def _wide() -> Any:
    with jax.enable_x64(True):
        yield


def weighted(results: Any, multiply: Callable[[Any, Any], Any]) -> Any:
    """Return a weighted sum of all float results, each element with another weight."""
    floats = [item for item in jax.tree.leaves(results) if "float" in str(item.dtype)]
    weights = [
        np.cos(np.arange(1.0, 1 + int(np.prod(item.shape)))).reshape(tuple(item.shape)) for item in floats
    ]
    return sum(multiply(item, weight) for item, weight in zip(floats, weights))


def gradient_by_jax(function: Any) -> Callable[[Any], Any]:
    """Return a function that computes the gradients of the weighted sum for a list of arguments."""
    found: Callable[[Any], Any] = jax.grad(
        lambda args: weighted(function(*args), lambda item, weight: (item * weight).sum())
    )
    return found


def by_jax(function: Any, args: Any) -> list[Any]:
    return [np.asarray(item) for item in jax.tree.leaves(gradient_by_jax(function)(args))]


def of_original(function: Any, args: Any) -> list[Any]:
    """Return the reference gradients, computed as one program."""
    return [np.asarray(item) for item in jax.tree.leaves(by_jit(gradient_by_jax(function), args))]


def by_torch(function: Any, args: Any) -> list[Any]:
    torch = pytest.importorskip("torch")
    given = jax.tree.map(lambda item: torch.tensor(np.asarray(item), requires_grad=True), args)
    total = weighted(function(*given), lambda item, weight: (item * torch.tensor(weight)).sum())
    found = torch.autograd.grad(total, jax.tree.leaves(given), materialize_grads=True)
    return [item.numpy() for item in found]


def by_tensorflow(function: Any, args: Any) -> list[Any]:
    tf = pytest.importorskip("tensorflow")
    given = jax.tree.map(lambda item: tf.constant(np.asarray(item)), args)
    leaves = jax.tree.leaves(given)
    with tf.GradientTape() as tape:
        tape.watch(leaves)
        total = weighted(function(*given), lambda item, weight: tf.reduce_sum(item * weight))
    found = tape.gradient(total, leaves, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [tf.convert_to_tensor(item).numpy() for item in found]


TARGETS = {"jax": by_jax, "torch": by_torch, "tensorflow": by_tensorflow}


# ``jax.nn`` computes these products in float32, whatever the dtype of the arrays.
SINGLE = {"nnx attention"}


def check(row: Row, to: str, atol: float = 1e-12) -> None:
    function, made = row
    args = made()
    graph = graph_compiler.compile(function, to=to, source="jax", args=args)
    for found, expected in zip(TARGETS[to](graph, args), of_original(function, args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=atol)


@pytest.mark.parametrize(("name", "to"), pairs(ROWS, TARGETS))
def test_gradients(name: str, to: str) -> None:
    check(ROWS[name], to)


TWICE: dict[str, Callable[[Any], Any]] = {
    "a rule that uses itself": jax.vmap(logistic),
    "a branch without derivatives": lambda x: lax.cond(x.sum() > 0, jnp.sqrt, lambda y: jnp.sin(y) ** 2, x),
}


ALWAYS = [
    ("linen residual block", "torch"),
    ("equinox MLP with softplus", "torch"),
    ("optax log_cosh", "tensorflow"),
    ("optax sparsemax", "tensorflow"),
]


@pytest.mark.parametrize(("name", "to"), ALWAYS)
def test_models(name: str, to: str) -> None:
    rows = models(name.partition(" ")[0])
    if not rows:
        pytest.skip("not installed")
    check(rows[name], to)


@pytest.mark.slow
@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_all_models(library: str, to: str) -> None:
    for name, row in models(library).items():
        if (name, to) not in ALWAYS:
            check(row, to, 1e-6 if name in SINGLE else 1e-12)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str, to: str) -> None:
    x = jnp.asarray([0.0, 1.0, -2.0])
    expected = second_by_jax(TWICE[name], x)
    assert np.isfinite(expected).all()
    graph = graph_compiler.compile(TWICE[name], to=to, source="jax", args=(x,))
    np.testing.assert_allclose(SECOND[to](graph, x), expected, rtol=1e-9)


def second_by_jax(graph: Any, x: Any) -> Any:
    return jax.grad(lambda x: jax.grad(lambda x: graph(x).sum())(x).sum())(x)


def second_by_torch(graph: Any, x: Any) -> Any:
    torch = pytest.importorskip("torch")
    given = torch.tensor(np.asarray(x), requires_grad=True)
    (first,) = torch.autograd.grad(graph(given).sum(), given, create_graph=True)
    return torch.autograd.grad(first.sum(), given)[0].numpy()


def second_by_tensorflow(graph: Any, x: Any) -> Any:
    tf = pytest.importorskip("tensorflow")
    given = tf.constant(np.asarray(x))
    with tf.GradientTape() as outer:
        outer.watch(given)
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = tf.reduce_sum(graph(given))
        first = tape.gradient(total, given)
    return outer.gradient(first, given).numpy()


SECOND = {"jax": second_by_jax, "torch": second_by_torch, "tensorflow": second_by_tensorflow}


@pytest.mark.parametrize("to", ["torch", "tensorflow"])
@pytest.mark.parametrize("name", REFUSED)
def test_other_rules_are_refused_where_a_gradient_is_taken(name: str, to: str) -> None:
    (function, made), words = REFUSED[name]
    args = made()
    graph = graph_compiler.compile(function, to=to, source="jax", args=args)
    np.testing.assert_allclose(np.asarray(graph(*map(np.asarray, args))), function(*args))
    with pytest.raises(GradientRefused, match=words):
        TARGETS[to](graph, args)
