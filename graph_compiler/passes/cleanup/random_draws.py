"""Fix random numbers: draws that depend on no array become constants, the others repeat at every call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...ir.aliases import Aliases
from ...ir.graph import Graph, Guard
from ...ir.node import CallRecord, Node, Origin, Value
from ...ops.registry import ArraySpec
from ...sizes import Size, apply
from ...trees import iterate_structure, map_structure


def bake_generators(graph: Graph, copy: str) -> tuple[Graph, bool]:
    """Return the graph with random calls that depend on no array marked as deterministic.

    Constant folding can then turn them into constants. The sizes in their arguments become numbers, under
    guards. Outputs that alias such a result are copied by the call ``copy``, because the caller may write
    to them.
    """
    aliases = Aliases(graph)
    # An array that is computed from nothing, such as zeros, is the same at every call, so a draw may read it.
    inner = {value for node in graph.nodes if not node.is_random for value in node.outputs if node.uses}
    outside = {*graph.inputs, *graph.parameters.values(), *inner}
    guards, nodes = list(graph.guards), []
    baked: set[Value] = set()
    for node in graph.nodes:
        if node.is_random and not any(
            aliases.base_of(value) in outside or value in outside for value in _arrays(node)
        ):
            guards += _size_guards(node)
            node = _without_draw(node)
            baked.update(aliases.base_of(value) for value in (*node.outputs, *node.writes))
        nodes.append(node)
    if not baked:
        return graph, False
    copies = {
        leaf: _copy(graph, leaf, copy)
        for leaf in graph.outputs
        if isinstance(leaf, Value) and aliases.base_of(leaf) in baked
    }
    outputs = [
        copies[leaf].outputs[0] if isinstance(leaf, Value) and leaf in copies else leaf
        for leaf in graph.outputs
    ]
    return graph.derive(nodes=[*nodes, *copies.values()], guards=guards, outputs=outputs), True


def repeat_draws(graph: Graph, state: Any, calls: tuple[str, str]) -> tuple[Graph, bool]:
    """Return the graph with its remaining random calls drawing the same numbers at each call.

    These are the calls that depend on arrays, such as dropout; :func:`bake_generators` has marked the
    others. The generator starts each call from ``state`` and is restored after the call. ``calls`` are the
    functions that read and set its state.
    """
    # `bake_generators` has marked draws without array operands as deterministic.
    if not any(node.is_random for node in graph.nodes):
        return graph, False
    constant, kept = Value("random_state", state.spec), Value("random_state_before", state.spec)
    read, put = calls
    keep, start, end = _draw(read, (), kept), _draw(put, (constant,)), _draw(put, (kept,))
    constants = {**graph.constants, constant.name: (constant, state.array)}
    return graph.derive(nodes=[keep, start, *graph.nodes, end], constants=constants), True


@dataclass(frozen=True)
class GeneratorState:
    """State of a random generator.

    spec: shape and dtype of the array.
    array: the state as an array of the framework.
    """

    spec: ArraySpec
    array: Any


def _copy(graph: Graph, value: Value, call: str) -> Node:
    maker = graph.maker(value)
    made = Value(value.name, value.spec)
    record = CallRecord(call.rpartition(".")[2], result=made)
    return Node(call, (value,), {}, maker.origin if maker is not None else Origin(), (made,), record)


def _draw(call: str, inputs: tuple[Value, ...], made: Value | None = None) -> Node:
    record = CallRecord(call.rpartition(".")[2], result=made, random=True)
    return Node(call, inputs, {}, Origin(), () if made is None else (made,), record)


def _arrays(node: Node) -> list[Value]:
    return [item for item in iterate_structure((node.inputs, node.params)) if isinstance(item, Value)]


def _size_guards(node: Node) -> list[Guard]:
    sizes = (item for item in iterate_structure((node.inputs, node.params)) if isinstance(item, Size))
    conditions = [apply("eq", size, size.hint) for size in dict.fromkeys(sizes)]
    return [Guard(condition, True, node.origin) for condition in conditions if isinstance(condition, Size)]


def _without_draw(node: Node) -> Node:
    def hint(item: object) -> object:
        return item.hint if isinstance(item, Size) else item

    record = None if node.record is None else replace(node.record, random=False)
    return replace(
        node, inputs=map_structure(hint, node.inputs), params=map_structure(hint, node.params), record=record
    )
