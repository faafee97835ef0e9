"""Tests of copies of results that may share storage with an argument, including results of regions, in
targets with writable arrays.
"""

from __future__ import annotations

from typing import Any

from graph_compiler.ir import Effect, Graph, Value
from graph_compiler.ops import ArraySpec
from graph_compiler.passes import copy_aliased_outputs, copy_overwritten

from .graphs import SPEC, canonical, ops_of

VIEWS = frozenset({"reshape"})
FLAG = ArraySpec((), "bool")


def _chosen(b: Any, flag: Value, x: Value, y: Value) -> Any:
    return b.run(
        "branch", [flag], [b.body("otherwise", [], lambda: (x,)), b.body("then", [], lambda: (b.exp(y),))]
    )


def _scanned(b: Any, flag: Value, x: Value, y: Value) -> Any:
    row, inner = Value("row", SPEC), Value("held", SPEC)
    rows = b.stack(x, y, axis=0)
    return b.run(
        "scan",
        [x, rows],
        [b.body("body", [inner, row], lambda held, row: (row, held))],
        carried=1,
        sequences=1,
        length=2,
    )


def test_what_a_branch_hands_on_is_copied() -> None:
    graph, _ = copy_aliased_outputs(canonical(_chosen, FLAG, SPEC, SPEC), VIEWS, ())
    assert ops_of(graph) == ["branch", "copy"]


def test_what_a_loop_stacks_is_its_own_and_what_it_carries_is_not() -> None:
    graph, _ = copy_aliased_outputs(canonical(_scanned, FLAG, SPEC, SPEC), VIEWS, ())
    assert ops_of(graph) == ["stack", "scan", "copy"]
    assert [graph.maker(value).op for value in graph.outputs] == ["copy", "scan"]


def _written(write: Any) -> Graph:
    graph = canonical(write, FLAG, SPEC, SPEC)
    graph.effects.append(Effect("argument", 1, graph.outputs[0]))
    return graph


def test_a_branch_that_hands_on_what_is_overwritten_is_copied() -> None:
    def write(b: Any, flag: Value, x: Value, y: Value) -> Any:
        return b.sin(y), b.reshape(_chosen(b, flag, x, y)[0], shape=(3, 2))

    graph, changed = copy_overwritten(_written(write), VIEWS)
    assert changed and ops_of(graph)[-1] == "copy"


def test_a_branch_of_other_arrays_is_not() -> None:
    def write(b: Any, flag: Value, x: Value, y: Value) -> Any:
        return b.sin(y), *_chosen(b, flag, y, y)

    assert not copy_overwritten(_written(write), VIEWS)[1]
