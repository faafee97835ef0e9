"""Tests of JAX loops whose trip count depends on elements or sizes; one recording serves all calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import ClosedJaxpr

import graph_compiler
from tests.support.compare import assert_same
from tests.support.jitted import by_jit

from .test_samples import TARGETS, plain


def root(x):
    return lax.while_loop(
        lambda held: (jnp.abs(held[0] ** 2 - x).max() > 1e-3) & (held[1] < 30),
        lambda held: (0.5 * (held[0] + x / held[0]), held[1] + 1),
        (x, 0),
    )


def divisor(x):
    numbers = (jnp.abs(x) * 100).astype(jnp.int32) + 1
    return jax.vmap(
        lambda a, b: lax.while_loop(
            lambda pair: pair[1] > 0, lambda pair: (pair[1], pair[0] % pair[1]), (a, b)
        )
    )(numbers, numbers[::-1] * 6)[0]


def to_a_bound(x):
    return lax.fori_loop(0, (x[0] % 4).astype(jnp.int32) + 1, lambda place, y: y * 1.5 + place, x)


def in_each_other(x):
    """The innermost loop would not end for values for which the outer loop has ended already."""

    def inner(y):
        return lax.while_loop(lambda z: z < y + 3, lambda z: z + jnp.where(y > 8, 0.0, 1.5), y)

    return lax.scan(
        lambda total, row: (
            total + row,
            lax.while_loop(lambda y: y < 8.0, lambda y: inner(y) + 0.1, row + total * 0.1),
        ),
        0.0,
        x[:3],
    )


def drawn(x):
    held = lax.while_loop(
        lambda held: held[1] < 2.0,
        lambda held: (jax.random.split(held[0])[0], held[1] + jax.random.uniform(held[0]) * held[2], held[2]),
        (jax.random.key(3), x[0] % 1.0, 0.9),
    )
    return held[1], x * jax.random.uniform(held[0])


def counted(x):
    return lax.while_loop(lambda held: held[0] < 5, lambda held: (held[0] + 2, held[1] * 1.1 + x), (0, x))


def to_a_fraction(x):
    return lax.while_loop(
        lambda held: held[0] < held[1], lambda held: (held[0] + 1.0, held[1], 2 * held[2]), (0.0, 2.5, x)
    )


def by_fractions(x):
    return lax.while_loop(
        lambda held: held[0] < held[1], lambda held: (held[0] + 1.5, held[1], 2 * held[2]), (0.0, 10.0, x)
    )


def to_a_part_of_the_size(x):
    return lax.fori_loop(
        0, jnp.asarray(x.shape[0] * 0.3).astype(jnp.int32), lambda place, y: y * 1.5 + place, x
    )


def to_a_flag(x):
    """Loop to a flag, with a condition that also compares the counter but does not return that."""
    state = (jnp.int32(0), jnp.int32(5), jnp.bool_(True), x[0])
    condition = jax.make_jaxpr(lambda i, end, goes_on, y: (i < end, goes_on))(*state)
    info = condition.jaxpr.debug_info._replace(result_paths=None)
    jaxpr = condition.jaxpr.replace(outvars=condition.jaxpr.outvars[1:], debug_info=info)
    body = jax.make_jaxpr(lambda i, end, goes_on, y: (i + 1, end, i < 2, y * 2))(*state)
    return lax.while_p.bind(
        *state, cond_nconsts=0, body_nconsts=0, cond_jaxpr=ClosedJaxpr(jaxpr, ()), body_jaxpr=body
    )


SMALL, FURTHER = (
    np.array([1.5, 2.5, 3.0, 0.5], np.float32),
    np.array([5.5, 70.0, 1.0, 0.2, 6.5, 900.0], np.float32),
)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "function",
    [
        root,
        divisor,
        to_a_bound,
        in_each_other,
        drawn,
        counted,
        to_a_fraction,
        by_fractions,
        to_a_part_of_the_size,
        to_a_flag,
    ],
)
def test_loop(function: Any, to: str) -> None:
    graph = graph_compiler.compile(function, to=to, source="jax", args=(jnp.asarray(SMALL),))
    for x in map(jnp.asarray, (SMALL, SMALL[::-1] + 0.25, FURTHER, SMALL)):
        assert_same(graph(*plain((x,), to)), by_jit(function, x))
    assert len(graph.variants) == 1, graph.explain()


# The condition or the body of these loops refers to a size that no operand has.
BY_SIZES: dict[str, Callable[[Any], Any]] = {
    "bound": lambda x: lax.while_loop(
        lambda held: held[0] < x.shape[0], lambda held: (held[0] + 1, held[1] * 1.5), (0, 1.0)
    )[1],
    "float": lambda x: lax.while_loop(
        lambda held: held[0] < x.shape[0] / 2.5, lambda held: (held[0] + 1.0, held[1] * 1.5), (0.0, 1.0)
    )[1],
    "step": lambda x: lax.while_loop(
        lambda held: held[0] < 9, lambda held: (held[0] + x.shape[0], held[1] * 1.5), (0, 1.0)
    )[1],
    "in a call": lambda x: lax.while_loop(
        lambda held: held[0] < jnp.full((), x.shape[0]), lambda held: (held[0] + 1, held[1] + x), (0, x)
    )[1],
}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", BY_SIZES)
def test_a_loop_that_sizes_bound_has_the_steps_of_the_call(name: str, to: str) -> None:
    function = BY_SIZES[name]
    graph = graph_compiler.compile(function, to=to, source="jax", args=(jnp.ones(4),))
    for size in (4, 1, 7, 13, 4):
        assert_same(graph(*plain((jnp.ones(size),), to)), function(jnp.ones(size)))
    assert len(graph.variants) == 1, graph.explain()


def test_more_steps_inside_of_jit_are_taken() -> None:
    graph = graph_compiler.compile(lambda x: root(x)[0], to="jax", source="jax", args=(jnp.ones(4),))
    functional = jax.jit(graph.functional)
    for x in (jnp.ones(4), jnp.full(4, 900.0)):
        assert_same(functional({}, x), root(x)[0])


@pytest.mark.parametrize("to", TARGETS)
def test_a_loop_that_goes_on_for_long_has_few_lines(to: str) -> None:
    function = lambda x: lax.while_loop(lambda y: y.sum() < 2e3, lambda y: y + 1, x)  # noqa: E731
    graph = graph_compiler.compile(function, to=to, args=(jnp.ones(2),))
    for x in (jnp.ones(2), jnp.ones(3)):
        assert_same(graph(*plain((x,), to)), function(x))
    assert len(graph.variants) == 1
    assert len(graph.source.splitlines()) < 40, graph.source
