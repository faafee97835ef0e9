"""Copies of nodes with other operands and new outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, substitute
from ..trees import map_structure
from .node import Node, Value


def copied(node: Node, own: dict[Value, Any], mapped: Callable[[Any], Any]) -> Node:
    """Return a copy of `node` with new outputs and with `mapped` applied to every value and size. The new
    outputs are entered in `own`.
    """

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
    """Return a copy of `node` with the first value of each pair, and its sizes, replaced by the second.

    Return None if two pairs give different replacements for one value.
    """
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
