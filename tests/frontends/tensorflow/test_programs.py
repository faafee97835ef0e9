"""Tests of TensorFlow programs and their gradients in every target, at other sizes and elements than the
recorded ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import graph_compiler  # noqa: E402

from .gradients import gradient_by_target, gradient_by_tensorflow  # noqa: E402
from .programs import PROGRAMS, WITHOUT_GRADIENT, Program  # noqa: E402

TARGETS = ("tensorflow", "torch", "jax", "numpy")


def name_of(program: Program) -> str:
    return str(getattr(program, "python_function", program).__name__)


def drawn(rows: int, seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).standard_normal((rows, 3)).astype("float32"))


def assert_same(found: Any, right: Any) -> None:
    found, right = (tf.nest.flatten(item) for item in (found, right))
    assert len(found) == len(right)
    for one, other in zip(found, right):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_program(program: Program, to: str) -> None:
    graph = graph_compiler.compile(program, to=to, args=(drawn(4),))
    other = tf.abs(drawn(6, seed=1)) * 0.3 + 0.1
    for x in (drawn(4), other, -other):
        assert_same(graph(x), program(x))
    assert len(graph.variants) == PROGRAMS[program]


@pytest.mark.parametrize("to", WITHOUT_GRADIENT)
@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_gradient(program: Program, to: str) -> None:
    if program in WITHOUT_GRADIENT[to]:
        pytest.skip("it has none there")
    graph = graph_compiler.compile(program, to=to, args=(drawn(4),))
    for x in (
        drawn(4),
        drawn(5, seed=1),
    ):
        assert_same(gradient_by_target(graph, to, x), gradient_by_tensorflow(program, x))


@pytest.mark.parametrize("to", TARGETS)
def test_rows_that_the_recorded_call_does_not_have(to: str) -> None:
    def mapped(x: Any) -> Any:
        return tf.map_fn(lambda row: row * tf.reduce_sum(row), x)

    graph = graph_compiler.compile(mapped, to=to, args=(tf.zeros((0, 3)),))
    assert tuple(graph(tf.zeros((0, 3))).shape) == (0, 3)
    assert_same(graph(drawn(4)), mapped(drawn(4)))
    assert len(graph.variants) == 1, graph.explain()
