"""Tests of the verifier with planted faults, one for each rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from graph_compiler.errors import InvalidGraph, UnknownOperation
from graph_compiler.ir import Builder, Effect, Graph, Guard, Node, Origin, Value, verify
from graph_compiler.ir.builder import close
from graph_compiler.ir.graph import check
from graph_compiler.ir.node import pairs_of
from graph_compiler.ops import ArraySpec
from graph_compiler.passes.lowering.region_checks import move_checks_out

SPEC = ArraySpec((2, 3), "float32")
FOREIGN = Value("foreign", SPEC)


def good() -> Graph:
    graph = Graph("f", "canonical")
    build = Builder(graph)
    x, weight = build.input("x", SPEC), build.parameter("weight", SPEC)
    graph.outputs = [build.sum(build.multiply(build.sin(x), weight), axis=1)]
    return graph


def replaced(place: int, **changes: Any) -> Callable[[Graph], None]:
    """Return a function that replaces a node."""

    def plant(graph: Graph) -> None:
        graph.nodes[place] = dataclasses.replace(graph.nodes[place], **changes)

    return plant


def twice(graph: Graph) -> None:
    graph.nodes.insert(1, Node("cos", graph.nodes[0].inputs, {}, Origin(), graph.nodes[0].outputs))


def input_made(graph: Graph) -> None:
    graph.nodes.insert(0, Node("cos", (graph.parameters["weight"],), {}, Origin(), (graph.inputs[0],)))


def param_changed(graph: Graph) -> None:
    """Change the parameters of a node after its uses were collected."""
    graph.nodes[2].params["initial"] = graph.inputs[0]


def other_spec(spec: ArraySpec) -> Callable[[Graph], None]:
    """Return a function that gives a result another spec than the rule infers."""

    def plant(graph: Graph) -> None:
        made = Value("sum", spec)
        graph.nodes[2] = dataclasses.replace(graph.nodes[2], outputs=(made,))
        graph.outputs = [made]

    return plant


FAULTS: dict[str, tuple[Callable[[Graph], Any], str]] = {
    "order": (lambda graph: graph.nodes.reverse(), r"sum: uses %multiply before anything makes it"),
    "missing node": (lambda graph: graph.nodes.pop(0), r"multiply: uses %sin before anything makes it"),
    "operand of nobody": (replaced(0, inputs=(FOREIGN,)), r"sin: uses %foreign before anything makes it"),
    "missing parameter": (
        lambda graph: graph.parameters.clear(),
        r"multiply: uses %weight before anything makes it",
    ),
    "made twice": (twice, r"cos: %sin is made twice"),
    "input made": (input_made, r"cos: %x is made twice"),
    "params changed": (param_changed, r"sum: its list of used values is out of date"),
    "params missing": (replaced(2, params={"axis": (1,)}), r"sum: lacks parameters"),
    "another dtype": (
        other_spec(ArraySpec((2,), "float64")),
        r"sum: %sum is float64\[2\] but its rule infers float32\[2\]",
    ),
    "another shape": (
        other_spec(ArraySpec((3,), "float32")),
        r"sum: %sum is float32\[3\] but its rule infers",
    ),
    "more outputs": (
        lambda graph: replaced(2, outputs=(*graph.nodes[2].outputs, FOREIGN))(graph),
        r"sum: makes 2 values, and its rule gives 1",
    ),
    "result of nobody": (
        lambda graph: graph.outputs.append(FOREIGN),
        r"the result %foreign is made by nothing",
    ),
    "guard of nobody": (
        lambda graph: graph.guards.append(Guard(FOREIGN, True, Origin())),
        r"the result %foreign is made by nothing",
    ),
    "effect of nobody": (
        lambda graph: graph.effects.append(Effect("argument", 0, FOREIGN)),
        r"the result %foreign is made by nothing",
    ),
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
    with pytest.raises(
        InvalidGraph, match=r"mul at f\.py:7.*\n.*\n-> %multiply.* = multiply\(%sin, %weight\)"
    ):
        verify(graph)


def test_recorded_calls_need_no_vocabulary() -> None:
    graph = Graph("f", "torch", inputs=[Value("x", SPEC)])
    made = Value("y", SPEC)
    graph.nodes, graph.outputs = (
        [Node("torch.anything", (graph.inputs[0],), {"by": 2}, Origin(), (made,))],
        [made],
    )
    assert verify(graph) is graph


# ------------------------------------------------------------------------------------- regions
def loop(
    key: Callable[[Any, Value, Value], Value] = lambda build, key, step: build.random_fold_in(key, step),
) -> Graph:
    """Return a ``while_loop`` with a check in its body, which draws numbers with ``key(build, key, step)``."""
    graph = Graph("f", "canonical")
    build = Builder(graph, Origin("f.py", 3, "", "inv"))
    x, given = build.input("x", ArraySpec((3,), "float32")), build.input("key", ArraySpec((2,), "uint32"))

    def step(state: Value, number: Value) -> Any:
        drawn = build.random_uniform(key(build, given, number), shape=(3,), dtype="float32")
        made = build.add(state, drawn)
        build.graph.nodes.append(check(Guard(build.all(build.isfinite(made)), True, build.origin)))
        return made, build.add(number, 1)

    def body(name: str, write: Callable[..., Any]) -> Any:
        return build.body(
            name, [build.argument("state", x.spec), build.argument("number", ArraySpec((), "int32"))], write
        )

    bodies = [body("condition", lambda state, number: (build.less(number, 4),)), body("body", step)]
    start = build.full(shape=(), fill_value=0, dtype="int32")
    graph.outputs = list(build.run("while_loop", [x, start], bodies, carried=2))
    return graph


def in_region(place: int, **changes: Any) -> Callable[[Graph], None]:
    """Return a function that replaces a block in a region of the loop."""

    def plant(graph: Graph) -> None:
        node = next(node for node in graph.nodes if node.regions)
        block = node.regions[place].block
        regions = list(node.regions)
        regions[place] = dataclasses.replace(
            regions[place],
            block=dataclasses.replace(
                block, **{name: change(getattr(block, name)) for name, change in changes.items()}
            ),
        )
        replaced(graph.nodes.index(node), regions=tuple(regions))(graph)

    return plant


LOOP_FAULTS: dict[str, tuple[Callable[[Graph], Any], str]] = {
    "what a step has checked is not handed on": (
        in_region(1, outputs=lambda outputs: outputs[:-1]),
        r"a step gives \[.*\] where \[.*bool\[\]\] is needed",
    ),
    "the condition does not take what has held": (
        in_region(
            0,
            inputs=lambda inputs: (*inputs[:2], *inputs[3:]),
            nodes=lambda nodes: nodes[:1],
            outputs=lambda _: (),
        ),
        r"condition takes 3 inputs and there are 4 operands",
    ),
    "the check stays inside": (
        in_region(1, nodes=lambda nodes: (*nodes, check(Guard(nodes[-1].outputs[0], True, Origin())))),
        r"body checks elements of \w+ \(.* is True\), which is to be told outside",
    ),
}


def test_the_loop_without_a_fault() -> None:
    graph = verify(move_checks_out(loop()))
    (guard,) = graph.guards
    assert guard.expected is True and (guard.origin.file, guard.origin.line) == ("f.py", 3)


@pytest.mark.parametrize("name", LOOP_FAULTS)
def test_faults_in_what_leaves_a_loop(name: str) -> None:
    plant, words = LOOP_FAULTS[name]
    graph = move_checks_out(loop())
    plant(graph)
    with pytest.raises(InvalidGraph, match=words):
        verify(graph)


@pytest.mark.parametrize(
    "key", [lambda build, key, step: key, lambda build, key, step: build.random_fold_in(key, 3)]
)
def test_a_key_that_is_the_same_in_every_step(key: Callable[..., Value]) -> None:
    """A key derived by a constant number is also equal in all iterations."""
    with pytest.raises(InvalidGraph, match="random_uniform in body draws the same numbers in every step"):
        verify(move_checks_out(loop(key)))


# ---------------------------------------------------------------------------------------- what combines pairs
ROWS = ArraySpec((4, 3), "float32")


def scanned(
    combine: Callable[..., Any], specs: list[tuple[str, ArraySpec]] | None = None, **changes: Any
) -> Graph:
    """Return an associative scan along axis 0 with the region ``combine(build, left, right)``."""
    graph = Graph("f", "canonical")
    build = Builder(graph)
    x = build.input("x", ROWS)
    pairs = pairs_of([("x", x.spec)], 0) if specs is None else [Value(name, spec) for name, spec in specs]
    (region,), captured = close(
        build.body("combine", pairs, lambda left, right: (combine(build, left, right),))
    )
    params = {"sequences": 1, "axis": 0, "reverse": False, **changes}
    made = Value("prefixes", x.spec)
    graph.nodes.append(Node("associative_scan", (x, *captured), params, Origin(), (made,), regions=(region,)))
    graph.outputs = [made]
    return graph


def whole(build: Builder, left: Value, right: Value) -> Value:
    """Combine all pairs at once, which no associative operator may do."""
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
    "a result of another type": (
        lambda: scanned(lambda b, left, right: b.greater(left, right)),
        "combine gives",
    ),
    "an axis that is not there": (
        lambda: scanned(lambda b, left, right: b.add(left, right), axis=2),
        "and its operand %x is",
    ),
    "a sequence too many": (
        lambda: scanned(lambda b, left, right: b.add(left, right), sequences=2),
        "takes arrays of one length along it",
    ),
}


def test_pairs_without_a_fault() -> None:
    graph = scanned(lambda b, left, right: b.add(left, right))
    assert verify(graph) is graph


@pytest.mark.parametrize("name", PAIRS)
def test_faults_of_what_combines_pairs(name: str) -> None:
    make, message = PAIRS[name]
    with pytest.raises(InvalidGraph, match=message):
        verify(make())
