"""Tests of checks inside of regions: loops and branches return whether their checks have passed."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graph_compiler.errors import UnsupportedOperation
from graph_compiler.ir import Builder, Graph, Guard, Origin, Value, verify
from graph_compiler.ir.assumption import same_elements
from graph_compiler.ir.graph import check
from graph_compiler.ops import ArraySpec
from graph_compiler.passes.lowering.region_checks import holds, move_checks_out

from .graphs import computed, flat_tree

SCALAR, ROWS, COUNT = ArraySpec((), "float32"), ArraySpec((4,), "float32"), ArraySpec((), "int32")


class Writer(Builder):
    """A builder whose ``must`` adds a check with a line of ``f.py`` as its origin."""

    def must(self, condition: Value, line: int = 1) -> None:
        self.graph.nodes.append(check(Guard(condition, True, Origin("f.py", line))))


def checked(write: Callable[..., Any], *specs: ArraySpec) -> Callable[..., tuple[list[Any], dict[int, bool]]]:
    """Return a function that runs a program, and returns its results and for each line whether its checks
    have passed.
    """
    graph = Graph("f", "canonical")
    build = Writer(graph)
    graph.outputs = list(write(build, *(build.input(f"x{place}", spec) for place, spec in enumerate(specs))))
    graph = verify(move_checks_out(graph))
    count = len(graph.outputs)
    shown = graph.derive(outputs=[*graph.outputs, *(guard.condition for guard in graph.guards)])
    shown.output_tree = flat_tree(len(shown.outputs))

    def run(*arrays: Any) -> tuple[list[Any], dict[int, bool]]:
        found = computed(shown, *(np.asarray(array, "float32") for array in arrays))
        return found[:count], {
            guard.origin.line: bool(item) for guard, item in zip(graph.guards, found[count:])
        }

    return run


def summed(build: Writer, rows: Value, least: float = 0.0) -> Any:
    def step(state: Value, row: Value) -> Any:
        build.must(build.greater(row, least))
        return build.add(state, row), build.multiply(state, 2.0)

    start = build.full(shape=(), fill_value=0.0, dtype="float32")
    body = build.body("body", [build.argument("state", SCALAR), build.argument("row", SCALAR)], step)
    return build.run("scan", [start, rows], [body], carried=1, sequences=1, length=rows.shape[0])


def test_every_step_of_a_scan() -> None:
    run = checked(summed, ROWS)
    (last, outputs), held = run([1, 2, 3, 4])
    assert last == 10 and outputs.tolist() == [0, 2, 6, 12] and held == {1: True}
    assert run([1, -2, 3, 4])[1] == {1: False}
    assert run([])[1] == {1: True}


def test_a_branch_that_is_not_taken_holds() -> None:
    def write(build: Writer, x: Value) -> Any:
        def root() -> Any:
            build.must(build.greater_equal(x, -4.0), line=5)
            return (build.sqrt(build.abs(x)),)

        bodies = [
            build.body("otherwise", [], root),
            build.body("then", [], lambda: (build.multiply(x, 2.0),)),
        ]
        return build.run("branch", [build.greater(x, 0.0)], bodies)

    run = checked(write, SCALAR)
    assert [run(x)[1] for x in (1.0, -1.0, -9.0)] == [{5: True}, {5: True}, {5: False}]


def halved(build: Writer, x: Value) -> Any:
    def step(state: Value) -> Any:
        build.must(build.isfinite(state), line=2)
        return (build.divide(state, 2.0),)

    state = build.argument("state", SCALAR)
    condition = build.body("condition", [state], lambda state: (build.greater(state, 1.0),))
    return build.run(
        "while_loop", [x], [condition, build.body("body", [build.argument("state", SCALAR)], step)], carried=1
    )


def test_a_loop_ends_with_the_step_that_does_not_hold() -> None:
    run = checked(halved, SCALAR)
    assert run(9.0) == ([0.5625], {2: True})
    assert run(0.5) == ([0.5], {2: True})
    assert run(np.inf)[1] == {2: False}


def test_a_check_in_the_condition_of_a_loop() -> None:
    """The condition is evaluated once more than the body, so the carry after the last iteration is checked
    too.
    """

    def write(build: Writer, x: Value) -> Any:
        def goes_on(state: Value) -> Any:
            build.must(build.not_equal(state, 2.0), line=3)
            return (build.greater(state, 2.0),)

        bodies = [
            build.body("condition", [build.argument("state", SCALAR)], goes_on),
            build.body(
                "body", [build.argument("state", SCALAR)], lambda state: (build.subtract(state, 3.0),)
            ),
        ]
        return build.run("while_loop", [x], bodies, carried=1)

    run = checked(write, SCALAR)
    assert run(7.0) == ([1.0], {3: True})
    assert run(8.0) == ([2.0], {3: False})
    assert run(2.0) == ([2.0], {3: False})


def test_a_loop_in_a_branch_in_a_loop() -> None:
    """Only the inner loop of the branch that is taken counts, in all iterations of the outer one; each line
    has a guard of its own.
    """

    def write(build: Writer, rows: Value) -> Any:
        def step(state: Value, row: Value) -> Any:
            build.must(build.less(state, 9.0), line=7)
            first = build.body("otherwise", [], lambda: halved(build, row))
            second = build.body("then", [], lambda: (build.add(row, state),))
            (made,) = build.run("branch", [build.less(row, 0.0)], [first, second])
            return (build.add(state, made),)

        start = build.full(shape=(), fill_value=0.0, dtype="float32")
        body = build.body("body", [build.argument("state", SCALAR), build.argument("row", SCALAR)], step)
        return build.run("scan", [start, rows], [body], carried=1, sequences=1, length=rows.shape[0])

    run = checked(write, ROWS)
    assert run([1, 2, -3, 4])[1] == {7: True, 2: True}
    assert run([1, np.inf, 3, 4])[1] == {7: False, 2: False}
    assert run([-np.inf, 2, 2, 3])[1] == {7: True, 2: True}


def test_checks_of_one_line_are_one() -> None:
    def write(build: Writer, first: Value, second: Value) -> Any:
        return [*summed(build, first), *summed(build, second, -9.0)]

    run = checked(write, ROWS, ROWS)
    assert run([1, 2, 3, 4], [-1, 2, 3, 4])[1] == {1: True}
    assert run([1, 2, 3, 4], [-10, 2, 3, 4])[1] == {1: False}


def test_a_graph_without_checks_stays() -> None:
    graph = Graph("f", "canonical")
    build = Builder(graph)
    graph.outputs = [build.sin(build.input("x", SCALAR))]
    assert move_checks_out(graph) is graph


def test_a_check_in_a_derivative_rule_cannot_leave_it() -> None:
    graph = Graph("f", "canonical")
    build = Writer(graph)
    x = build.input("x", SCALAR)

    def rule(*given: Value) -> Any:
        build.must(build.isfinite(given[1]), line=4)
        return (given[1],)

    arguments = [build.argument(name, SCALAR) for name in ("result", "cotangent", "x")]
    bodies = [
        build.body("function", [build.argument("x", SCALAR)], lambda x: (build.sin(x),)),
        build.body("rule", arguments, rule),
    ]
    graph.outputs = list(build.run("custom_derivative", [x], bodies, kind="vjp", differentiated=(0,)))
    with pytest.raises(UnsupportedOperation, match=r"inside of custom_derivative cannot leave it\n.*f.py:4"):
        move_checks_out(graph)


def _add(build: Builder, op: str, *inputs: Any, **params: Any) -> Any:
    return getattr(build, op)(*inputs, **params)


# --------------------------------------------------------------------------- other elements than truth values
NUMBERS = [0.0, -0.0, 1.0, 1.0005, -1.0, float("nan"), float("inf"), -float("inf")]
PAIRS = [
    *itertools.product(NUMBERS, NUMBERS),
    *itertools.product([complex(0.0, 1.0), complex(-0.0, 1.0), complex(1.0, float("nan"))], repeat=2),
    *itertools.product([True, False], repeat=2),
    *itertools.product([3, -3, 0], repeat=2),
    *itertools.product([[1.0, -0.0], [1.0, 0.0], [1.0005, 0.0]], repeat=2),
    *itertools.product([[[1, 2], [3, 4]], [[1, 2], [3, 5]]], repeat=2),
    ([], []),
    *itertools.product([complex(-1.0, 0.0), complex(-1.0, -0.0), complex(1.7e308, 1.7e308)], repeat=2),
]


@pytest.mark.parametrize("rounding", [0.0, 1e-3])
def test_elements_are_compared_as_python_compares_them(rounding: float) -> None:
    for seen, expected in PAIRS:
        array = np.asarray(seen)
        graph = Graph("f", "canonical")
        build = Builder(graph)
        x = Value("x", ArraySpec(array.shape, array.dtype.name))
        graph.inputs = [x]
        graph.outputs, graph.output_tree = (
            [holds(functools.partial(_add, build), Guard(x, expected, Origin(), rounding))],
            flat_tree(1),
        )
        (found,) = computed(graph, array)
        assert bool(found) == same_elements(seen, expected, rounding), (seen, expected)
