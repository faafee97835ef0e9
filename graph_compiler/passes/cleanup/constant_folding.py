"""Constant folding: computes once what is the same at every call."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ...ir.aliases import Aliases
from ...ir.graph import Graph
from ...ir.node import Node, Value, values_in
from ...sizes import Size
from ...trees import Branch, Leaf, iterate_structure

_USES = attrgetter("uses")
Evaluate = Callable[[Graph], list[Any]]


def constant_folding(graph: Graph, evaluate: Evaluate) -> tuple[Graph, bool]:
    """Return the graph with each node that computes the same at every call replaced by its result.

    Such a node depends on no input, parameter, size or random number. ``evaluate`` runs a graph without
    inputs in the source framework and returns its outputs. Results that alias written memory or that the
    caller receives are not folded, because the caller may write to them.
    """
    # The first constant node would use no values, or only constants.
    if not graph.constants and all(map(_USES, graph.nodes)):
        return graph, False
    varying = _varying_nodes(graph)
    constant = [node for node in graph.nodes if node not in varying]
    if not constant:
        return graph, False
    rest = [node for node in graph.nodes if node in varying]
    computed = {value for node in constant for value in node.outputs}
    wanted = _needed_results(graph, rest, computed)
    arrays = evaluate(
        graph.derive(
            inputs=[],
            parameters={},
            nodes=constant,
            outputs=wanted,
            output_tree=_flat_tree(len(wanted)),
            guards=[],
            effects=[],
        )
    )
    constants = dict(graph.constants)
    for value, array in zip(wanted, arrays):
        constants[_free_name(value.name, constants)] = (value, array)
    return graph.derive(nodes=rest, constants=constants), True


def _needed_results(graph: Graph, rest: list[Node], computed: set[Value]) -> list[Value]:
    used = [value for node in rest for value in node.uses if value in computed]
    return list(dict.fromkeys([*used, *(value for value in graph.roots() if value in computed)]))


def _flat_tree(count: int) -> Branch:
    return Branch(tuple, tuple(range(count)), (Leaf(),) * count)


def _free_name(name: str, taken: dict[str, Any]) -> str:
    count = sum(key == name or key.startswith(f"{name}_") for key in taken)
    while (candidate := f"{name}_{count}" if count else name) in taken:
        count += 1
    return candidate


def _varying_nodes(graph: Graph) -> set[Node]:
    """Return the nodes whose results may differ between calls, alias written memory, or leave the graph."""
    aliases = Aliases(graph)
    # The caller may write to the arrays that it receives, so these cannot be shared between calls.
    given = (*values_in(graph.outputs), *(effect.value for effect in graph.effects))
    # A loop without iterations returns its inputs, so the caller may receive them too.
    given += tuple(
        value for node in graph.nodes if node.op in ("scan", "while_loop") for value in values_in(node.inputs)
    )
    tainted: set[Value] = {*graph.inputs, *graph.parameters.values(), *map(aliases.base_of, given)}
    tainted.update(aliases.touched & {value for value, _ in graph.constants.values()})
    varying: set[Node] = set()
    # A write taints memory that an earlier node may read, so the search is repeated until nothing is added.
    before = -1
    while before != len(varying):
        before = len(varying)
        for node in graph.nodes:
            if node not in varying and _varies(node, tainted, aliases):
                varying.add(node)
                tainted.update(node.outputs)
                tainted.update(map(aliases.base_of, (*node.outputs, *node.writes)))
    return varying


def _varies(node: Node, tainted: set[Value], aliases: Aliases) -> bool:
    touched = (*node.uses, *node.outputs)
    return bool(
        node.is_random
        or node.depends_on_devices
        or not tainted.isdisjoint((*touched, *map(aliases.base_of, touched)))
        or any(isinstance(item, Size) for item in iterate_structure((node.inputs, node.params)))
    )
