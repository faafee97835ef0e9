"""Tests of the pass driver: the order of blocks, and when graphs are verified."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from graph_compiler.errors import InvalidGraph
from graph_compiler.ir import Graph
from graph_compiler.ir.node import Block
from graph_compiler.passes import Pass, driver, run_passes

from .graphs import SPEC, Recording, after, canonical, ops_of
from .test_cse import loops


def noting(seen: list[Any], depth: Any) -> Pass:
    def note(block: Block) -> Block:
        seen.append(ops_of(block))
        return block

    return Pass("note", note, depth)


def test_deep_passes_begin_with_the_innermost_block() -> None:
    graph, seen = loops("exp", "sin"), list[Any]()
    assert after(noting(seen, "deep"), graph) is graph
    assert seen == [["exp"], ["sin"], ["loop", "loop", "sub"]]


def test_top_passes_leave_regions_alone() -> None:
    graph, seen = loops("exp", "sin"), list[Any]()
    assert after(noting(seen, "top"), graph) is graph
    assert seen == [["loop", "loop", "sub"]]


def test_a_region_that_stands_in_two_nodes_stays_one() -> None:
    graph = loops("exp", "exp")
    first, second, rest = graph.nodes
    graph.nodes = [first, dataclasses.replace(second, regions=first.regions), rest]
    emptied = Pass(
        "empty",
        lambda block: Block(block.inputs, (), block.inputs) if len(block.nodes) == 1 else block,
        "deep",
    )
    one, other, _ = after(emptied, graph).nodes
    assert one.regions[0] is other.regions[0] and not one.regions[0].block.nodes


def test_guards_and_effects_follow_the_outputs_of_the_block() -> None:
    from graph_compiler.ir import Effect, Guard, Origin

    made = Recording()
    x, y = made.input("x"), made.input("y")
    made.graph.guards = [Guard(x, 1.0, Origin()), Guard(y, 1.0, Origin())]
    made.graph.effects = [Effect("argument", 0, x)]
    graph = made.returning(x, 3)
    assert graph.block.outputs == (x, 3, x, y, x)
    swapped = after(Pass("swap", lambda block: Block(block.inputs, block.nodes, (y, 4, y, y, y))), graph)
    assert swapped.outputs == [y, 4]
    # Two equal guards become one.
    assert [guard.condition for guard in swapped.guards] == [y]
    assert [effect.value for effect in swapped.effects] == [y]


def test_a_pass_that_breaks_a_graph_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = canonical(lambda b, x: b.exp(b.sin(x)), SPEC)

    def forgets(given: Graph) -> tuple[Graph, bool]:
        return given.derive(nodes=given.nodes[1:]), True

    monkeypatch.setattr(driver, "_VERIFY", True)
    with pytest.raises(InvalidGraph, match="uses %sin before anything makes it"):
        run_passes(graph, forgets)
    monkeypatch.setattr(driver, "_VERIFY", False)
    assert len(run_passes(graph, forgets).nodes) == 1
