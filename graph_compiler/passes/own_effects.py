"""Gives what is written back to an argument memory of its own where an earlier write would reach it: ``a[:], b[:] = b.clone(), a.clone()``."""

from __future__ import annotations

from collections.abc import Container

from ..ir.builder import Builder
from ..ir.graph import Effect, Graph, Node, Origin, Value


def own_effects(graph: Graph, views: Container[str]) -> tuple[Graph, bool]:
    """The graph with copies of values that lie in the memory of an argument which is written to before they are.

    A canonical graph is pure, and the writes are done one after the other when it has run. ``views`` are the operations whose result may
    lie in the memory of their first input in the target.
    """
    copies: list[Node] = []
    scratch = graph.derive(nodes=copies)
    effects: list[Effect] = []
    overwritten: set[Value] = set()
    for effect in graph.effects:
        value = effect.value
        if effect.kind == "argument":
            if _owner(value, views) in overwritten:
                value = Builder(scratch, value.node.origin if value.node else Origin()).copy(value)
            overwritten.add(graph.inputs[effect.target])
        effects.append(Effect(effect.kind, effect.target, value))
    if not copies:
        return graph, False
    return graph.derive(nodes=[*graph.nodes, *copies], effects=effects), True


def _owner(value: Value, views: Container[str]) -> Value:
    while value.node is not None and value.node.op in views:
        first = value.node.inputs[0]
        if not isinstance(first, Value):
            break
        value = first
    return value
