"""Tests of NumPy scalars and arrays without axes: a graph recorded with one of them serves the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_compiler

DTYPES = ("float64", "float32", "int64", "int32", "bool")
FORMS: dict[str, Callable[[str], Any]] = {
    "a scalar": lambda dtype: np.dtype(dtype).type(1),
    "an array": lambda dtype: np.array(1, dtype),
}


def scaled(x: Any, rate: Any) -> Any:
    return x * rate + rate


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("recorded", "called"), [("a scalar", "an array"), ("an array", "a scalar")])
def test_one_answers_for_the_other(recorded: str, called: str, dtype: str, to: str) -> None:
    pytest.importorskip(to)
    x = np.arange(3, dtype="float32")
    graph = graph_compiler.compile(scaled, args=(x, FORMS[recorded](dtype)), to=to)
    given = FORMS[called](dtype)
    np.testing.assert_allclose(np.asarray(graph(x, given)), scaled(x, given))
    np.testing.assert_allclose(np.asarray(graph.functional({}, x, given)), scaled(x, given))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_an_array_of_another_type_is_another_variant(to: str) -> None:
    pytest.importorskip(to)
    x = np.arange(3, dtype="float32")
    graph = graph_compiler.compile(scaled, args=(x, np.float64(0.5)), to=to)
    found = np.asarray(graph(x, np.array(0.5, "float32")))
    assert found.dtype == np.float32 and len(graph.variants) == 2


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_one_scalar_is_two_arguments(to: str) -> None:
    pytest.importorskip(to)
    half = np.float32(0.5)
    graph = graph_compiler.compile(scaled, args=(half, half), to=to, source="numpy")
    for x, rate in ((half, half), (half, np.float32(2.0)), (np.float32(3.0),) * 2):
        np.testing.assert_allclose(np.asarray(graph(x, rate)), scaled(x, rate))
    assert len(graph.variants) == 1


def test_one_scalar_is_kept_in_two_places() -> None:
    best, log = np.float64(-9), {}

    def largest(x: Any) -> Any:
        nonlocal best
        best = log["best"] = x.max()
        return best * len(log)

    graph = graph_compiler.transpile(largest, to="numpy", source="numpy")
    for x in np.arange(6.0).reshape(3, 2):
        assert graph(x) == x.max() and best == log["best"] == x.max()


def added(total: Any, x: Any) -> Any:
    total += x.sum()
    return total * 2


@pytest.mark.parametrize("to", ["torch", "numpy"])
def test_an_array_that_is_written_to_is_no_scalar(to: str) -> None:
    pytest.importorskip(to)
    graph, x = graph_compiler.transpile(added, to=to, source="numpy"), np.ones(3)
    total = np.array(1.0)
    for expected in (4.0, 7.0):
        assert float(graph(total, x)) == 2 * expected and total == expected
    assert float(graph(np.float64(1.0), x)) == 8.0


def beyond(x: Any) -> Any:
    return np.stack(
        [
            x > 300,
            x >= 256,
            x < 300,
            x < -1,
            x <= 300,
            x == 300,
            x != -5,
            np.less(-200, x),
            x > 255,
            -x == 256,
        ]
    )


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_comparisons_with_numbers_beyond_the_type_have_answers(dtype: str, to: str) -> None:
    pytest.importorskip(to)
    graph = graph_compiler.transpile(beyond, to=to, source="numpy")
    for x in (np.array([0, 100, 127, 3], dtype), np.array([[1, 2, 5]], dtype)):
        np.testing.assert_array_equal(np.asarray(graph(x)), beyond(x))


def doubled_row(x: Any, i: Any) -> Any:
    row = x[i]
    row *= 2
    return row.sum(), i


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_a_scalar_is_an_index_whose_row_is_a_view(to: str) -> None:
    pytest.importorskip(to)
    recorded = np.arange(6, dtype="float32").reshape(2, 3)
    graph = graph_compiler.compile(doubled_row, args=(recorded, np.int64(1)), to=to)
    given, expected = np.ones((3, 4), "float32"), np.ones((3, 4), "float32")
    total, i = graph(given, np.int64(-1))
    assert float(np.asarray(total)) == doubled_row(expected, np.int64(-1))[0] and int(i) == -1
    np.testing.assert_array_equal(given, expected)
    assert to != "numpy" or type(i) is np.int64


@pytest.mark.parametrize("to", ["torch", "jax", "tensorflow", "numpy"])
def test_a_loaded_graph_takes_scalars(to: str, tmp_path: Path) -> None:
    pytest.importorskip(to)
    x = np.arange(3, dtype="float32")
    graph_compiler.compile(scaled, args=(x, np.float32(0.5)), to=to).save(tmp_path / "scaled.zip")
    graph = graph_compiler.load(tmp_path / "scaled.zip")
    for rate in (np.float32(3), np.array(3, "float32")):
        np.testing.assert_allclose(np.asarray(graph(x, rate)), scaled(x, rate))
