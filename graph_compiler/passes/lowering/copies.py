"""Copies of results, and of values of effects, that would share memory with other arrays."""

from __future__ import annotations

from collections.abc import Callable, Container, Set
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import Effect, Graph
from ...ir.node import Node, Origin, Value

# Operations that index an array by arrays. Arrays with axes copy, and those without may give a view.
_INDEXED = frozenset({"embedding", "gather_nd", "take"})


def _is_view(node: Node, views: Container[str]) -> bool:
    is_copied = node.op in _INDEXED and any(isinstance(item, Value) and item.ndim for item in node.inputs[1:])
    return node.op in views and not is_copied


def copy_aliased_outputs(
    graph: Graph, views: Container[str], read_only: Container[str], scalars: bool = False
) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with copies where an output may be read-only or share memory with others.

    Values of effects are treated like outputs, except those that are written to an argument. ``views`` are
    the operations whose result may be a view of their first input in the target, ``read_only`` those whose
    view cannot be written to. With ``scalars``, outputs without axes are copied, too.
    """
    # A canonical graph is pure, so ``x`` and a clone of ``x`` are the same value in it.
    taken: set[Any] = set()
    copies: list[Node] = []
    scratch = graph.derive(nodes=copies)

    def own(value: Value) -> Value:
        base, writable, is_made = _memory(graph.maker, value, views, read_only)
        # The first output in memory that the graph allocated needs no copy.
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


def may_be_operand(node: Node, value: Value) -> bool:
    # A loop without iterations returns its initial carry, and a branch may return its input.
    is_stacked = node.op == "scan" and node.outputs.index(value) >= node.params["carried"]
    return bool(node.regions) and not is_stacked and node.op != "associative_scan"


def _memory(
    maker: Callable[[Value], Node | None], value: Value, views: Container[str], read_only: Container[str]
) -> tuple[Any, bool, bool]:
    """Return the owner of the memory of ``value``, and the flags ``writable`` and ``allocated``.

    ``writable`` is False if a view on the way to the owner is read-only, ``allocated`` if the memory is not
    known to be new.
    """
    writable = True
    while (node := maker(value)) is not None:
        first: Any = node.inputs[0] if node.inputs else None
        # The memory belongs to a value that the function makes, or to an operand.
        if node.op == "call":
            block = node.regions[0].block
            base, inner, is_made = _memory(
                block.maker, block.outputs[node.outputs.index(value)], views, read_only
            )
            writable = writable and inner
            if base not in block.inputs:
                return (node, base), writable, is_made
            first = node.inputs[block.inputs.index(base)]
        elif _is_view(node, views) or node.op in read_only:
            writable = writable and node.op not in read_only
        else:
            return value, writable, not may_be_operand(node, value)
        if not isinstance(first, Value):
            return value, writable, True
        value = first
    return value, writable, False


def copy_overwritten(graph: Graph, views: Container[str]) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with copies of results and values of effects that could be overwritten.

    ``views`` are the operations whose result may share memory with their first input in the target.
    """
    # A canonical graph is pure, and its effects are carried out in order after it has run.
    copies: list[Node] = []
    scratch = graph.derive(nodes=copies)
    overwritten: set[Value] = set()
    outside = frozenset(graph.sources())

    def own(value: Value, at_risk: Set[Value] = overwritten) -> Value:
        if at_risk.isdisjoint(_owners(graph, value, views)):
            return value
        maker = graph.maker(value)
        copied: Value = Builder(scratch, maker.origin if maker is not None else Origin()).copy(value)
        copied.name = value.name
        return copied

    effects: list[Effect] = []
    for effect in graph.effects:
        # A constant keeps its value after the call, when the caller may write to the arguments.
        at_risk = outside if effect.kind == "constant" else overwritten
        effects.append(Effect(effect.kind, effect.target, own(effect.value, at_risk)))
        # Only later effects and the results read the new contents, so the target is added after its value.
        overwritten.update(_written(graph, effect))
    outputs = [own(leaf) if isinstance(leaf, Value) else leaf for leaf in graph.outputs]
    if not copies:
        return graph, False
    return graph.derive(nodes=[*graph.nodes, *copies], outputs=outputs, effects=effects), True


def _written(graph: Graph, effect: Effect) -> list[Value]:
    # A constant is replaced, so no memory is written to.
    if effect.kind in ("argument", "place"):
        return [graph.inputs[effect.target]]
    is_parameter = effect.kind == "buffer" and effect.target in graph.parameters
    return [graph.parameters[effect.target]] if is_parameter else []


def _owners(graph: Graph, value: Value, views: Container[str]) -> set[Value]:
    met, open_ = {value}, [value]
    found: set[Value] = set()
    while open_:
        value = open_.pop()
        node = graph.maker(value)
        is_view = node is not None and (_is_view(node, views) or may_be_operand(node, value))
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
