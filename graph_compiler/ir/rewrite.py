"""Builds a changed copy of a block: values replaced by others, nodes left out."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from ..sizes import Size, Symbol, substitute
from ..trees import map_structure
from .block import Block, Region
from .makers import Makers
from .node import Node, Value


class Rewriter:
    """Walk ``block.nodes``; for each take :meth:`rewritten`, then :meth:`append` it or :meth:`replace` its outputs."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.nodes: list[Node] = []
        self._instead: dict[Value, Value] = {}
        self._regions: dict[int, Region] = {}
        self._makers = Makers()

    @functools.cached_property
    def _is_canonical(self) -> bool:
        return all(node.record is None for node in self.block.nodes)  # shapes of recorded values are as seen

    def replace(self, values: tuple[Value, ...], others: tuple[Value, ...]) -> None:
        """From now on the ``others`` stand for the ``values``."""
        self._instead.update(zip(values, others))

    def maker(self, value: Value) -> Node | None:
        """The node of the new graph that makes a value."""
        return self._makers.of(value, self.nodes)

    def append(self, node: Node) -> None:
        """Keeps a node."""
        self.nodes.append(node)

    def rewritten(self, node: Node) -> Node:
        """The node with its operands replaced: itself where none is."""
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
        """What a region reads are its own inputs; only the sizes that it has in common with the outside can be replaced. A region that
        several nodes have stays one."""
        sizes = {symbol: self.mapped(size) for symbol, size in region.sizes.items()}
        known = self._regions.get(id(region), region)
        if sizes != known.sizes:
            known = self._regions[id(region)] = replace(region, sizes=sizes)
        return known

    def mapped(self, structure: Any) -> Any:
        """Nested arguments with values, and the values whose sizes are read, replaced."""
        return map_structure(self._mapped, structure)

    def is_replaced(self, value: Value) -> bool:
        """Whether another value stands for this one."""
        return value in self._instead

    def value(self, value: Value) -> Value:
        """What stands for a value now."""
        return self._instead.get(value, value)

    def dimension(self, value: Value, axis: int) -> Any:
        """The size of an axis of a replaced value, as far as what stands for it knows it."""
        return self._instead[value].shape[axis]

    def _mapped(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.value(item)
        return substitute(item, self._symbol) if isinstance(item, Size) else item

    def _symbol(self, symbol: Symbol) -> Any:
        if not self.is_replaced(symbol.source):
            return Size.of(symbol)
        dim = self.dimension(symbol.source, symbol.axis) if symbol.kind == "size" and self._is_canonical else None
        return dim if dim is not None else Size.of(symbol.of(self.value(symbol.source)))

    def finish(self) -> Block:
        """The new block; the block itself where nothing has changed."""
        outputs = tuple(map(self._mapped, self.block.outputs))  # which may append nodes
        nodes = tuple(self.nodes)
        if nodes == self.block.nodes and not self._instead:
            return self.block
        return Block(self.block.inputs, nodes, outputs)
