"""Gives results memory of their own, for targets whose arrays can be written to."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from ..ir.builder import Builder
from ..ir.graph import Effect, Graph
from ..ir.node import Node, Origin, Value


def copy_aliased_outputs(graph: Graph, views: Container[str], read_only: Container[str], scalars: bool = False) -> tuple[Graph, bool]:
    """The graph with copies of the results that would share memory with an argument, a weight or another result.

    A canonical graph is pure: whether a result is ``x`` or a clone of ``x`` is no longer to be seen in it. ``views`` are the operations
    whose result may be a view of their first input in the target, ``read_only`` those whose view cannot be written to; with ``scalars``,
    results without axes are copied too, since the target computes with scalars there.
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
    """Whether this may be an operand, or a view of one, that a block hands on: the start of a loop without steps, a row, a branch that
    gives what it is given. Rows that a ``scan`` stacks, and all prefixes, have memory of their own."""
    is_stacked = node.op == "scan" and node.outputs.index(value) >= node.params["carried"]
    return bool(node.regions) and not is_stacked and node.op != "associative_scan"


def _memory(
    maker: Callable[[Value], Node | None], value: Value, views: Container[str], read_only: Container[str]
) -> tuple[Any, bool, bool]:
    """What owns the memory (a value; of a function, the call and a value of its own), whether it can be written to through this value, and
    whether the block has made it."""
    writable = True
    while (node := maker(value)) is not None:
        first: Any = node.inputs[0] if node.inputs else None
        if node.op == "call":  # what its function makes, or an operand
            block = node.regions[0].block
            base, inner, is_made = _memory(block.maker, block.outputs[node.outputs.index(value)], views, read_only)
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
