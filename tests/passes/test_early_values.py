"""Tests of loop-invariant code: values that need no other iteration are computed before the loop, with equal
results and no larger arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes.driver import nodes_of

RECORDED, OTHERS = 8, (5, 1, 0)


def the_same_in_all_steps(x: Any, y: Any) -> Any:
    state = y * 0
    for i in range(x.shape[0]):
        state = state * x[i, 0] + np.exp(y) * 2
    return state


def a_number_of_the_outer_step(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        state = x[i, 0] * 0
        for j in range(y.shape[0]):
            state = state * 0.5 + y[j] * np.sin(x[i, 1])
        x[i, 2] = state
    return x


def of_rows_alone(x: Any, y: Any) -> Any:
    state = y.sum() * 0
    for i in range(x.shape[0]):
        state = state * 0.5 + np.maximum(x[i, 0] * y[i], x[i, 1])
    return state


def of_one_row(x: Any, y: Any) -> Any:
    state = y.sum() * 0
    for i in range(y.shape[0]):
        state = state / 2 + y[i] * 0.5
    return state


def work_of_one_row(x: Any, y: Any) -> Any:
    state = y.sum() * 0
    for i in range(y.shape[0]):
        state = state * 0.5 + np.tanh(y[i] * 0.5)
    return state


def a_mask(x: Any, y: Any) -> Any:
    state = y * 0
    for _ in range(y.shape[0]):
        state = np.where(np.arange(y.shape[0]) < 2, state * 0.5 + y, state)
    return state


CASES: dict[Callable[[Any, Any], Any], tuple[str, bool]] = {
    the_same_in_all_steps: ("exp", False), a_number_of_the_outer_step: ("sin", False), of_rows_alone: ("maximum", False),
    a_mask: ("where", True), of_one_row: ("multiply", True), work_of_one_row: ("tanh", False),
}  # fmt: skip
"""An operation of each, and whether it stays in the innermost loop."""


def arguments(size: int) -> tuple[Any, Any]:
    random = np.random.default_rng(size)
    return random.random((size, 3), dtype=np.float32), random.random(size, dtype=np.float32)


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_values_leave_the_loop(function: Callable[[Any, Any], Any]) -> None:
    pytest.importorskip("jax")
    graph = graph_compiler.transpile(function, source="numpy", to="jax", args=arguments(RECORDED))
    for size in (RECORDED, *OTHERS):
        np.testing.assert_allclose(
            np.asarray(graph(*arguments(size))), function(*arguments(size)), rtol=1e-5, atol=1e-6
        )
    loop = next(node for node in nodes_of(graph.program.block) if node.op == "scan")
    op, stays = CASES[function]
    assert any(node.op == op for node in loop.regions[0].block.nodes) is stays, graph.source
