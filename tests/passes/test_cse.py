"""Tests of common subexpression elimination: equal operations on equal operands are merged unless that is
observable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graph_compiler.ir import Graph, Region
from graph_compiler.ir.sameness import same_program
from graph_compiler.passes import cse

from .graphs import SPEC, Recording, after, canonical, computed, ops_of, random_arrays, region_of


def test_equal_operations_are_one() -> None:
    graph = canonical(lambda b, x: b.add(b.exp(b.negative(x)), b.exp(b.negative(x))), SPEC)
    shared = after(cse, graph)
    assert ops_of(shared) == ["negative", "exp", "add"]
    arrays = random_arrays(graph)
    np.testing.assert_array_equal(computed(shared, *arrays), computed(graph, *arrays))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 2.0),
        (0.0, -0.0),
        (np.float16(0), np.float16(-0.0)),
        (np.complex64(0), np.complex64(complex(0, -0.0))),
        (1, 1.0),
        (True, 1),
        ({True: 2}, {1: 2}),
        ({0.0: 2}, {-0.0: 2}),
    ],
)
def test_other_numbers_are_other_operations(one: Any, other: Any) -> None:
    made = Recording()
    x = made.input("x")
    graph = made.returning(made.call("add", made.call("mul", x, one), made.call("mul", x, other)))
    assert ops_of(after(cse, graph)) == ["mul", "mul", "add"]


def test_regions_with_arrays_are_run_each() -> None:
    def region() -> Region:
        made = Recording()
        return Region("body", made.returning(made.call("take", np.arange(3))).block, {})

    made = Recording()
    first, second = (made.call("run", regions=(region(),)) for _ in range(2))
    graph = made.returning(made.call("add", first, second))
    assert after(cse, graph) is graph


def test_calls_under_another_errstate_are_made_each() -> None:
    made = Recording()
    x = made.input("x")
    first, second = made.call("log", x), made.call("log", x, errstate=(("invalid", "raise"),))
    graph = made.returning(made.call("add", first, second))
    assert after(cse, graph) is graph


def test_operations_with_more_regions_are_run_each() -> None:
    made = Recording()
    first = made.call("run", regions=(region_of("one"),))
    second = made.call("run", regions=(region_of("one"), region_of("other")))
    graph = made.returning(made.call("add", first, second))
    assert after(cse, graph) is graph


def test_regions_that_draw_are_run_each() -> None:
    made = Recording()
    first, second = (made.call("run", regions=(region_of("rand", random=True),)) for _ in range(2))
    graph = made.returning(made.call("add", first, second))
    assert after(cse, graph) is graph


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (np.float16(0), np.float16(-0.0)), (True, 1)])
def test_other_numbers_are_other_programs(one: Any, other: Any) -> None:
    def product(number: Any) -> Graph:
        made = Recording()
        return made.returning(made.call("mul", made.input("x"), number))

    assert same_program(product(one), product(one))
    assert not same_program(product(one), product(other))


def test_sizes_of_what_was_dropped_are_read_from_what_stands_for_it() -> None:
    def write(b: Any, x: Any) -> Any:
        one, other = b.nonzero(b.greater(x, 0.0), hint=2)[0], b.nonzero(b.greater(x, 0.0), hint=2)[0]
        return b.full(shape=other.shape, fill_value=1.0, dtype="float32"), one

    graph = canonical(write, SPEC)
    shared = after(cse, graph)
    assert ops_of(shared) == ["greater", "nonzero", "full"]
    arrays = random_arrays(graph)
    for found, wanted in zip(computed(shared, *arrays), computed(graph, *arrays)):
        np.testing.assert_array_equal(found, wanted)


RECORDED: dict[str, Callable[[Recording, Any], tuple[Any, Any]]] = {
    "draws": lambda made, x: (made.call("rand_like", x, random=True), made.call("rand_like", x, random=True)),
    "with and without gradients": lambda made, x: (made.call("exp", x), made.call("exp", x, no_grad=True)),
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_no_repetition(name: str) -> None:
    made = Recording()
    one, other = RECORDED[name](made, made.input("x"))
    graph = made.returning(made.call("sub", one, other))
    assert len(after(cse, graph).nodes) == 3


def test_memory_that_is_written_to_is_nobody_elses() -> None:
    made = Recording()
    x = made.input("x")
    one, other = made.call("clone", x), made.call("clone", x)
    made.call("zero_", one, makes=0, writes=(one,))
    graph = made.returning(made.call("sub", one, other))
    assert ops_of(after(cse, graph)) == ["clone", "clone", "zero_", "sub"]


def test_the_caller_receives_two_arrays() -> None:
    made = Recording()
    x = made.input("x")
    graph = made.returning(made.call("exp", x), made.call("exp", x))
    assert len(after(cse, graph).nodes) == 2


def loops(first: str, second: str) -> Graph:
    made = Recording()
    x = made.input("x")
    one, other = made.call("loop", x), made.call("loop", x)
    made.graph.nodes = [
        dataclasses.replace(
            node, regions=(Region("body", canonical(lambda b, y, op=op: getattr(b, op)(y), SPEC).block, {}),)
        )
        for node, op in zip(made.graph.nodes, (first, second))
    ]
    return made.returning(made.call("sub", one, other))


def test_loops_with_the_same_body_are_one() -> None:
    assert ops_of(after(cse, loops("exp", "exp"))) == ["loop", "sub"]


def test_loops_with_other_bodies_are_two() -> None:
    assert ops_of(after(cse, loops("exp", "sin"))) == ["loop", "loop", "sub"]


def test_in_regions() -> None:
    made = Recording()
    made.call("loop", made.input("x"))
    body = canonical(lambda b, y: b.add(b.exp(y), b.exp(y)), SPEC).block
    made.graph.nodes = [dataclasses.replace(made.graph.nodes[0], regions=(Region("body", body, {}),))]
    shared = after(cse, made.returning(*made.graph.nodes[0].outputs))
    assert ops_of(shared.nodes[0].regions[0].block) == ["exp", "add"]
    assert ops_of(body) == ["exp", "exp", "add"]
