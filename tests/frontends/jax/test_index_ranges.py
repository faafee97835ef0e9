"""Tests of indices out of bounds: JAX clamps, fills or drops by its own rules, which every target must
follow.
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
from tests.support.compare import assert_same

from .test_samples import TARGETS, plain


def along_axes(table, place, places):
    several = table[places, places - 2], table[jnp.stack([places, places - 11])]
    return (
        table[place],
        table[:, place],
        table[1, place - 10],
        table[..., place, None],
        table[place, None, ::2],
        *several,
    )


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "single": lambda x: (x[jnp.argmax(x) + 1], x[jnp.argmax(x) - 9], x[jnp.argmax(x) - 1]),
    "arrays": lambda x: (x[jnp.argsort(x) + 2], x[jnp.argsort(x)[:, None] - 6], x[jnp.where(x > 1, 9, 0)]),
    "axes": lambda x: along_axes(jnp.outer(x, x), jnp.argmax(x) + 1, jnp.argsort(x) + 2),
    "narrow": lambda x: (x[(jnp.argsort(x) + 2).astype(jnp.uint8)], x[(jnp.argsort(x) - 6).astype(jnp.int8)]),
    "unsigned below 0": lambda x: x[jnp.argsort(x[:3]).astype(jnp.uint8) - 3],
    "take": lambda x: (
        jnp.take(jnp.outer(x, x), jnp.argsort(x) + 2, axis=1), jnp.take((3 * x).astype(int), jnp.argsort(x) - 6, axis=0),
        jnp.take(x, jnp.argmax(x) + 1), jnp.take(x, jnp.argsort(x) + 2, mode="clip"), jnp.take(x, jnp.argsort(x) + 2, mode="wrap"),
    ),
    "get": lambda x: (
        x.at[jnp.argmax(x) + 1].get(), x.at[jnp.argmax(x) + 1].get(mode="fill", fill_value=3.0), jnp.take_along_axis(x, jnp.argsort(x) + 2, 0),
    ),
    "writes": lambda x: (
        x.at[jnp.argmax(x) + 1].set(5.0), x.at[jnp.argsort(x) + 2].add(x), x.at[jnp.argsort(x) - 6].mul(2.0),
        x.at[jnp.argmax(x) + 1].set(5.0, mode="clip"),
    ),
    "windows": lambda x: (
        lax.dynamic_slice(x, (jnp.argmax(x) + 1,), (2,)), lax.dynamic_update_slice(x, jnp.ones(2), (jnp.argmax(x) + 1,)),
        lax.dynamic_index_in_dim(x, jnp.argmax(x) - 9),
    ),
    # The public function refuses this start if it is negative.
    "start below 0": lambda x: lax.dynamic_slice_p.bind(x, jnp.asarray(x.shape[0] - 4), slice_sizes=(2,)),
    "under vmap": lambda x: jax.vmap(lambda row: row[jnp.argmax(row) + 1])(jnp.outer(x, x)),
    "gradient": jax.grad(lambda x: x[jnp.argmax(x) + 1] ** 2 + jnp.nansum(jnp.take(x, jnp.argsort(x) + 2, axis=0))),
    "counted loop": lambda x: lax.fori_loop(-7, 8, lambda i, total: total * 0.5 + x[i], 0.0),
    "loop to a size": lambda x: lax.fori_loop(0, x.shape[0] + 2, lambda i, y: y.at[i + 1].add(x[i - 1]), x),
    "scan": lambda x: lax.scan(lambda total, i: (total * 0.5 + x[i], x[-i]), 0.0, jnp.arange(9), reverse=True),
    "while": lambda x: lax.while_loop(lambda held: held[0] < 9, lambda held: (held[0] + 1, held[1] * 0.5 + x[held[0]]), (0, 0.0)),
}  # fmt: skip


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_indices_past_the_ends(name: str, to: str) -> None:
    function = FUNCTIONS[name]
    graph = graph_compiler.compile(function, to=to, source="jax", args=(jnp.array([1.0, 5.0, 3.0, 2.0]),))
    for x in (
        jnp.array([1.0, 2.0, 3.0, 9.0]),
        jnp.array([7.0, 1.0, 2.0, 3.0, 4.0]),
        jnp.array([0.5, 0.7, 0.6]),
    ):
        assert_same(graph(*plain((x,), to)), function(x))


INSIDE: dict[str, Callable[[Any], Any]] = {
    "found by a search": lambda x: (
        x[jnp.argmax(x)],
        x[jnp.argsort(x)[::-1][:2]],
        jnp.take(x, jnp.argsort(x), axis=0),
    ),
    "a row of an axis": lambda x: (x[jnp.arange(x.shape[0])[::-1]], x[jnp.arange(x.shape[0]) - 1]),
    "known": lambda x: x[np.array([0, 2])],
    "counted": lambda x: lax.fori_loop(1, x.shape[0] - 1, lambda i, y: y.at[i].set(x[i - 1] + x[i + 1]), x),
    "counted by a number": lambda x: lax.fori_loop(0, 3, lambda i, y: y + x[i], 0.0),
    "mapped": lambda x: lax.map(lambda i: x[i] * 2, jnp.arange(x.shape[0])),
}


def written_by_two_loops(x, y):
    def row(i, table):
        return lax.fori_loop(0, y.shape[0], lambda j, table: table.at[i, j].set(x[i] * y[j]), table)

    return lax.fori_loop(0, x.shape[0], row, jnp.zeros((x.shape[0], y.shape[0])))


def test_an_index_of_several_numbers_is_bounded_by_the_axis_of_each() -> None:
    x, y = jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0, 5.0])
    graph = graph_compiler.compile(written_by_two_loops, to="numpy", source="jax", args=(x, y))
    assert "clip" not in graph.source, graph.source
    for args in ((x, y), (y, x)):
        assert_same(graph(*map(np.asarray, args)), written_by_two_loops(*args))
    assert len(graph.variants) == 1, graph.explain()


@pytest.mark.parametrize("name", INSIDE)
def test_indices_that_lie_inside_are_not_clamped(name: str) -> None:
    function, x = INSIDE[name], jnp.array([1.0, 5.0, 3.0, 2.0])
    graph = graph_compiler.compile(function, to="numpy", source="jax", args=(x,))
    assert "clip" not in graph.source, graph.source
    assert_same(graph(np.asarray(x)[::-1].copy()), function(x[::-1]))
