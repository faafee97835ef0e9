"""Tests of constant folding: what is the same at every call is computed once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from graph_compiler.ir import Graph
from graph_compiler.passes import constant_folding

from .graphs import SPEC, Recording, after, canonical, computed, ops_of, random_arrays, region_of


def cached(graph: Graph) -> Graph:
    return after(partial(constant_folding, evaluate=computed), graph)


def counted(graph: Graph) -> list[Any]:
    return list(range(len(graph.outputs)))


def test_what_depends_on_no_input() -> None:
    def write(b: Any, x: Any) -> Any:
        table = b.exp(b.full(shape=(3,), fill_value=0.5, dtype="float32"))
        return b.add(x, b.multiply(table, 2.0))

    graph = canonical(write, SPEC)
    made = cached(graph)
    assert ops_of(made) == ["add"]
    ((value, array),) = made.constants.values()
    np.testing.assert_allclose(array, np.full(3, 2 * np.exp(0.5), "float32"))
    assert made.maker(value) is None and graph.maker(value) is not None
    arrays = random_arrays(graph)
    np.testing.assert_allclose(computed(made, *arrays), computed(graph, *arrays))


def test_what_reads_a_size_is_not() -> None:
    graph = canonical(lambda b, x: b.add(x, b.full(shape=x.shape, fill_value=1.0, dtype="float32")), SPEC)
    assert cached(graph) is graph


def test_results_that_the_caller_receives_are_not() -> None:
    graph = canonical(lambda b, x: (x, b.full(shape=(3,), fill_value=1.0, dtype="float32")), SPEC)
    assert cached(graph) is graph


def test_draws_and_parameters_vary() -> None:
    made = Recording()
    x, weight = made.input("x"), made.parameter("weight")
    drawn, scaled, table = (
        made.call("rand", random=True),
        made.call("exp", weight),
        made.call("exp", made.constant("table")),
    )
    total = made.call("add", made.call("add", drawn, scaled), made.call("add", x, table))
    found = after(partial(constant_folding, evaluate=counted), made.returning(total))
    assert ops_of(found) == ["rand", "exp", "add", "add", "add"]
    assert list(found.constants) == ["table", "exp"]


@pytest.mark.parametrize(
    ("op", "noted"), [("rand", {"random": True}), ("device_axis_index_p", {})], ids=["draw", "device"]
)
def test_regions_that_vary(op: str, noted: dict[str, Any]) -> None:
    made = Recording()
    x, result = made.input("x"), made.call("run", regions=(region_of(op, **noted),))
    found = after(partial(constant_folding, evaluate=counted), made.returning(made.call("add", x, result)))
    assert ops_of(found) == ["run", "add"]


def test_memory_that_varying_calls_write_to() -> None:
    made = Recording()
    x, buffer = made.input("x"), made.call("zeros")
    made.call("copy_", buffer, x, makes=0, writes=(buffer,))
    graph = made.returning(made.call("exp", buffer))
    assert after(partial(constant_folding, evaluate=counted), graph) is graph
