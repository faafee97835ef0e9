"""Copies nodes into another block: in other values and sizes, with outputs of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, substitute
from ..trees import map_structure
from .node import Node, Value


def copied(node: Node, own: dict[Value, Any], mapped: Callable[[Any], Any]) -> Node:
    """The node with each value and size as ``mapped`` gives it. Its outputs are new; ``own`` is told which stand for those of the node."""

    def whole(structure: Any) -> Any:
        return map_structure(mapped, structure)

    regions = tuple(replace(region, sizes={symbol: mapped(size) for symbol, size in region.sizes.items()}) for region in node.regions)
    inputs, params = whole(node.inputs), whole(node.params)
    outputs = tuple(Value(value.name, value.spec) for value in node.outputs)
    own.update(zip(node.outputs, outputs))
    for value in outputs:
        value.spec = ArraySpec(tuple(map(mapped, value.shape)), value.dtype)
    return Node(node.op, inputs, params, node.origin, outputs, node.record and node.record.mapped(whole), regions)


def copied_among(node: Node, pairs: Iterable[tuple[Value, Value]]) -> Node | None:
    """The node with the second value of each pair, and its sizes, in the place of the first; None where two stand for one."""
    own: dict[Value, Any] = {}
    if any(own.setdefault(value, other) is not other for value, other in pairs):
        return None

    def mapped(item: Any) -> Any:
        if isinstance(item, Value):
            return own.get(item, item)
        return substitute(item, moved) if isinstance(item, Size) else item

    def moved(symbol: Symbol) -> Size:
        return Size.of(symbol.of(own.get(symbol.source, symbol.source)))

    return copied(node, own, mapped)
