"""Turn slices that begin at a loop index into dynamic slices, for targets whose loop index is an array.

The length of such a slice is the same in each iteration, so shapes stay known. Slices with a step are read
by index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import Graph
from ...ir.node import Block, Node, Region, Value
from ...ir.rewrite import Rewriter
from ...sizes import Size, Symbol
from ...trees import iterate_structure
from ..driver import only_with

_WHOLE = (None, None, 1)
_INDEXED = ("getitem", "setitem")
Key = tuple[Any, ...]


@only_with(*_INDEXED)
def moving_slices(graph: Graph) -> tuple[Graph, bool]:
    block = graph.block
    made = _SliceRewriter(frozenset()).block(block)
    return (graph, False) if made is block else (graph.with_block(made), True)


class _SliceRewriter:
    """Rewriter of a block in which ``numbers`` are loop indices or sizes computed from them."""

    def __init__(self, numbers: frozenset[Symbol]) -> None:
        self.numbers = numbers

    def block(self, block: Block) -> Block:
        nodes = [self._inside(node) if node.regions else node for node in block.nodes]
        if not any(map(self._moves, nodes)):
            return (
                block
                if all(new is old for new, old in zip(nodes, block.nodes))
                else Block(block.inputs, tuple(nodes), block.outputs)
            )
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
        picked = _MovingKey(build, node.params["key"], self.is_moving)
        found = picked.read(node.inputs[0]) if node.op == "getitem" else picked.written(*node.inputs)
        found.name = node.outputs[0].name
        for part in scratch.nodes:
            rewriter.append(part)
        rewriter.replace(node.outputs, (found,))

    # ------------------------------------------------------------------------------ regions
    def _inside(self, node: Node) -> Node:
        regions = tuple(self._region(node, region) for region in node.regions)
        return (
            node
            if all(new is old for new, old in zip(regions, node.regions))
            else replace(node, regions=regions)
        )

    def _region(self, node: Node, region: Region) -> Region:
        read = {symbol for inner in region.block.nodes for symbol in _symbols(inner)}
        given = {value for value in region.block.inputs if value not in self._counters(node, region)}
        known = (
            symbol for symbol in read if symbol in region.sizes and self._reads_number(region.sizes[symbol])
        )
        numbers = frozenset(
            (*known, *(symbol for symbol in read if symbol.kind == "item" and symbol.source not in given))
        )
        made = _SliceRewriter(numbers).block(region.block)
        return region if made is region.block else replace(region, block=made)

    @staticmethod
    def _counters(node: Node, region: Region) -> tuple[Value, ...]:
        carried = node.params.get("carried", 0)
        return region.block.inputs[carried : carried + node.params["sequences"]] if node.op == "scan" else ()

    # ------------------------------------------------------------------------------ keys
    def _moves(self, node: Node) -> bool:
        return bool(self.numbers) and node.op in _INDEXED and any(map(self.is_moving, node.params["key"]))

    def is_moving(self, item: Any) -> bool:
        if not isinstance(item, tuple) or item[1] is None or not self._reads_number(item[0]):
            return False
        # The length of the slice must be the same in each iteration.
        return not self._reads_number(item[1] - item[0])

    def _reads_number(self, size: Any) -> bool:
        return isinstance(size, Size) and not self.numbers.isdisjoint(size.symbols())


def _symbols(node: Node) -> Any:
    sizes = iterate_structure(
        (node.inputs, node.params, [list(region.sizes.values()) for region in node.regions])
    )
    return (symbol for size in sizes if isinstance(size, Size) for symbol in size.symbols())


class _MovingKey:
    """A key with at least one slice that moves with a loop index.

    still: the key with a full slice in place of each moving one.
    windows: moving slices of step 1, by the axes of what ``still`` selects.
    spread: pairs of such an axis and a moving slice with another step.
    """

    def __init__(self, build: Builder, key: Key, is_moving: Callable[[Any], bool]) -> None:
        self.build = build
        self.still: Key = tuple(_WHOLE if is_moving(item) else item for item in key)
        kept: list[Any] = [item for item in key if item is None or isinstance(item, tuple)]
        moving = [(axis, item) for axis, item in enumerate(kept) if is_moving(item)]
        self.windows = {axis: item for axis, item in moving if item[2] == 1}
        self.spread = [(axis, item) for axis, item in moving if item[2] != 1]

    def read(self, x: Value) -> Value:
        found = self._part(x)
        for axis, item in self.spread:
            found = self.build.take(found, _places(self.build, item), axis=axis)
        if self.windows:
            found = self.build.dynamic_slice(
                found, *self._starts(), axes=self._axes(), sizes=tuple(map(_width, self.windows.values()))
            )
        return found

    def written(self, x: Value, value: Any) -> Value:
        part = self._part(x)
        written = self._spread(part, value, self.spread)
        whole: Value = written if part is x else self.build.setitem(x, written, key=self.still)
        return whole

    def _part(self, x: Value) -> Value:
        part: Value = (
            self.build.getitem(x, key=self.still) if any(item != _WHOLE for item in self.still) else x
        )
        return part

    def _spread(self, x: Value, value: Any, spread: list[tuple[int, Any]]) -> Value:
        """Return ``x`` with ``value`` written to the elements that ``spread`` and the windows select."""
        if not spread:
            return self._updated(x, value)
        (axis, item), *others = spread
        places = _places(self.build, item)
        if others or self.windows:
            value = self._spread(self.build.take(x, places, axis=axis), value, others)
        written: Value = self.build.scatter_nd(x, value, places, axes=(axis,))
        return written

    def _updated(self, x: Value, value: Any) -> Value:
        shape = tuple(
            _width(self.windows[axis]) if axis in self.windows else size for axis, size in enumerate(x.shape)
        )
        is_array = isinstance(value, Value)
        update = (
            self.build.broadcast_to(value, shape=shape)
            if is_array
            else self.build.full(shape=shape, fill_value=value, dtype=x.dtype)
        )
        written: Value = self.build.dynamic_update_slice(x, update, *self._starts(), axes=self._axes())
        return written

    def _starts(self) -> tuple[Any, ...]:
        return tuple(item[0] for item in self.windows.values())

    def _axes(self) -> tuple[int, ...]:
        return tuple(self.windows)


def _width(item: Any) -> Any:
    return item[1] - item[0]


def _places(build: Builder, item: Any) -> Value:
    start, stop, step = item
    places: Value = build.add(
        build.multiply(build.arange(stop=(stop - start + step - 1) // step, dtype="int64"), step), start
    )
    return places
