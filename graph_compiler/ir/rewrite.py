"""Construction of a changed copy of a block."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from ..sizes import Size, Symbol, substitute
from ..trees import map_structure
from .node import Block, Makers, Node, Region, Value


class Rewriter:
    """Builder of a changed copy of `block`.

    Walk ``block.nodes`` in order. For each node, take :meth:`rewritten`, then either :meth:`append` it or
    :meth:`replace` its outputs.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.nodes: list[Node] = []
        self._instead: dict[Value, Value] = {}
        self._regions: dict[int, Region] = {}
        self._makers = Makers()

    @functools.cached_property
    def _is_canonical(self) -> bool:
        # Values of recorded calls have concrete shapes.
        return all(node.record is None for node in self.block.nodes)

    def replace(self, values: tuple[Value, ...], others: tuple[Value, ...]) -> None:
        self._instead.update(zip(values, others))

    def name(self, value: Value, old: Value) -> None:
        # Values of the original block belong to other graphs, too, so they keep their names.
        if value not in self.block.inputs and self.block.maker(value) is None:
            value.name = old.name

    def maker(self, value: Value) -> Node | None:
        return self._makers.of(value, self.nodes)

    def append(self, node: Node) -> None:
        self.nodes.append(node)

    def rewritten(self, node: Node) -> Node:
        """Return `node` with its operands replaced, or the node itself if none is replaced."""
        if not any(map(self.is_replaced, node.uses)):
            return node
        return replace(
            node,
            inputs=self.mapped(node.inputs),
            params=self.mapped(node.params),
            record=None if node.record is None else node.record.mapped(self.mapped),
            regions=tuple(map(self._region, node.regions)),
        )

    def _region(self, region: Region) -> Region:
        """Return the region with the sizes that it shares with the enclosing scope replaced.

        A region shared by several nodes stays shared.
        """
        sizes = {symbol: self.mapped(size) for symbol, size in region.sizes.items()}
        known = self._regions.get(id(region), region)
        if sizes != known.sizes:
            known = self._regions[id(region)] = replace(region, sizes=sizes)
        return known

    def mapped(self, structure: Any) -> Any:
        return map_structure(self._mapped, structure)

    def is_replaced(self, value: Value) -> bool:
        return value in self._instead

    def value(self, value: Value) -> Value:
        return self._instead.get(value, value)

    def dimension(self, value: Value, axis: int) -> Any:
        return self._instead[value].shape[axis]

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.value(item)
        return substitute(item, self._symbol) if isinstance(item, Size) else item

    def _symbol(self, symbol: Symbol) -> Any:
        if not self.is_replaced(symbol.source):
            return Size.of(symbol)
        dim = (
            self.dimension(symbol.source, symbol.axis)
            if symbol.kind == "size" and self._is_canonical
            else None
        )
        return dim if dim is not None else Size.of(symbol.of(self.value(symbol.source)))

    def finish(self) -> Block:
        """Return the new block, or the original one if nothing changed."""
        # This may append nodes, so it comes before they are read.
        outputs = tuple(map(self._mapped, self.block.outputs))
        nodes = tuple(self.nodes)
        if nodes == self.block.nodes and not self._instead:
            return self.block
        return Block(self.block.inputs, nodes, outputs)
