"""Tests of unrolling: loops with few iterations have equal values and gradients afterwards, at other sizes
too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes import unroll
from graph_compiler.passes.driver import nodes_of
from graph_compiler.passes.repeats.unroll import unrolled

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
lax = pytest.importorskip("jax.lax")

STEPS = 5


def _rows(x: Any) -> Any:
    return jnp.sin(x * jnp.arange(1.0, STEPS + 1)[:, None, None])


def rows_and_state(x: Any) -> Any:
    return lax.scan(lambda held, row: (jnp.tanh(held + row), held * row), x, _rows(x))


def backwards(x: Any) -> Any:
    return lax.scan(lambda held, row: (jnp.sin(held) + row, held - row), x, _rows(x), reverse=True)


def nothing_stacked(x: Any) -> Any:
    return lax.fori_loop(0, STEPS, lambda i, held: jnp.cos(held) + i, x)


def swapped(x: Any) -> Any:
    return lax.scan(lambda pair, row: ((pair[1], pair[0] * row), pair[0]), (x, x * 2), _rows(x))


def of_captured(x: Any) -> Any:
    return lax.map(lambda row: x[0].sum() * row + x.shape[0], _rows(x))


def loop_in_loop(x: Any) -> Any:
    def outer(held: Any, row: Any) -> Any:
        inner, sums = lax.scan(lambda h, r: (h * 0.5 + r, h.sum()), held, jnp.stack([row, row * 2]))
        return inner, sums

    return lax.scan(outer, x, _rows(x))


def branch_in_loop(x: Any) -> Any:
    def step(held: Any, row: Any) -> Any:
        return lax.cond(row.sum() > 0, jnp.sin, lambda h: h + row, held), held.max()

    return lax.scan(step, x, _rows(x))


PROGRAMS: list[Callable[..., Any]] = [
    rows_and_state, backwards, nothing_stacked, swapped, of_captured, loop_in_loop, branch_in_loop
]  # fmt: skip


def array(batch: int) -> Any:
    return np.random.default_rng(batch).normal(size=(batch, 3)).astype("float32")


def loops(graph: Any) -> int:
    return sum(node.op == "scan" for node in nodes_of(graph.program.block))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("to", ["numpy", "torch", "tensorflow"])
def test_the_same_numbers_without_a_loop(program: Callable[..., Any], to: str) -> None:
    graph = graph_compiler.compile(program, args=(jnp.asarray(array(4)),), to=to, passes=[unroll])
    assert loops(graph) == 0, graph.program
    for batch in (4, 2):
        found, wanted = graph(_native(array(batch), to)), program(jnp.asarray(array(batch)))
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-5)
    assert len(graph.variants) == 1, graph.explain()


def test_gradients_go_through_the_steps() -> None:
    torch = pytest.importorskip("torch")
    for program in PROGRAMS:
        graph = graph_compiler.compile(program, args=(jnp.asarray(array(4)),), to="torch", passes=[unroll])
        x = torch.tensor(array(3), requires_grad=True)
        sum(item.sum() for item in jax.tree.leaves(graph(x))).backward()
        wanted = jax.grad(lambda x, program=program: sum(item.sum() for item in jax.tree.leaves(program(x))))(
            jnp.asarray(array(3))
        )
        np.testing.assert_allclose(x.grad, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("steps", "left"), [(4, 0), (400, 1)])
def test_tensorflow_writes_short_loops_out_and_keeps_long_ones(steps: int, left: int) -> None:
    graph = graph_compiler.compile(
        lambda x: lax.fori_loop(0, steps, lambda i, held: jnp.sin(held), x),
        args=(jnp.ones(3),),
        to="tensorflow",
    )
    assert loops(graph) == left
    np.testing.assert_allclose(
        graph(np.ones(3, "float32")),
        lax.fori_loop(0, steps, lambda i, held: jnp.sin(held), jnp.ones(3)),
        rtol=1e-5,
    )


def test_loops_of_other_lengths_and_kept_steps_stay() -> None:
    def symbolic(x: Any) -> Any:
        return lax.scan(lambda held, row: (held + row, None), jnp.zeros(3), x)[0]

    def computed_again(x: Any) -> Any:
        return lax.scan(
            jax.checkpoint(lambda held, row: (jnp.sin(held + row), None)),
            jnp.zeros(3),
            x[0] * jnp.ones((4, 1)),
        )[0]

    for program in (symbolic, computed_again):
        assert (
            loops(graph_compiler.compile(program, args=(jnp.ones((5, 3)),), to="torch", passes=[unroll])) == 1
        )


def test_a_graph_without_short_loops_is_the_graph_itself() -> None:
    graph = graph_compiler.compile(rows_and_state, args=(jnp.asarray(array(4)),), to="torch").program
    assert unrolled(most=3)(graph) == (graph, False)
    assert unroll(graph)[1]


def _native(item: Any, to: str) -> Any:
    return pytest.importorskip("torch").tensor(item) if to == "torch" else item
