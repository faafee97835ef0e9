"""Gives results memory of their own, for targets whose arrays can be written to."""

from __future__ import annotations

from collections.abc import Container

from ..ir.builder import Builder
from ..ir.graph import Effect, Graph
from ..ir.node import Node, Origin, Value


def copy_aliased_outputs(graph: Graph, views: Container[str], read_only: Container[str], scalars: bool = False) -> tuple[Graph, bool]:
    """The graph with copies of the results that would share memory with an argument, a weight or another result.

    A canonical graph is pure: whether a result is ``x`` or a clone of ``x`` is no longer to be seen in it. ``views`` are the operations
    whose result may be a view of their first input in the target, ``read_only`` those whose view cannot be written to; with ``scalars``,
    results without axes are copied too, since the target computes with scalars there.
    """
    taken: set[Value] = set()
    copies: list[Node] = []
    scratch = graph.derive(nodes=copies)

    def own(value: Value) -> Value:
        base, writable = _memory(graph, value, views, read_only)
        maker = graph.maker(base)
        is_made = maker is not None and not is_handed_on(maker, base)
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
    """Whether this may be an operand, or a view of one, that a block hands on: the start of a loop without steps, a row, a branch that
    gives what it is given. Rows that a ``scan`` stacks, and all prefixes, have memory of their own."""
    is_stacked = node.op == "scan" and node.outputs.index(value) >= node.params["carried"]
    return bool(node.regions) and not is_stacked and node.op != "associative_scan"


def _memory(graph: Graph, value: Value, views: Container[str], read_only: Container[str]) -> tuple[Value, bool]:
    """The value that owns the memory, and whether it can be written to through this one."""
    writable = True
    while (node := graph.maker(value)) is not None and (node.op in views or node.op in read_only):
        writable = writable and node.op not in read_only
        first = node.inputs[0]
        if not isinstance(first, Value):
            break
        value = first
    return value, writable
