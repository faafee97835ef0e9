"""Conversion of graphs to ``networkx``. Regions are nested graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import networkx

from .node import Node, Value, values_in

if TYPE_CHECKING:
    from .block import Region
    from .graph import Graph


def to_networkx(graph: Graph) -> networkx.MultiDiGraph:
    """Return the graph as described at :meth:`Graph.to_networkx`."""
    sources = [("input", value) for value in graph.inputs] + [("parameter", value) for value in graph.parameters.values()]
    drawn = networkx.MultiDiGraph(name=graph.name, dialect=graph.dialect)
    return _filled(drawn, sources + [("constant", value) for value, _ in graph.constants.values()], graph.nodes, graph.outputs)


def _filled(
    drawn: networkx.MultiDiGraph, sources: Iterable[tuple[str, Value]], nodes: Iterable[Node], outputs: Any
) -> networkx.MultiDiGraph:
    place: dict[Value, tuple[int, int]] = {}  # value -> number of the node, index of the output
    for kind, value in sources:
        place[value] = len(drawn), 0
        drawn.add_node(len(drawn), kind=kind, op=kind, name=value.name, params={}, shapes=(value.spec.hints,), dtypes=(value.dtype,))
    for node in nodes:
        number = len(drawn)
        drawn.add_node(number, **_attributes(node))
        _connect(drawn, number, (node.inputs, node.params), place)
        place.update((value, (number, output)) for output, value in enumerate(node.outputs))
    number = len(drawn)
    drawn.add_node(number, kind="output", op="output", name="output", params={}, shapes=(), dtypes=())
    _connect(drawn, number, outputs, place)
    return drawn


def _region(region: Region) -> networkx.MultiDiGraph:
    block = region.block
    return _filled(networkx.MultiDiGraph(name=region.name), [("input", value) for value in block.inputs], block.nodes, list(block.outputs))


def _attributes(node: Node) -> dict[str, Any]:
    origin = node.origin
    return {
        "kind": "operation",
        "op": node.op,
        "name": node.outputs[0].name if node.outputs else node.op,
        "params": node.params,
        "shapes": tuple(value.spec.hints for value in node.outputs),
        "dtypes": tuple(value.dtype for value in node.outputs),
        "module": origin.module,
        "file": origin.file,
        "line": origin.line,
        **({"regions": {region.name: _region(region) for region in node.regions}} if node.regions else {}),
    }


def _connect(drawn: networkx.MultiDiGraph, number: int, arguments: Any, place: dict[Value, tuple[int, int]]) -> None:
    for value in values_in(arguments):
        maker, output = place[value]
        drawn.add_edge(maker, number, value=value.name, output=output)
