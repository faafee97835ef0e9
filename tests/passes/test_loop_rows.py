"""Tests of rows that iterations read and write in order: they become sequences and outputs of the loop,
unless another iteration reads what was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler
from graph_compiler.passes.driver import nodes_of

RECORDED, OTHERS = 8, (11, 3, 1, 0)


# --------------------------------------------------------------- nothing is carried that a step does not need
def rows_read(x: Any, y: Any) -> Any:
    total = y[:1].sum(axis=0) * 0
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i] * y[i, 0]
    return total


def rows_written(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        y[i] = x[i] * i
    return y


def numbers_written(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        y[i] = 2.5
    return y


def read_and_written(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        y[i] = y[i] + x[i - 1]
        y[i] /= 2
    return y


def read_ahead(x: Any, y: Any) -> Any:
    for i in range(x.shape[0] - 1):
        y[i] = y[i + 1, 0] + x[i]
    return y


def backwards(x: Any, y: Any) -> Any:
    for i in range(x.shape[0] - 1, 0, -1):
        y[i] = y[i - 1] * x[i, 1] + i
    return y


def two_arrays(x: Any, y: Any) -> Any:
    z = np.zeros_like(x)
    for i in range(x.shape[0]):
        z[i] = y[i] * 2
        y[i] = x[i] + 1
    return y, z


def inside_of_another(x: Any, y: Any) -> Any:
    for _ in range(3):
        for i in range(x.shape[0]):
            y[i] = x[i] * y[i] + 1
    return y


def part_of_the_row(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        y[i, 1:] = x[i, 0]
    return y


def the_row_before(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * 0.5 + x[i]
    return y


def ahead_on_the_way_back(x: Any, y: Any) -> Any:
    for i in range(x.shape[0] - 2, -1, -1):
        y[i] = y[i + 1] * 0.5 + x[i]
    return y


def two_rows_before(x: Any, y: Any) -> Any:
    for i in range(3, x.shape[0]):
        y[i] = y[i - 1] * 0.5 - y[i - 3] * x[i]
    return y


def an_element_of_the_row_before(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        y[i, 0] = y[i - 1, 0] * 0.5 + y[i - 1, 2] + y[i, 1]
    return y


def parts_of_the_row_before(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        y[i, 1:] = y[i - 1, :-1] * 0.5 + x[i, 0]
        y[i, 0] = y[i, 1] - y[i - 1, 2]
    return y


def a_part_of_the_row_before(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        y[i, 1:] = y[i - 1, :-1] * 0.5 + x[i, 0] + y[i, :2]
        y[i, 1:] -= y[i - 1].sum() + y[i - 1, 0]
    return y


def a_table(x: Any, y: Any) -> Any:
    n, m = x.shape[0], y.shape[0]
    table = np.zeros((n + 1, m + 1), x.dtype)
    table[:, 0] = np.arange(n + 1)
    table[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i, j] = np.minimum(
                table[i - 1, j] + x[i - 1, 0], np.minimum(table[i, j - 1], table[i - 1, j - 1] * 0.5)
            )
    return table[n, m], table[-1], table[n, :1]


def planes(x: Any, y: Any) -> Any:
    z = np.zeros((x.shape[1], x.shape[0], y.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            z[:, i, j] = x[i] * y[j]
    return z


def columns(x: Any, y: Any) -> Any:
    for i in range(x.shape[1]):
        y[:, i] = y[:, i] * x[0, i] + i
    return y


def one_element_of_a_column(x: Any, y: Any) -> Any:
    for i in range(x.shape[1]):
        y[1, i] += (y[:, i] * x[:, i]).sum()
    return y


def by_rows_and_elements(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = y[i - 1, j] * 0.5 + y[i, j - 1] - y[i - 1, j - 1] * x[i, j]
    return y


def one_row_in_all_steps(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        for _ in range(x.shape[1]):
            y[i] = y[i] * 0.5 + x[i]
            y[i] -= 1
    return y


def state_beside(x: Any, y: Any) -> Any:
    state = np.float32(0.0)
    for i in range(x.shape[0]):
        state = state * 0.5 + x[i, 0]
        y[i] = state
    return y, state


def a_part_in_two_goes(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        y[i, 1:] += y[i - 1, :-1] + y[i, 1:] * x[i, 0]
        for j in range(1, y.shape[1]):
            y[i, j] = y[i, j] * 0.5 + y[i, j - 1]
    return y


def a_diagonal(x: Any, y: Any) -> Any:
    z, total = np.outer(x[:, 0], y[:, 1]), y[:1].sum() * 0
    for i in range(1, x.shape[0]):
        total = total * 0.5 + z[i, i - 1] * np.tanh(z[i - 1, i])
    return total


def a_diagonal_of_rows(x: Any, y: Any) -> Any:
    z = x[:, :, None] * y[:, 0]
    for i in range(x.shape[0]):
        y[i] = z[i, :, i] * 0.5 + y[i]
    return y


def levels_of_columns(x: Any, y: Any) -> Any:
    n = x.shape[0]
    above, right = np.zeros((3, n), x.dtype), np.zeros((3, n), x.dtype)
    above[:, 0], right[:, 0] = x[0], y[0]
    for i in range(1, n):
        above[:, i] = x[i] / (above[:, i - 1] + 2)
        right[:, i] = y[i] + right[:, i - 1] * above[:, i]
    for i in range(n - 2, -1, -1):
        right[:, i] -= above[:, i] * right[:, i + 1]
    return right


def some_columns(x: Any, y: Any) -> Any:
    z = np.full((3, x.shape[0]), 0.5, x.dtype)
    z[:, 1] = y[1]
    for i in range(2, x.shape[0] - 1):
        z[:, i] = x[i] + z[:, i - 1] * 0.5
    total = y[0] * 0
    for i in range(x.shape[0]):
        total = total * 0.5 + z[:, i]
    return z, total


ROWS: dict[Callable[[Any, Any], Any], int] = {
    rows_read: 1, rows_written: 0, numbers_written: 0, read_and_written: 0, read_ahead: 0, backwards: 0, two_arrays: 0,
    inside_of_another: 0, state_beside: 0, part_of_the_row: 0, the_row_before: 1, ahead_on_the_way_back: 1, two_rows_before: 3, an_element_of_the_row_before: 0,
    a_part_of_the_row_before: 1, a_table: 1, planes: 0, columns: 0, one_element_of_a_column: 0, by_rows_and_elements: 1,
    one_row_in_all_steps: 1, a_part_in_two_goes: 1, a_diagonal: 0, a_diagonal_of_rows: 0,
    levels_of_columns: 3, some_columns: 2,
}  # fmt: skip
"""With how many arrays are carried."""


# --------------------------------------------------------------------------- other steps see what was written
def one_row_always(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        y[i] = x[i] + y[0] * y[1]
    return y


def the_whole_array(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        y[i] = x[i] + y.sum()
    return y


def read_behind_the_write(x: Any, y: Any) -> Any:
    total = np.float32(0.0)
    for i in range(x.shape[0]):
        y[i] = x[i] * 2
        total = total + y[0, 0]
    return y, total


def the_array_before(x: Any, y: Any) -> Any:
    old = x * 1
    for i in range(x.shape[0]):
        new = y.copy()
        new[i] = x[i] * 2
        old, y = y, new
    return old, y


def every_other_row(x: Any, y: Any) -> Any:
    for i in range(x.shape[0] // 2):
        y[2 * i] = x[i] + y[i]
    return y


def two_rows(x: Any, y: Any) -> Any:
    for i in range(x.shape[0] - 1):
        y[i] = x[i]
        y[i + 1] = x[i] * y[i]
    return y


def by_elements(x: Any, y: Any) -> Any:
    order = np.argsort(x[:, 0])
    for i in range(x.shape[0]):
        y[order[i]] = x[i] + y[i]
    return y


def a_row_that_may_be_the_same(x: Any, y: Any) -> Any:
    for i in range(1, x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = y[i, j - 1] + y[j, j - 1] * x[i, j]
    return y


def five_rows_before(x: Any, y: Any) -> Any:
    for i in range(5, x.shape[0]):
        y[i] = y[i - 5] * 0.5 + x[i]
    return y


def a_place_beside(x: Any, y: Any) -> Any:
    for i in range(x.shape[0]):
        for _ in range(x.shape[1]):
            y[i] = y[i] * 0.5 + y[0]
    return y


CARRIED = (
    one_row_always, the_whole_array, read_behind_the_write, the_array_before, every_other_row, two_rows, by_elements,
    a_row_that_may_be_the_same, five_rows_before, a_place_beside, parts_of_the_row_before,
)  # fmt: skip


# ------------------------------------------------------------------------------------- tests
def arguments(size: int) -> tuple[Any, Any]:
    random = np.random.default_rng(size)
    return random.random((size, 3), dtype=np.float32), random.random((size, 3), dtype=np.float32)


def transpiled(function: Callable[[Any, Any], Any], to: str) -> Any:
    return graph_compiler.transpile(function, source="numpy", to=to, args=arguments(RECORDED))


def outcome(function: Callable[[Any, Any], Any], size: int) -> Any:
    """Return the result, or None if the function raises ``IndexError``."""
    try:
        return function(*arguments(size))
    except IndexError:
        return None


def check(graph: Any, function: Callable[[Any, Any], Any]) -> None:
    for size in (RECORDED, *OTHERS):
        wanted = outcome(function, size)
        if wanted is None:
            with pytest.raises(IndexError):
                graph(*arguments(size))
            continue
        found = graph(*arguments(size))
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for one, other in pairs:
            np.testing.assert_allclose(
                np.asarray(one), other, rtol=1e-5, atol=1e-6, err_msg=f"of {size} rows"
            )


def arrays_carried(graph: Any) -> int:
    loops = [node for node in nodes_of(graph.program.block) if node.op == "scan"]
    return sum(
        bool(value.ndim) for loop in loops for value in loop.regions[0].block.inputs[: loop.params["carried"]]
    )


@pytest.mark.parametrize("function", ROWS, ids=lambda function: function.__name__)
def test_rows_leave_the_loop(function: Callable[[Any, Any], Any]) -> None:
    pytest.importorskip("jax")
    graph = transpiled(function, "jax")
    check(graph, function)
    assert arrays_carried(graph) == ROWS[function], graph.source


def test_the_last_row_is_what_is_carried() -> None:
    pytest.importorskip("jax")
    block = transpiled(a_table, "jax").program.block
    loop = next(node for node in block.nodes if node.op == "scan")
    assert not any(loop.outputs[-1] in node.uses for node in block.nodes)


@pytest.mark.parametrize(
    "function", [levels_of_columns, some_columns], ids=lambda function: function.__name__
)
def test_columns_are_rows_from_one_loop_to_the_next(function: Callable[[Any, Any], Any]) -> None:
    pytest.importorskip("jax")
    nodes = transpiled(function, "jax").program.block.nodes
    assert sum(node.op == "permute_dims" for node in nodes) == 1


@pytest.mark.parametrize("function", CARRIED, ids=lambda function: function.__name__)
def test_what_other_steps_read_is_carried(function: Callable[[Any, Any], Any]) -> None:
    pytest.importorskip("jax")
    graph = transpiled(function, "jax")
    check(graph, function)
    assert arrays_carried(graph) >= 1, graph.source


BY_NAME = {function.__name__: function for function in (*ROWS, *CARRIED)}


@pytest.mark.parametrize("name", BY_NAME)
def test_in_tensorflow(name: str) -> None:
    function = BY_NAME[name]
    pytest.importorskip("tensorflow")
    check(transpiled(function, "tensorflow"), function)
