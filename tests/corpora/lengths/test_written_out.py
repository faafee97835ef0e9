"""Tests of loops that are unrolled because some iterations differ from the loop made of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.errors import UnsupportedOperation
from graph_compiler.runtime.pipeline import Pipeline


def begins_at_the_end(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] = x[i] * 2 + 1
        # In the first iteration the index -1 is the last row.
        x[i] += x[i - 1]
    return x


def from_both_ends(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[-i] -= 0.5
        x[i] *= 2
        x[-i] += x[i]
    return x


def by_remainders(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i // 2] += 1
        x[i % 3 % x.shape[0]] *= 2
        x[i // 2] -= x[i]
    return x


@pytest.mark.parametrize("to", ["jax", "torch", "numpy"])
@pytest.mark.parametrize("function", [begins_at_the_end, from_both_ends, by_remainders])
def test_steps_that_are_not_alike(function: Any, to: str) -> None:
    if to != "numpy":
        pytest.importorskip(to)
    graph = graph_compiler.transpile(function, source="numpy", to=to, args=(np.ones(6, dtype=np.float32),))
    for length in (6, 1, 3, 8):
        given = np.linspace(-1, 1, length, dtype=np.float32)
        np.testing.assert_allclose(
            np.asarray(graph(given.copy())), function(given.copy()), rtol=1e-5, err_msg=f"of {length}"
        )


def test_what_no_target_has_is_recorded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To unroll the loop would fail again for the same reason, after recording all iterations."""
    pytest.importorskip("jax")
    monkeypatch.setattr(Pipeline, "record_unrolled", lambda *_: pytest.fail("it is recorded again"))

    def function(x: Any) -> Any:
        for i in range(x.shape[0]):
            x[i] = np.linalg.eig(np.outer(x, x) + x[i])[1][0, 0].real
        return x

    with pytest.raises(UnsupportedOperation, match="eig"):
        graph_compiler.transpile(function, source="numpy", to="jax", args=(np.ones(6, dtype=np.float32),))


def begins_in_the_first_step(x: Any) -> Any:
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            x[j] = x[j] * 0.5 + i
        t = t + x[i]
    return x, t


@pytest.mark.parametrize("to", ["jax", "torch", "numpy"])
def test_an_inner_loop_reads_the_number_of_a_first_step_that_differs(to: str) -> None:
    if to != "numpy":
        pytest.importorskip(to)
    graph = graph_compiler.transpile(
        begins_in_the_first_step, source="numpy", to=to, args=(np.ones(5, dtype=np.float32),)
    )
    for length in (5, 3):
        given = np.linspace(-1, 1, length, dtype=np.float32)
        for found, wanted in zip(graph(given.copy()), begins_in_the_first_step(given.copy()), strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)
