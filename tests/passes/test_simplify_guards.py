"""Tests of the removal of guards that others imply; the given graph keeps its guards."""

from __future__ import annotations

from graph_compiler.ir import Guard, Origin
from graph_compiler.passes import simplify_guards
from graph_compiler.sizes import apply

from .graphs import SPEC, after, canonical


def test_the_strongest_of_several_is_left() -> None:
    graph = canonical(lambda b, x: b.exp(x), SPEC)
    rows, columns = graph.inputs[0].shape
    conditions = [apply("le", 1, rows), apply("eq", rows, 2), apply("ne", rows, 0), apply("le", columns, 7)]
    graph.guards = [Guard(condition, True, Origin()) for condition in conditions]
    made = after(simplify_guards, graph)
    assert [guard.condition for guard in made.guards] == [conditions[1], conditions[3]]
    assert len(graph.guards) == 4


def test_elements_imply_nothing() -> None:
    graph = canonical(lambda b, x: b.exp(x), SPEC)
    graph.guards = [Guard(graph.inputs[0], 1.0, Origin()), Guard(graph.inputs[0], 2.0, Origin())]
    assert len(after(simplify_guards, graph).guards) == 2
