"""Helpers for tests of passes: graphs written by hand, their results in NumPy, and a check that a pass does
not change its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graph_compiler.backends import numpy as numpy_backend
from graph_compiler.codegen import load, write
from graph_compiler.ir import Block, Builder, CallRecord, Graph, Node, Origin, Region, Value, verify
from graph_compiler.ops import ArraySpec
from graph_compiler.trees import Branch, Leaf

SPEC = ArraySpec((2, 3), "float32")


def canonical(write_it: Callable[..., Any], *specs: ArraySpec) -> Graph:
    """Return the verified canonical graph of ``write_it(build, *inputs)``, with an input of symbolic sizes
    for each spec.
    """
    graph = Graph("f", "canonical")
    build = Builder(graph)
    made = write_it(build, *(build.input(f"x{place}", spec) for place, spec in enumerate(specs)))
    graph.outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    graph.output_tree = flat_tree(len(graph.outputs))
    return verify(graph)


def flat_tree(count: int) -> Branch:
    return Branch(tuple, tuple(range(count)), (Leaf(),) * count)


class Recording:
    """Builder of a graph of framework calls, as a frontend records them. All values have the spec ``SPEC`` by
    default.
    """

    def __init__(self) -> None:
        self.graph = Graph("f", "somewhere")

    def input(self, name: str, spec: ArraySpec = SPEC) -> Value:
        self.graph.inputs.append(Value(name, spec))
        return self.graph.inputs[-1]

    def parameter(self, name: str) -> Value:
        """Return the parameter ``name``, which is added if it does not exist."""
        return self.graph.parameters.setdefault(name, Value(name, SPEC))

    def constant(self, name: str, array: Any = None) -> Value:
        """Return the constant ``name``, which is added if it does not exist."""
        return self.graph.constants.setdefault(name, (Value(name, SPEC), array))[0]

    def call(
        self, op: str, *inputs: Any, makes: int = 1, regions: tuple[Region, ...] = (), **noted: Any
    ) -> Any:
        """Append a call and return its result, a tuple if it ``makes`` several values; ``noted`` are fields
        of its record.
        """
        outputs = tuple(Value(op, SPEC) for _ in range(makes))
        result = outputs[0] if makes == 1 else outputs
        self.graph.nodes.append(
            Node(op, inputs, {}, Origin(call=op), outputs, CallRecord(op, result=result, **noted), regions)
        )
        return result

    def returning(self, *outputs: Any) -> Graph:
        """Set the outputs and return the graph, verified."""
        self.graph.outputs, self.graph.output_tree = list(outputs), flat_tree(len(outputs))
        return verify(self.graph)


def region_of(op: str, **noted: Any) -> Region:
    """Return a region without inputs that makes one call and returns its result."""
    made = Recording()
    return Region(op, made.returning(made.call(op, **noted)).block, {})


def ops_of(block: Graph | Block) -> list[str]:
    return [node.op for node in block.nodes]


def computed(graph: Graph, *arrays: Any) -> list[Any]:
    """Return the results of a canonical graph for these arrays in NumPy. Its guards and effects are ignored."""
    program = write(graph.derive(guards=[], effects=[]), numpy_backend.dialect, "A graph.")
    held = {"constants": {name: array for name, (_, array) in graph.constants.items()}}
    return list(load(program)(*(held[name] for name in program.arguments), *arrays))


def after(step: Callable[[Graph], tuple[Graph, bool]], graph: Graph) -> Graph:
    """Return the graph after a pass, verified.

    Assert that the pass did not change ``graph``, and returned ``graph`` itself if it reported no change.
    """
    before = _all_of(graph)
    made, changed = step(graph)
    assert _all_of(graph) == before
    verify(graph)
    assert changed or made is graph
    return verify(made)


def _all_of(graph: Graph) -> list[Any]:
    """Return everything that a pass could change in a graph. Of nodes, which are immutable, these are the
    contents of dicts.
    """
    values = [*graph.sources(), *(value for node in graph.nodes for value in node.outputs)]
    return [
        [(value, value.name, value.spec) for value in values],
        [(node, dict(node.params)) for node in graph.nodes],
        [list(graph.inputs), dict(graph.parameters), list(graph.constants), list(graph.outputs)],
        [
            list(graph.guards),
            list(graph.effects),
            graph.assumptions,
            graph.state,
            graph.demands,
            graph.input_tree,
            graph.output_tree,
        ],
    ]


def random_arrays(graph: Graph) -> list[Any]:
    """Return random arrays for the inputs, at the recorded sizes."""
    rng = np.random.default_rng(0)
    return [rng.uniform(-2, 2, value.spec.hints).astype(value.dtype) for value in graph.inputs]
