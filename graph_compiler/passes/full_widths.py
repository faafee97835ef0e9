"""Slices that are as wide as the number of a step says, for targets whose loops count in arrays: whole axes, and masks.

``a[i, :j] @ b[:j]`` is the product of whole rows with zeros from ``j`` on, ``x[i:] = y[i:] * 2`` chooses by a mask between what is written
and what was there. So all shapes are known. Where something becomes of such a slice that ``ragged_rows`` does not know, the loop stays
written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..ir.block import Region
from ..ir.closing import Body, close
from ..ir.graph import Graph
from ..ir.guard import Guard
from ..ir.inlining import inline
from ..ir.node import Node, Value, every
from ..ops.control import RUN_BLOCKS, own_operands
from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, apply, hint_of, substitute
from ..sizes.extremes import greatest
from ..trees import iterate_structure, map_structure
from .bounded_loops import ends_of
from .driver import only_with
from .ragged import Agreed, NotWhole, Ragged, Wide
from .ragged_rows import ROWS, Moment

_INDEXED = ("getitem", "setitem")


@only_with(*RUN_BLOCKS)
def full_widths(graph: Graph) -> tuple[Graph, bool]:
    """The graph with whole arrays in the place of slices whose width hangs on a step; ``NotWhole`` where that cannot be."""
    inside = every(inner for node in graph.nodes for region in node.regions for inner in region.block.nodes)
    if not any(_is_uneven(value) for inner in inside for value in inner.outputs):
        return graph, False
    widening = _Widening()
    nodes = widening.nodes(graph.nodes)
    return graph.derive(nodes=nodes, guards=[*graph.guards, *dict.fromkeys(widening.guards)]), True


def _is_uneven(value: Value) -> bool:
    """Whether the number of a step says how wide an array is."""
    return any(symbol.kind == "item" for size in value.shape if isinstance(size, Size) for symbol in size.symbols())


class _Widening:
    """The widening of one graph. Regions that hold such arrays are opened, so that what they read are values of the outside."""

    def __init__(self) -> None:
        self.build = Agreed(Graph("scratch", "canonical"))
        self.wide = Wide(self.build, self._are_equal, self.greatest)
        self.guards: list[Guard] = []
        self.ragged: dict[Value, Ragged] = {}
        self.inner: set[Value] = set()
        """What is made inside of loops."""
        self.ends: dict[Value, tuple[Any, Any]] = {}
        """The least and the greatest numbers of steps."""

    def nodes(self, nodes: Sequence[Node], is_inner: bool = False) -> list[Node]:
        """The nodes after the pass."""
        makers = {value: node for node in nodes for value in node.outputs}
        known = dict(self.wide.masks)
        with self.build.block() as made:
            for node in nodes:
                if is_inner:
                    self.inner.update(node.outputs)
                self._node(node, makers)
        self.wide.masks = known
        return made

    def _node(self, node: Node, makers: Mapping[Value, Node]) -> None:
        self.build.origin = node.origin
        node = self._with_widths(node)
        if node.regions and self._has_uneven(node):
            self.build.graph.nodes.append(self._opened(node, makers))
        elif not node.regions and self._is_ragged(node):
            self._widened(node)
        elif any(item in self.ragged for item in node.uses):
            raise self._refused(node)
        else:
            self.build.graph.nodes.append(node)

    def _with_widths(self, node: Node) -> Node:
        """The node with what is known of sizes that would be read from ragged arrays."""
        if self.ragged.keys().isdisjoint(symbol.source for size in _sizes_of(node) for symbol in size.symbols()):
            return node
        self._know(node.outputs)
        inputs, params = (map_structure(self._width, part) for part in (node.inputs, node.params))
        sizes = ({symbol: self._width(size) for symbol, size in region.sizes.items()} for region in node.regions)
        regions = tuple(replace(region, sizes=known) for region, known in zip(node.regions, sizes))
        return replace(node, inputs=inputs, params=params, regions=regions)

    def _know(self, values: Sequence[Value]) -> None:
        for value in values:
            value.spec = ArraySpec(tuple(map(self._width, value.shape)), value.dtype)

    def _width(self, item: Any) -> Any:
        return substitute(item, self._of_ragged) if isinstance(item, Size) else item

    def _of_ragged(self, symbol: Symbol) -> Any:
        found = self.ragged.get(symbol.source)
        if found is None:
            return Size.of(symbol)
        span = found.spans[symbol.axis]
        return found.full.shape[symbol.axis] if span is None else span.width

    def _refused(self, node: Node) -> NotWhole:
        return NotWhole(
            f"{node.op} of an array that is not equally wide in all steps of a loop has no place in a loop that counts in arrays. Convert "
            f"the original for this target, not a graph for another one: its loops are written out then\n    {node.origin}"
        )

    # ------------------------------------------------------------------------------ nodes
    def _is_ragged(self, node: Node) -> bool:
        is_cut = node.op in _INDEXED and any(map(self._cuts, node.params["key"]))
        sizes = (size for value in node.outputs for size in value.shape)
        return is_cut or any(item in self.ragged for item in node.uses) or any(map(self.reads_step, sizes))

    def _cuts(self, item: Any) -> bool:
        """Whether an item of a key is a slice whose width hangs on a step."""
        if not isinstance(item, tuple):
            return False
        return self.reads_step(item[1]) is not self.reads_step(item[0]) or self.reads_step((item[1] or 0) - (item[0] or 0))

    def reads_step(self, size: Any) -> bool:
        """Whether a size reads an element that is made in a loop."""
        return isinstance(size, Size) and any(symbol.kind == "item" and symbol.source in self.inner for symbol in size.symbols())

    def _are_equal(self, one: Any, other: Any) -> bool:
        """Whether two sizes are one in all steps: under a guard where they are sizes of the outside."""
        return self._holds(apply("eq", one - other, 0))

    def _holds(self, condition: Any) -> bool:
        """Whether a condition on sizes of the outside holds, from here on under a guard."""
        if not isinstance(condition, Size):
            return bool(condition)
        if not hint_of(condition) or any(symbol.source in self.inner for symbol in condition.symbols()):
            return False
        self.guards.append(Guard(condition, True, self.build.origin))
        return True

    def greatest(self, size: Any) -> Any:
        """No less than a size in any step; None where that is not known."""
        found = greatest(size, lambda symbol: self.ends.get(symbol.source))
        return None if self.reads_step(found) else found

    def has_elements(self, width: Any) -> bool:
        """Whether a width is at least 1 in all steps: under a guard where sizes of the outside tell."""
        none = self.greatest(1 - width)
        return none is not None and self._holds(apply("le", none, 0))

    def _widened(self, node: Node) -> None:
        row = ROWS.get(node.op)
        if row is None or len(node.outputs) != 1:
            raise self._refused(node)
        operands = [self.ragged.get(item, item) if isinstance(item, Value) else item for item in node.inputs]
        try:
            made = row(Moment(self.wide, node, operands, self))
        except NotWhole as problem:
            raise self._refused(node) from problem
        if isinstance(made, Ragged):
            self.ragged[node.outputs[0]] = made
            self._know(node.outputs)
            return
        *before, last = self.build.graph.nodes
        if last.outputs != (made,) or any(map(self.reads_step, node.outputs[0].shape)):
            raise self._refused(node)
        self.build.graph.nodes[:] = [*before, replace(last, outputs=node.outputs)]

    # ------------------------------------------------------------------------------ regions
    def _has_uneven(self, node: Node) -> bool:
        """Whether arrays of changing width are in the regions of a node, or are read there."""
        inside = every([inner for region in node.regions for inner in region.block.nodes])
        return any(item in self.ragged for item in node.inputs) or any(_is_uneven(value) for inner in inside for value in inner.outputs)

    def _opened(self, node: Node, makers: Mapping[Value, Node]) -> Node:
        first = int(node.op == "branch")
        own = len(node.inputs) if node.op == "call" else first + own_operands(node.op, node.params)
        if node.op not in ("scan", "while_loop", "branch") or any(item in self.ragged for item in node.inputs[:own]):
            raise self._refused(node)
        bodies = [self._body(node, region, first, own, makers) for region in node.regions]
        regions, captured = close(*bodies)
        return replace(node, inputs=(*node.inputs[:own], *captured), regions=regions)

    def _body(self, node: Node, region: Region, first: int, own: int, makers: Mapping[Value, Node]) -> Body:
        carried = first + node.params.get("carried", 0)
        rows = [ArraySpec(item.shape[1:], item.dtype) for item in node.inputs[carried:own]]
        specs = [*(item.spec for item in node.inputs[first:carried]), *rows]
        inputs = [Value(value.name, spec) for value, spec in zip(region.block.inputs, specs)]
        self.inner.update(inputs)
        for value, sequence in zip(inputs[carried - first :], node.inputs[carried:own]):
            maker = makers.get(sequence)
            if maker is not None and maker.op == "arange":
                self.ends[value] = ends_of(maker)
        nodes: list[Node] = []
        outputs = inline(region, [*inputs, *node.inputs[own:]], nodes.append)
        made = self.nodes(nodes, is_inner=True)
        if any(item in self.ragged for item in outputs):
            raise self._refused(node)
        return Body(region.name, inputs, made, outputs)


def _sizes_of(node: Node) -> Iterator[Size]:
    shapes, inner = [value.shape for value in node.outputs], [list(region.sizes.values()) for region in node.regions]
    return (item for item in iterate_structure((node.inputs, node.params, shapes, inner)) if isinstance(item, Size))
