"""Inlining of regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..sizes import Size, Symbol, substitute
from .block import Region
from .copying import copied
from .node import Node, Value


def inline(region: Region, operands: Sequence[Any], append: Callable[[Node], None]) -> tuple[Any, ...]:
    """Append copies of the nodes of `region`, applied to `operands` (values or numbers), and return its
    outputs.

    >>> from graph_compiler.ir import Builder, Graph
    >>> from graph_compiler.ir.closing import close
    >>> from graph_compiler.ops import ArraySpec
    >>> build = Builder(Graph("f", "canonical"))
    >>> x = build.input("x", ArraySpec((3,), "float32"))
    >>> (region,), _ = close(build.body("body", [Value("held", x.spec)], lambda held: (build.multiply(held, 2.0),)))
    >>> inline(region, [x], build.graph.nodes.append), build.graph.nodes[-1].inputs[0] is x
    ((%multiply: float32[x.shape[0]],), True)
    """
    return _Inlined(region, dict(zip(region.block.inputs, operands, strict=True)), append).outputs()


@dataclass(slots=True)
class _Inlined:
    """Inlining of one region. `own` maps values of the region to those that replace them."""

    region: Region
    own: dict[Value, Any]
    append: Callable[[Node], None]

    def outputs(self) -> tuple[Any, ...]:
        for node in self.region.block.nodes:
            self.append(copied(node, self.own, self._mapped))
        return tuple(map(self._mapped, self.region.block.outputs))

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.own[item]
        return substitute(item, self._symbol) if isinstance(item, Size) else item

    def _symbol(self, symbol: Symbol) -> Any:
        """Return the size in the enclosing scope: an axis of an operand, or a size read from the copy of the
        node that computes it.
        """
        if symbol in self.region.sizes:
            return self.region.sizes[symbol]
        source = self.own[symbol.source]
        if symbol.source in self.region.block.inputs and symbol.kind == "size":
            return source.shape[symbol.axis]
        return Size.of(symbol.of(source))
