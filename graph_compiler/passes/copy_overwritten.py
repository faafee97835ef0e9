"""Gives what is written back, and results, memory of their own where an earlier write would reach it:
``a[:], b[:] = b.clone(), a.clone()``."""

from __future__ import annotations

from collections.abc import Container

from ..ir.builder import Builder
from ..ir.graph import Effect, Graph
from ..ir.node import Node, Origin, Value
from .copy_aliased_outputs import is_handed_on


def copy_overwritten(graph: Graph, views: Container[str]) -> tuple[Graph, bool]:
    """The graph with copies of values that lie in the memory of an argument or a buffer which is written to before they are, or are
    returned.

    A canonical graph is pure, and the writes are done one after the other when it has run. ``views`` are the operations whose result may
    lie in the memory of their first input in the target.
    """
    copies: list[Node] = []
    scratch = graph.derive(nodes=copies)
    overwritten: set[Value] = set()

    def own(value: Value) -> Value:
        if overwritten.isdisjoint(_owners(graph, value, views)):
            return value
        maker = graph.maker(value)
        copied: Value = Builder(scratch, maker.origin if maker is not None else Origin()).copy(value)
        copied.name = value.name
        return copied

    effects: list[Effect] = []
    for effect in graph.effects:
        written = _written(graph, effect)
        effects.append(effect if written is None else Effect(effect.kind, effect.target, own(effect.value)))
        overwritten.update(() if written is None else (written,))
    outputs = [own(leaf) if isinstance(leaf, Value) else leaf for leaf in graph.outputs]
    if not copies:
        return graph, False
    return graph.derive(nodes=[*graph.nodes, *copies], outputs=outputs, effects=effects), True


def _written(graph: Graph, effect: Effect) -> Value | None:
    """The array whose memory an effect writes to."""
    if effect.kind == "argument":
        argument: Value = graph.inputs[effect.target]
        return argument
    return graph.parameters.get(effect.target) if effect.kind == "buffer" else None


def _owners(graph: Graph, value: Value, views: Container[str]) -> set[Value]:
    """The values in whose memory this one may lie."""
    met, open_ = {value}, [value]
    found: set[Value] = set()
    while open_:
        value = open_.pop()
        node = graph.maker(value)
        is_view = node is not None and (node.op in views or is_handed_on(node, value))
        viewed = (
            [item for item in (node.inputs if node.regions else node.inputs[:1]) if isinstance(item, Value)] if node and is_view else []
        )
        if not viewed:
            found.add(value)
        open_ += [item for item in viewed if item not in met]
        met.update(viewed)
    return found
