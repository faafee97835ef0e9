"""Construction of a changed copy of a block, from copies of its nodes with other operands and outputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ops.registry import ArraySpec
from ..sizes import Size, Symbol, substitute
from ..trees import map_structure
from .node import Block, Makers, Node, Region, Value

# ---------------------------------------------------------------------------------------------------- copying
# Copies of nodes with other operands and new outputs.


def copy_node(node: Node, own: dict[Value, Any], mapped: Callable[[Any], Any]) -> Node:
    """Return a copy of ``node`` with new outputs, and with ``mapped`` applied to its operands and parameters.

    Add to ``own`` the new value of each output.
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
    """Return a copy of ``node`` with other operands; None if ``pairs`` has two replacements for one value.

    pairs: values, each with the one that replaces it.
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
    """Return the outputs of ``region`` for ``operands``, and call ``append`` with copies of its nodes.

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

    own: values of the region, with the value or number that replaces each.
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
        if symbol in self.region.sizes:
            return self.region.sizes[symbol]
        source = self.own[symbol.source]
        if symbol.source in self.region.block.inputs and symbol.kind == "size":
            return source.shape[symbol.axis]
        return Size.of(symbol.of(source))


# ---------------------------------------------------------------------------------------------------- rewrite
class Rewriter:
    """Builder of a changed copy of ``block``.

    Pass each node of ``block.nodes``, in order, to :meth:`rewritten`. Then either :meth:`append` the
    result or :meth:`replace` its outputs by other values. :meth:`finish` returns the new block, or ``block``
    if nothing has changed.
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
        """Return a node that reads the replacements of values and has the outputs of ``node``."""
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
        sizes = {symbol: self.mapped(size) for symbol, size in region.sizes.items()}
        # Nodes that share a region share its copy, too, as long as the sizes are equal.
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
        # This may append nodes, so it comes before they are read.
        outputs = tuple(map(self._mapped, self.block.outputs))
        nodes = tuple(self.nodes)
        if nodes == self.block.nodes and not self._instead:
            return self.block
        return Block(self.block.inputs, nodes, outputs)
