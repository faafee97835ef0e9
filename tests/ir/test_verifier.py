"""Planted faults: one for each rule that the verifier knows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from graph_compiler.errors import InvalidGraph, UnknownOperation
from graph_compiler.ir import Builder, Effect, Graph, Guard, Node, Origin, Value, verify
from graph_compiler.ir.closing import close
from graph_compiler.ir.pairs import pairs_of
from graph_compiler.ops import ArraySpec

SPEC = ArraySpec((2, 3), "float32")
FOREIGN = Value("foreign", SPEC)


def good() -> Graph:
    """``sum(sin(x) * weight)``."""
    graph = Graph("f", "canonical")
    build = Builder(graph)
    x, weight = build.input("x", SPEC), build.parameter("weight", SPEC)
    graph.outputs = [build.sum(build.multiply(build.sin(x), weight), axis=1)]
    return graph


def replaced(place: int, **changes: Any) -> Callable[[Graph], None]:
    """Plants another node in a place."""

    def plant(graph: Graph) -> None:
        graph.nodes[place] = dataclasses.replace(graph.nodes[place], **changes)

    return plant


def twice(graph: Graph) -> None:
    """A node that makes what another one makes."""
    graph.nodes.insert(1, Node("cos", graph.nodes[0].inputs, {}, Origin(), graph.nodes[0].outputs))


def input_made(graph: Graph) -> None:
    """A node that makes an input."""
    graph.nodes.insert(0, Node("cos", (graph.parameters["weight"],), {}, Origin(), (graph.inputs[0],)))


def param_changed(graph: Graph) -> None:
    """A value that was put into the parameters of a node behind its back."""
    graph.nodes[2].params["initial"] = graph.inputs[0]


def other_spec(spec: ArraySpec) -> Callable[[Graph], None]:
    """A result of another type than the rule infers."""

    def plant(graph: Graph) -> None:
        made = Value("sum", spec)
        graph.nodes[2] = dataclasses.replace(graph.nodes[2], outputs=(made,))
        graph.outputs = [made]

    return plant


FAULTS: dict[str, tuple[Callable[[Graph], Any], str]] = {
    "order": (lambda graph: graph.nodes.reverse(), r"sum: uses %multiply before anything makes it"),
    "missing node": (lambda graph: graph.nodes.pop(0), r"multiply: uses %sin before anything makes it"),
    "operand of nobody": (replaced(0, inputs=(FOREIGN,)), r"sin: uses %foreign before anything makes it"),
    "missing parameter": (lambda graph: graph.parameters.clear(), r"multiply: uses %weight before anything makes it"),
    "made twice": (twice, r"cos: %sin is made twice"),
    "input made": (input_made, r"cos: %x is made twice"),
    "params changed": (param_changed, r"sum: its list of used values is out of date"),
    "params missing": (replaced(2, params={"axis": (1,)}), r"sum: lacks parameters"),
    "another dtype": (other_spec(ArraySpec((2,), "float64")), r"sum: %sum is float64\[2\] but its rule infers float32\[2\]"),
    "another shape": (other_spec(ArraySpec((3,), "float32")), r"sum: %sum is float32\[3\] but its rule infers"),
    "more outputs": (
        lambda graph: replaced(2, outputs=(*graph.nodes[2].outputs, FOREIGN))(graph),
        r"sum: makes 2 values, and its rule gives 1",
    ),
    "result of nobody": (lambda graph: graph.outputs.append(FOREIGN), r"the result %foreign is made by nothing"),
    "guard of nobody": (lambda graph: graph.guards.append(Guard(FOREIGN, True, Origin())), r"the result %foreign is made by nothing"),
    "effect of nobody": (lambda graph: graph.effects.append(Effect("argument", 0, FOREIGN)), r"the result %foreign is made by nothing"),
}


def test_the_graph_without_a_fault() -> None:
    graph = good()
    assert verify(graph) is graph


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    plant, words = FAULTS[name]
    graph = good()
    plant(graph)
    with pytest.raises(InvalidGraph, match=words):
        verify(graph)


def test_operations_that_there_are_not() -> None:
    graph = good()
    replaced(0, op="sine")(graph)
    with pytest.raises(UnknownOperation, match="sine"):
        verify(graph)


def test_the_message_shows_the_neighbourhood() -> None:
    graph = good()
    replaced(1, origin=Origin("f.py", 7, "", "mul"))(graph)
    graph.nodes.pop(0)
    with pytest.raises(InvalidGraph, match=r"mul at f\.py:7.*\n.*\n-> %multiply.* = multiply\(%sin, %weight\)"):
        verify(graph)


def test_recorded_calls_need_no_vocabulary() -> None:
    graph = Graph("f", "torch", inputs=[Value("x", SPEC)])
    made = Value("y", SPEC)
    graph.nodes, graph.outputs = [Node("torch.anything", (graph.inputs[0],), {"by": 2}, Origin(), (made,))], [made]
    assert verify(graph) is graph


# ---------------------------------------------------------------------------------------------- what combines pairs
ROWS = ArraySpec((4, 3), "float32")


def scanned(combine: Callable[..., Any], specs: list[tuple[str, ArraySpec]] | None = None, **changes: Any) -> Graph:
    """An associative scan of an input along axis 0, whose region is ``combine(build, left, right)``."""
    graph = Graph("f", "canonical")
    build = Builder(graph)
    x = build.input("x", ROWS)
    pairs = pairs_of([("x", x.spec)], 0) if specs is None else [Value(name, spec) for name, spec in specs]
    (region,), captured = close(build.body("combine", pairs, lambda left, right: (combine(build, left, right),)))
    params = {"sequences": 1, "axis": 0, "reverse": False, **changes}
    made = Value("prefixes", x.spec)
    graph.nodes.append(Node("associative_scan", (x, *captured), params, Origin(), (made,), regions=(region,)))
    graph.outputs = [made]
    return graph


def whole(build: Builder, left: Value, right: Value) -> Value:
    """All elements, whatever their number."""
    return build.broadcast_to(build.sum(left, axis=0, keepdims=True), shape=(4, left.shape[1]))


PAIRS: dict[str, tuple[Callable[[], Graph], str]] = {
    "a length that the outside knows": (
        lambda: scanned(lambda b, left, right: b.add(left, right), [("left", ROWS), ("right", ROWS)]),
        "has a length that the outside knows",
    ),
    "a result of another length": (lambda: scanned(whole), "axis 0 of %broadcast_to of combine is 4 long"),
    "a result of another shape": (
        lambda: scanned(lambda b, left, right: b.sum(b.add(left, right), axis=1, keepdims=True)),
        "combine gives",
    ),
    "a result of another type": (lambda: scanned(lambda b, left, right: b.greater(left, right)), "combine gives"),
    "an axis that is not there": (lambda: scanned(lambda b, left, right: b.add(left, right), axis=2), "and its operand %x is"),
    "a sequence too many": (lambda: scanned(lambda b, left, right: b.add(left, right), sequences=2), "takes arrays of one length along it"),
}


def test_pairs_without_a_fault() -> None:
    graph = scanned(lambda b, left, right: b.add(left, right))
    assert verify(graph) is graph


@pytest.mark.parametrize("name", PAIRS)
def test_faults_of_what_combines_pairs(name: str) -> None:
    make, message = PAIRS[name]
    with pytest.raises(InvalidGraph, match=message):
        verify(make())
