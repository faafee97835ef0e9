"""Verifier of graphs. It runs after every pass in tests, and if GRAPH_COMPILER_VERIFY is set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import InvalidGraph
from ..ops.control import runs_blocks
from ..ops.registry import check_params, get
from ..sizes import hint_of
from .graph import Graph
from .node import Node, Value
from .printer import to_text
from .region_rules import faults


def verify(graph: Graph) -> Graph:
    """Return `graph`, or raise `InvalidGraph` with the lines around the first fault.

    Each value is produced once, before it is used. All roots exist. In canonical graphs, each operation is
    in the vocabulary and has exactly its parameters, and the specs of its outputs equal those that its
    rule infers. :mod:`.region_rules` checks regions.
    """
    made: set[Value] = set(graph.sources())
    _verify_nodes(graph, graph.nodes, made, 1)
    for value in graph.roots():
        if value not in made:
            raise InvalidGraph(f"the result %{value.name} is made by nothing in\n{to_text(graph)}")
    return graph


def _verify_nodes(graph: Graph, nodes: Iterable[Node], made: set[Value], depth: int) -> None:
    for node in nodes:
        for value in node.uses:
            if value not in made:
                raise _fault(graph, node, f"uses %{value.name} before anything makes it")
        for value in node.outputs:
            if value in made:
                raise _fault(graph, node, f"%{value.name} is made twice")
            made.add(value)
        if tuple(dict.fromkeys(node.reads())) != node.uses:
            raise _fault(graph, node, "its list of used values is out of date")
        if fault := next(faults(node, depth), None):
            raise _fault(graph, node, fault)
        for region in node.regions:
            _verify_nodes(graph, region.block.nodes, set(region.block.inputs), depth + 1)
        if graph.dialect == "canonical" or runs_blocks(node.op):
            _check_canonical(graph, node)


def _check_canonical(graph: Graph, node: Node) -> None:
    op = get(node.op)
    if check_params(op, node.params).keys() != node.params.keys():
        raise _fault(graph, node, "lacks parameters")
    given = (item.spec if isinstance(item, Value) else item for item in node.inputs)
    inferred: Any = op.infer(*given, **op.named_regions(node.regions), **node.params)
    specs = inferred if isinstance(inferred, tuple) else (inferred,)
    if len(specs) != len(node.outputs):
        raise _fault(graph, node, f"makes {len(node.outputs)} values, and its rule gives {len(specs)}")
    for value, spec in zip(node.outputs, specs):
        if value.dtype != spec.dtype or tuple(map(hint_of, value.shape)) != spec.hints:
            raise _fault(graph, node, f"%{value.name} is {value.spec} but its rule infers {spec}")


def _fault(graph: Graph, node: Node, what: str) -> InvalidGraph:
    return InvalidGraph(f"{node.op}: {what} ({node.origin})\n{to_text(graph, around=node)}")
