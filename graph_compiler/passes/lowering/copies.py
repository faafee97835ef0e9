"""Gives what is written back, and results, memory of their own where an earlier write would reach it:
``a[:], b[:] = b.clone(), a.clone()``."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import Effect, Graph
from ...ir.node import Node, Origin, Value


def copy_aliased_outputs(
    graph: Graph, views: Container[str], read_only: Container[str], scalars: bool = False
) -> tuple[Graph, bool]:
    """The graph with copies of the results that would share memory with an argument, a weight or another
    result.

    A canonical graph is pure: whether a result is ``x`` or a clone of ``x`` is no longer to be seen in it.
    ``views`` are the operations whose result may be a view of their first input in the target, ``read_only``
    those whose view cannot be written to; with ``scalars``, results without axes are copied too, since the
    target computes with scalars there.
    """
    taken: set[Any] = set()
    copies: list[Node] = []
    scratch = graph.derive(nodes=copies)

    def own(value: Value) -> Value:
        base, writable, is_made = _memory(graph.maker, value, views, read_only)
        if is_made and base not in taken and writable and not (scalars and value.ndim == 0):
            taken.add(base)
            return value
        maker = graph.maker(value)
        made: Value = Builder(scratch, maker.origin if maker is not None else Origin()).copy(value)
        made.name = value.name
        return made

    effects = [e if e.kind == "argument" else Effect(e.kind, e.target, own(e.value)) for e in graph.effects]
    outputs = [own(leaf) if isinstance(leaf, Value) else leaf for leaf in graph.outputs]
    if not scratch.nodes:
        return graph, False
    return graph.derive(nodes=[*graph.nodes, *scratch.nodes], outputs=outputs, effects=effects), True


def is_handed_on(node: Node, value: Value) -> bool:
    """Whether this may be an operand, or a view of one, that a block hands on: the start of a loop without
    steps, a row, a branch that gives what it is given. Rows that a ``scan`` stacks, and all prefixes, have
    memory of their own.
    """
    is_stacked = node.op == "scan" and node.outputs.index(value) >= node.params["carried"]
    return bool(node.regions) and not is_stacked and node.op != "associative_scan"


def _memory(
    maker: Callable[[Value], Node | None], value: Value, views: Container[str], read_only: Container[str]
) -> tuple[Any, bool, bool]:
    """What owns the memory (a value; of a function, the call and a value of its own), whether it can be
    written to through this value, and whether the block has made it.
    """
    writable = True
    while (node := maker(value)) is not None:
        first: Any = node.inputs[0] if node.inputs else None
        if node.op == "call":  # what its function makes, or an operand
            block = node.regions[0].block
            base, inner, is_made = _memory(
                block.maker, block.outputs[node.outputs.index(value)], views, read_only
            )
            writable = writable and inner
            if base not in block.inputs:
                return (node, base), writable, is_made
            first = node.inputs[block.inputs.index(base)]
        elif node.op in views or node.op in read_only:
            writable = writable and node.op not in read_only
        else:
            return value, writable, not is_handed_on(node, value)
        if not isinstance(first, Value):
            return value, writable, True
        value = first
    return value, writable, False


def copy_overwritten(graph: Graph, views: Container[str]) -> tuple[Graph, bool]:
    """The graph with copies of values that lie in the memory of an argument or a buffer which is written to
    before they are, or are returned.

    A canonical graph is pure, and the writes are done one after the other when it has run. ``views`` are the
    operations whose result may lie in the memory of their first input in the target.
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
            [item for item in (node.inputs if node.regions else node.inputs[:1]) if isinstance(item, Value)]
            if node and is_view
            else []
        )
        if not viewed:
            found.add(value)
        open_ += [item for item in viewed if item not in met]
        met.update(viewed)
    return found
