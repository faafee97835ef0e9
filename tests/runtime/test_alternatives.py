"""Tests of an ``if`` on elements that was recorded several ways: a target that traces gets a branch of the
variants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
tf = pytest.importorskip("tensorflow")

import jax.numpy as jnp  # noqa: E402
import torch  # noqa: E402

import graph_compiler  # noqa: E402
from graph_compiler.errors import CallMismatch  # noqa: E402

ROWS = np.array([[1, 2, 3], [-1, -2, 0.5], [-9, -1, 2], [0.5, -0.25, 1]], np.float32)


def two_exits(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    if x.min() > -5:
        return x / x.sum()
    return x - 1


def steps(x: Any) -> Any:
    while abs(x).max() > 1:
        x = x / 2
    return x


def several(x: Any) -> Any:
    return {"scaled": x * 3, "sum": x.sum()} if x[0] > 0 else {"scaled": x / 3, "sum": x.sum() * 0}


def not_computed(x: Any) -> Any:
    """The branch that is not taken would have a NaN gradient."""
    return np.sqrt(x.min() + 0.25) * x if x.min() > 0.5 else x * 2


def numbers(x: Any) -> Any:
    count, sign = 0, 0.0
    while abs(x).max() > 1:
        x, count, sign = x / 2, count + 1, -0.0
    return x, count, 1.0 / (1.0 + count), np.copysign(x * 0 + 1, sign), 7


FUNCTIONS = [two_exits, steps, several, not_computed, numbers]


def recorded(function: Callable[[Any], Any], to: str, rows: Any = ROWS) -> Any:
    graph = graph_compiler.transpile(function, to=to, source="numpy")
    for row in rows:
        graph({"jax": jnp.asarray, "tensorflow": tf.constant}[to](row))
    return graph


def check(called: Callable[[Any], Any], function: Callable[[Any], Any]) -> None:
    for row in ROWS:
        jax.tree.map(
            lambda found, expected: np.testing.assert_allclose(found, expected, rtol=1e-6),
            called(row),
            function(row),
        )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_in_jit_and_vmap_elements_choose_the_variant(function: Callable[[Any], Any]) -> None:
    graph = recorded(function, "jax")
    check(jax.jit(graph), function)
    check(jax.jit(lambda x: graph.functional({}, x)), function)
    mapped = jax.vmap(graph)(ROWS)
    for place in range(len(ROWS)):
        expected = function(ROWS[place])
        jax.tree.map(
            lambda found, one, place=place: np.testing.assert_allclose(found[place], one, rtol=1e-6),
            mapped,
            expected,
        )


@pytest.mark.parametrize(
    ("function", "xla"), [(two_exits, True), *((function, False) for function in FUNCTIONS)]
)
def test_in_a_function_of_tensorflow_elements_choose_the_variant(
    function: Callable[[Any], Any], xla: bool
) -> None:
    graph = recorded(function, "tensorflow")
    check(tf.function(graph, jit_compile=xla, reduce_retracing=True), function)


def test_numbers_are_arrays_only_where_variants_give_others() -> None:
    graph, kinds = recorded(numbers, "jax"), list[type]()
    jax.jit(lambda x: kinds.extend(map(type, graph(x))))(ROWS[0])
    assert [kind is int for kind in kinds] == [False, False, False, False, True]


def test_gradients_are_those_of_the_way_that_is_taken() -> None:
    graph = recorded(not_computed, "jax")
    found = jax.jit(jax.vmap(jax.grad(lambda x: graph(x).sum())))(ROWS)
    for row, gradient in zip(ROWS, found):
        expected = jax.grad(lambda x: (jnp.sqrt(x.min() + 0.25) * x if x.min() > 0.5 else x * 2).sum())(
            jnp.asarray(row)
        )
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_where_no_variant_holds_nothing_passes_for_right() -> None:
    graph = recorded(two_exits, "jax", ROWS[:2])
    assert np.isnan(jax.jit(graph)(ROWS[2])).all() and not np.isnan(jax.jit(graph)(ROWS[1])).any()
    function = tf.function(recorded(two_exits, "tensorflow", ROWS[:2]).functional)
    with pytest.raises(tf.errors.InvalidArgumentError, match="when recorded and for this call is"):
        function({}, tf.constant(ROWS[2]))


def test_models_choose_by_elements_with_the_weights_that_are_given() -> None:
    class Gated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.few, self.many = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.few(x) if x.sum() > 0 else self.many(x)

    model = Gated()
    graph = graph_compiler.transpile(model, to="jax")
    for row in ROWS[:2]:
        graph(jnp.asarray(row))
    loss = jax.jit(jax.grad(lambda parameters, x: graph.functional(parameters, x).sum()))
    for row in ROWS[:2]:
        model.zero_grad(set_to_none=False)
        model(torch.tensor(row)).sum().backward()
        for name, gradient in loss(graph.parameters, row).items():
            expected = dict(model.named_parameters())[name].grad
            np.testing.assert_allclose(gradient, 0 * gradient if expected is None else expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[:2] if x[0] > 0 else x, "arrays of other sizes or types"),
        (lambda x: (x, x) if x[0] > 0 else x, "the structure of results"),
        (
            lambda x: (x, 3_000_000_000) if x[0] > 0 else (x, 1),
            "the structure of results",
        ),
    ],
)
def test_ways_that_give_something_else_are_refused(function: Callable[[Any], Any], message: str) -> None:
    graph = recorded(function, "jax")
    with pytest.raises(CallMismatch, match=message):
        jax.jit(graph)(ROWS[0])
