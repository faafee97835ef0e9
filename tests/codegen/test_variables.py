"""Tests of the variables of generated source: they are assigned like the user's, and no array is lost by that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from tests.support.compare import assert_same

from .loops_on_values import distances

TARGETS = ["torch", "jax", "tensorflow", "numpy"]


def eliminated(a: Any, b: Any) -> Any:
    a = a.copy()
    b = b.copy()
    for k in range(a.shape[0] - 1):
        for i in range(k + 1, a.shape[0]):
            factor = a[i, k] / a[k, k]
            a[i] = a[i] - factor * a[k]
            b[i] = b[i] - factor * b[k]
    return a, b


def carried_twice(a: Any, b: Any) -> Any:
    one = other = a * 0
    for i in range(a.shape[0]):
        one, other = other + a[i], one * 2 + b
    return one, other


def start_read_later(a: Any, b: Any) -> Any:
    start = a[0] * 2
    total = start
    for i in range(a.shape[0]):
        total = total + a[i] * start
    return total - start, b


def argument_carried(a: Any, b: Any) -> Any:
    for i in range(3):
        b = b + a[i].sum() * b
    for i in range(a.shape[0]):
        b = b * 2 - a[i, 0]
    return b


def size_of_an_argument_read_later(a: Any, b: Any) -> Any:
    rows = a.shape[0]
    a = a[1:] * 2
    b = b[:2]
    outputs = np.zeros((rows, 3), a.dtype)
    for i in range(rows):
        outputs[i] = a[0, :3] + i
    return outputs.reshape(rows * 3), a, b


def old_carry_returned(a: Any, b: Any) -> Any:
    before = state = a[0]
    for i in range(a.shape[0]):
        before = state
        state = state * 0.5 + a[i]
    return before, state, b


def inner_loop_over_the_carry(a: Any, b: Any) -> Any:
    state = a[0]
    for i in range(a.shape[0]):
        inner = state
        for _ in range(b.shape[0]):
            inner = inner * 0.5 + a[i]
        state = state + inner
    return state


def written_rows(a: Any, b: Any) -> Any:
    result = np.zeros_like(a)
    result[b > 0] = a[b > 0] * 2
    result[:, 0] = b
    return result


FUNCTIONS = [
    eliminated,
    carried_twice,
    start_read_later,
    argument_carried,
    size_of_an_argument_read_later,
    old_carry_returned,
    inner_loop_over_the_carry,
    written_rows,
]


def arguments(rows: int) -> tuple[Any, Any]:
    random = np.random.default_rng(rows)
    a = random.normal(size=(rows, rows)) + rows * np.eye(rows)
    return a.astype("float32"), random.normal(size=rows).astype("float32")


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_no_array_is_lost(function: Callable[..., Any], to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.compile(function, source="numpy", to=to, args=arguments(5))
    for rows in (4, 7):
        assert_same(graph(*arguments(rows)), function(*arguments(rows)))


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_a_loop_assigns_the_variables_that_it_begins_with(to: str) -> None:
    pytest.importorskip(to)
    source = graph_compiler.compile(eliminated, source="numpy", to=to, args=arguments(5)).source
    assert "factor = a[i, k] / a[k, k]" in source and "return (a, b)" in source
    assert "a_1" not in source and "b_1" not in source


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow"])
def test_an_array_keeps_its_name_when_its_elements_are_written_to(to: str) -> None:
    pytest.importorskip(to)
    source = graph_compiler.compile(written_rows, source="numpy", to=to, args=arguments(5)).source
    assert source.count("result = ") >= 2 and "scatter = " not in source and "setitem = " not in source


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_loop_on_values_names_what_it_carries(to: str) -> None:
    pytest.importorskip(to)
    # Fewer guards on elements would be recorded as executed.
    a, b = np.arange(7) % 3, np.arange(8) % 4
    graph = graph_compiler.transpile(distances, source="numpy", to=to, args=(a, b))
    # The counter begins with a literal, and the table keeps its name.
    assert "constants" not in graph.source and "trace" not in graph.source
    assert graph.source.rstrip().endswith("return table") and "step" in graph.source
    for given in ((a, b), (b[:2], a), (a, a)):
        made = graph(
            *(np.asarray(x) if to == "jax" else pytest.importorskip("torch").tensor(x) for x in given)
        )
        assert_same(made, distances(*given))
