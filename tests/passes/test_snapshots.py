"""Tests of the removal of copies that are made for guards on elements, if the original keeps its elements."""

from __future__ import annotations

from graph_compiler.ir import Effect, Graph, Guard, Origin, Value
from graph_compiler.passes.cleanup.redundancy import drop_snapshots

from .graphs import Recording, after, ops_of


def _guarded(made: Recording, *outputs: Value) -> Graph:
    graph = made.returning(*outputs)
    graph.guards.append(Guard(graph.nodes[-1].outputs[0], True, Origin()))
    return graph


def test_a_guard_looks_at_the_original() -> None:
    made = Recording()
    seen = made.call("isfinite", made.input("x"))
    made.call("clone", made.call("detach", seen, views={0: seen}))
    left = after(drop_snapshots, _guarded(made, seen))
    assert "clone" not in ops_of(left) and [guard.condition for guard in left.guards] == [seen]


def test_a_copy_of_what_is_written_to_later_stays() -> None:
    made = Recording()
    x = made.input("x")
    seen = made.call("exp", x)
    made.call("zero_", seen, makes=0, writes=(seen,))
    made.call("clone", seen)
    graph = _guarded(made, seen)
    assert after(drop_snapshots, graph) is graph


def test_a_copy_that_is_an_output_stays() -> None:
    made = Recording()
    copied = made.call("clone", made.input("x"))
    graph = _guarded(made, copied)
    assert after(drop_snapshots, graph) is graph


def test_a_copy_that_is_a_new_value_of_an_argument_stays() -> None:
    made = Recording()
    copied = made.call("clone", made.call("exp", made.input("x")))
    graph = _guarded(made)
    graph.effects.append(Effect("argument", 0, copied))
    assert after(drop_snapshots, graph) is graph


def test_a_copy_that_is_used_stays() -> None:
    made = Recording()
    copied = made.call("clone", made.input("x"))
    graph = made.returning(made.call("exp", copied))
    graph.guards.append(Guard(copied, True, Origin()))
    assert after(drop_snapshots, graph) is graph
