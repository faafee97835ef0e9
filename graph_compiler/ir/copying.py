"""Copies of nodes with other operands and new outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, substitute
from ..trees import map_structure
from .node import Node, Region, Value


def copy_node(node: Node, own: dict[Value, Any], mapped: Callable[[Any], Any]) -> Node:
    """Return a copy of `node` with new outputs and with `mapped` applied to every value and size.

    In regions, only the sizes of the enclosing scope are mapped; their blocks are shared. The new outputs
    are entered in `own`, by the old ones.
    """

    def whole(structure: Any) -> Any:
        return map_structure(mapped, structure)

    regions = tuple(
        replace(region, sizes={symbol: mapped(size) for symbol, size in region.sizes.items()})
        for region in node.regions
    )
    inputs, params = whole(node.inputs), whole(node.params)
    outputs = tuple(Value(value.name, value.spec) for value in node.outputs)
    own.update(zip(node.outputs, outputs))
    # Sizes of an output may be symbols that are read from it, so the new values exist before their shapes are
    # mapped.
    for value in outputs:
        value.spec = ArraySpec(tuple(map(mapped, value.shape)), value.dtype)
    return Node(
        node.op, inputs, params, node.origin, outputs, node.record and node.record.mapped(whole), regions
    )


def copy_with_replacements(node: Node, pairs: Iterable[tuple[Value, Value]]) -> Node | None:
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

    return copy_node(node, own, mapped)


def inline(region: Region, operands: Sequence[Any], append: Callable[[Node], None]) -> tuple[Any, ...]:
    """Append copies of the nodes of `region`, applied to `operands`, and return its outputs.

    The operands are values or numbers.

    >>> from graph_compiler.ir import Builder, Graph
    >>> from graph_compiler.ir.builder import close
    >>> from graph_compiler.ops import ArraySpec
    >>> build = Builder(Graph("f", "canonical"))
    >>> x = build.input("x", ArraySpec((3,), "float32"))
    >>> body = build.body("body", [Value("held", x.spec)], lambda held: (build.multiply(held, 2.0),))
    >>> (region,), _ = close(body)
    >>> inline(region, [x], build.graph.nodes.append), build.graph.nodes[-1].inputs[0] is x
    ((%multiply: float32[x.shape[0]],), True)
    """
    return _Inlined(region, dict(zip(region.block.inputs, operands, strict=True)), append).outputs()


@dataclass(slots=True)
class _Inlined:
    """Inlining of one region.

    own: for each value of the region, the value or number that replaces it.
    append: called with each copied node.
    """

    region: Region
    own: dict[Value, Any]
    append: Callable[[Node], None]

    def outputs(self) -> tuple[Any, ...]:
        for node in self.region.block.nodes:
            self.append(copy_node(node, self.own, self._mapped))
        return tuple(map(self._mapped, self.region.block.outputs))

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.own[item]
        return substitute(item, self._symbol) if isinstance(item, Size) else item

    def _symbol(self, symbol: Symbol) -> Any:
        """Return the size in the enclosing scope: an axis of an operand, or one read from a copied node."""
        if symbol in self.region.sizes:
            return self.region.sizes[symbol]
        source = self.own[symbol.source]
        if symbol.source in self.region.block.inputs and symbol.kind == "size":
            return source.shape[symbol.axis]
        return Size.of(symbol.of(source))
