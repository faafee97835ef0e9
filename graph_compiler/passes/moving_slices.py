"""Slices that begin at the number of a step, for targets whose loops count in arrays: the rows are picked by index.

How many rows such a slice has is the same in each step, so that shapes stay known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..ir.block import Block, Region
from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.node import Node, Value
from ..ir.rewrite import Rewriter
from ..sizes import Size, Symbol
from ..trees import iterate_structure

_WHOLE = (None, None, 1)
_INDEXED = ("getitem", "setitem")
Key = tuple[Any, ...]


def moving_slices(graph: Graph) -> tuple[Graph, bool]:
    """The graph with ``take`` and ``scatter_nd`` in the place of such slices."""
    block = graph.block
    made = _Picking(frozenset()).block(block)
    return (graph, False) if made is block else (graph.with_block(made), True)


class _Picking:
    """A block in which the ``numbers`` are those of steps, or computed from them."""

    def __init__(self, numbers: frozenset[Symbol]) -> None:
        self.numbers = numbers

    def block(self, block: Block) -> Block:
        """The block after the pass; itself where there is nothing to do."""
        nodes = [self._inside(node) if node.regions else node for node in block.nodes]
        if not any(map(self._moves, nodes)):
            return block if all(new is old for new, old in zip(nodes, block.nodes)) else Block(block.inputs, tuple(nodes), block.outputs)
        rewriter = Rewriter(block)
        for node in map(rewriter.rewritten, nodes):
            if self._moves(node):
                self._replace(rewriter, node)
            else:
                rewriter.append(node)
        return rewriter.finish()

    def _replace(self, rewriter: Rewriter, node: Node) -> None:
        scratch = Graph("scratch", "canonical")
        build = Builder(scratch, node.origin, rewriter.maker)
        picked = _Key(build, node.params["key"], self.is_moving)
        found = picked.read(node.inputs[0]) if node.op == "getitem" else picked.written(*node.inputs)
        found.name = node.outputs[0].name
        for part in scratch.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, (found,))

    # ------------------------------------------------------------------------------ regions
    def _inside(self, node: Node) -> Node:
        regions = tuple(self._region(node, region) for region in node.regions)
        return node if all(new is old for new, old in zip(regions, node.regions)) else replace(node, regions=regions)

    def _region(self, node: Node, region: Region) -> Region:
        read = {symbol for inner in region.block.nodes for symbol in _symbols(inner)}
        given = {value for value in region.block.inputs if value not in self._counters(node, region)}
        known = (symbol for symbol in read if symbol in region.sizes and self._reads_number(region.sizes[symbol]))
        numbers = frozenset((*known, *(symbol for symbol in read if symbol.kind == "item" and symbol.source not in given)))
        made = _Picking(numbers).block(region.block)
        return region if made is region.block else replace(region, block=made)

    @staticmethod
    def _counters(node: Node, region: Region) -> tuple[Value, ...]:
        """The numbers of the steps of a loop."""
        carried = node.params.get("carried", 0)
        return region.block.inputs[carried : carried + node.params["sequences"]] if node.op == "scan" else ()

    # ------------------------------------------------------------------------------ keys
    def _moves(self, node: Node) -> bool:
        return bool(self.numbers) and node.op in _INDEXED and any(map(self.is_moving, node.params["key"]))

    def is_moving(self, item: Any) -> bool:
        """Whether an item of a key is a slice of a known width that begins where the number of a step says."""
        if not isinstance(item, tuple) or item[1] is None or not self._reads_number(item[0]):
            return False
        return not self._reads_number(item[1] - item[0])

    def _reads_number(self, size: Any) -> bool:
        return isinstance(size, Size) and not self.numbers.isdisjoint(size.symbols())


def _symbols(node: Node) -> Any:
    sizes = iterate_structure((node.inputs, node.params, [list(region.sizes.values()) for region in node.regions]))
    return (symbol for size in sizes if isinstance(size, Size) for symbol in size.symbols())


class _Key:
    """A key of which some items move."""

    def __init__(self, build: Builder, key: Key, is_moving: Callable[[Any], bool]) -> None:
        self.build = build
        self.still: Key = tuple(_WHOLE if is_moving(item) else item for item in key)
        """The key without what moves."""
        kept = [item for item in key if item is None or isinstance(item, tuple)]
        self.moving = [(axis, item) for axis, item in enumerate(kept) if is_moving(item)]
        """What moves, with the axes of what the key without it selects."""

    def read(self, x: Value) -> Value:
        """``x[key]``."""
        found = self._part(x)
        for axis, item in self.moving:
            found = self.build.take(found, self._places(item), axis=axis)
        return found

    def written(self, x: Value, value: Any) -> Value:
        """``x`` with ``value`` in the place of ``x[key]``."""
        part = self._part(x)
        written = self._scattered(part, value, self.moving)
        whole: Value = written if part is x else self.build.setitem(x, written, key=self.still)
        return whole

    def _part(self, x: Value) -> Value:
        part: Value = self.build.getitem(x, key=self.still) if any(item != _WHOLE for item in self.still) else x
        return part

    def _scattered(self, x: Value, value: Any, moving: list[tuple[int, Any]]) -> Value:
        """``x`` with ``value`` at the places of slices along some axes."""
        (axis, item), *others = moving
        places = self._places(item)
        value = self._scattered(self.build.take(x, places, axis=axis), value, others) if others else value
        written: Value = self.build.scatter_nd(x, value, places, axes=(axis,))
        return written

    def _places(self, item: Any) -> Value:
        start, stop, step = item
        count = stop - start if step == 1 else (stop - start + step - 1) // step
        counted = self.build.arange(stop=count, dtype="int64")
        places: Value = self.build.add(counted if step == 1 else self.build.multiply(counted, step), start)
        return places


__all__ = ["moving_slices"]
