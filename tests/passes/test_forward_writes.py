"""Tests of write forwarding: written elements are not read back, and a write that a later one covers is
removed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes.driver import nodes_of

STEPS = 12


# ---------------------------------------------------------------------------------- one write a step, or none
def twice_at_one_place(x: Any) -> Any:
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]
        x[i] /= 2.0
    return x


def read_in_between(x: Any) -> Any:
    for i in range(1, x.shape[0]):
        x[i] -= x[i - 1]
        x[i] = x[i] * x[0] + x[i - 1]
    return x


def maybe_one_row(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i, :3] = x[i, 2:] * 2.0
        x[i, :3] += x[-1, :3]
    return x


def maybe_at_one_place(x: Any) -> Any:
    """Whether the element that is read is the written one depends on ``i``."""
    for i in range(x.shape[0]):
        x[i, 1] = x[i, 0] * 2.0
        x[i, 1] = x[i, 1] + x[3, 1]
    return x


def three_times(x: Any) -> Any:
    x[1:-1] = x[:-2] + x[2:]
    x[1:-1] *= 2.0
    x[1:-1] -= x[0]
    return x


def one_place_in_other_words(x: Any) -> Any:
    x[1, 1:-1] = x[0, 2:] * 2.0
    x[1, 1 : x.shape[1] - 1] += x[1, 0] + x[2, 1:4]
    return x


def part_of_a_row(x: Any) -> Any:
    x[2, 1:] = 4.0
    x[2, 1:] += x[2, 0] + x[3, 1:]
    return x


ONE_WRITE: dict[Callable[[Any], Any], int] = {
    twice_at_one_place: 1,
    read_in_between: 1,
    maybe_at_one_place: 1,
    maybe_one_row: 1,
    three_times: 1,
    part_of_a_row: 1,
    one_place_in_other_words: 1,
}


# ------------------------------------------------------------------------------------- writes that are needed
def read_between_overlapping(x: Any) -> Any:
    x[1:-1] = x[:-2] * 2.0
    y = x[2:].sum()
    x[1:-1] += y
    return x


def both_given(x: Any) -> Any:
    y = x.copy()
    y[1] = 5.0
    z = y.copy()
    y[1] += x[1] + 2.0
    return y, z


def another_place(x: Any) -> Any:
    x[1] = x[0] + 1.0
    x[2] = x[1] * 2.0
    return x


def other_type(x: Any) -> Any:
    y = np.zeros(x.shape, dtype=np.int64)
    y[1] = x[1] * 10.0
    y[1] += 3
    return y, y[1] * 0.5


WRITES: dict[Callable[[Any], Any], int] = {
    read_between_overlapping: 2,
    both_given: 2,
    another_place: 2,
    other_type: 1,
}
CASES = {**ONE_WRITE, **WRITES}


def _matrix(rows: int) -> Any:
    return np.random.default_rng(rows).random((rows, 5))


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
@pytest.mark.parametrize("to", ["torch", "jax"])
def test_numbers_and_writes(function: Callable[[Any], Any], to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(function, source="numpy", to=to, args=(_matrix(STEPS),))
    for rows in (STEPS, STEPS + 3):
        found, wanted = graph(_matrix(rows)), function(_matrix(rows))
        for one, other in zip(*(item if isinstance(item, tuple) else (item,) for item in (found, wanted))):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5)
    assert sum(node.op == "setitem" for node in nodes_of(graph.program.block)) == CASES[function]
