"""Tests of index checks: an index that cannot be out of bounds is not checked, any other raises NumPy's
``IndexError``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

Function = Callable[[Any, Any], Any]


def masked(x: Any, v: Any) -> Any:
    return x[v[0] & 7]


def masked_by_a_number_of_numpy(x: Any, v: Any) -> Any:
    return x[np.int64(3) & v[0]] + x[v[1] & np.int64(7)]


def masked_by_less_than_nothing(x: Any, v: Any) -> Any:
    return x[v[0] & -2]


def remainder(x: Any, v: Any) -> Any:
    return x[v[0] % 8] * x[v[1] % 5]


def remainder_of_the_length(x: Any, v: Any) -> Any:
    return x[v[0] % len(x)]


def remainder_below_nothing(x: Any, v: Any) -> Any:
    return x[v[0] % -8]


def byte(x: Any, v: Any) -> Any:
    return x[v.astype(np.uint8)[0] & np.uint8(7)]


def cut_off(x: Any, v: Any) -> Any:
    """The cast to int8 turns 255 into -1."""
    return x[(v & 255).astype(np.int8)[0]]


def extremum(x: Any, v: Any) -> Any:
    return x[x.argmax()] + x[v.argmin()]


def step_by_step(x: Any, v: Any) -> Any:
    state = v[0]
    for i in range(v.shape[0]):
        state = (state * 5 + v[i]) & 7
        v[i] = x[state]
    return v


CASES: dict[Function, int] = {
    masked: 0, masked_by_a_number_of_numpy: 0, masked_by_less_than_nothing: 1, remainder: 0, remainder_of_the_length: 1,
    remainder_below_nothing: 1, byte: 0, cut_off: 1, extremum: 1, step_by_step: 0,
}  # fmt: skip
"""How many indices of each are checked in JAX."""


def outcome(function: Any, x: Any, v: Any) -> Any:
    """Return the result, or None if an index is rejected."""
    try:
        return np.asarray(function(x.copy(), v.copy()))
    except (IndexError, graph_compiler.errors.GraphCompilerError):
        return None


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
@pytest.mark.parametrize("to", ["numpy", "jax"])
def test_indices(function: Function, to: str) -> None:
    pytest.importorskip(to)
    arguments = np.arange(8), np.array([1, 2, 3])
    graph = graph_compiler.transpile(
        function, source="numpy", to=to, args=(arguments[0].copy(), arguments[1].copy())
    )
    if to == "jax":
        assert len(graph.program.guards) - len(list(graph.program.entry_guards())) == CASES[function], (
            graph.source
        )
    for size in (8, 11, 6, 3, 1):
        for v in ([1, 2, 3], [7, 6, 4], [-1, 12, 255], [-9, 5, -8]):
            x, v = np.arange(size) * 10, np.array(v)
            found, wanted = outcome(graph, x, v), outcome(function, x, v)
            np.testing.assert_equal(found, wanted, err_msg=f"of {size} and {v}")
