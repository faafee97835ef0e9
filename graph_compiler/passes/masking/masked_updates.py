"""Replace elements that are selected and written back under the same mask by ``where`` on full arrays.

``z[m] = z[m] ** 2 + c[m]`` finds indices, gathers and scatters. On full arrays it is one loop with static
shapes. :mod:`.ragged` has the rules of operations on full arrays: elements that are not selected affect
neither results nor gradients. Selections that are used in any other way stay. :func:`masked_scatter_to_where`
is the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...ir.graph import Graph, Guard
from ...ir.node import Block, Node, Origin, Region, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.axes import FULL_SLICE
from ...ops.dtypes import is_bool, is_integer
from ...sizes import Size, apply, hint_of
from ..driver import only_with
from .ragged import (
    BY_ELEMENT,
    FINITE,
    ROWS,
    CannotPad,
    EqualSizesBuilder,
    PaddedArray,
    PaddedBuilder,
    PaddedRewrite,
    Span,
)

_REDUCED = frozenset({"sum", "count_nonzero", "any", "prod", "all"})


@only_with("masked_scatter")
def masked_scatter_to_where(graph: Graph) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with ``where`` instead of ``masked_scatter`` if this is possible.

    The written elements must be computed from elements that the same mask selects.
    """
    sizes, block = _BlockSizes(frozenset(graph.sources())), graph.block
    made = _rewrite_block(block, sizes, {})
    if made is block:
        return graph, False
    return graph.with_block(made).derive(guards=[*graph.guards, *dict.fromkeys(sizes.guards)]), True


class _BlockSizes:
    """Comparer of the sizes in a block, which collects the guards that their equality needs.

    sources: inputs, parameters and constants of the graph, whose sizes can be guarded; empty in a called
        function.
    outward(size): a size of the block expressed in sizes of the graph, or of the called function around it.
    guards: guards on equal sizes, shared by all blocks outside of called functions.
    """

    def __init__(self, sources: frozenset[Value], outward: Callable[[Any], Any] = lambda size: size) -> None:
        self.sources, self.outward = sources, outward
        self.guards: list[Guard] = []

    def within(self, node: Node, region: Region) -> _BlockSizes:
        # Different calls may pass arrays of different sizes.
        if node.op == "call":
            return _BlockSizes(frozenset())
        found = _BlockSizes(self.sources, lambda size: self.outward(region.outward(size)))
        found.guards = self.guards
        return found

    def are_equal(self, some: Sequence[Any], others: Sequence[Any], origin: Origin) -> bool:
        """Return True if two shapes are known to be equal, possibly under guards, which are added."""
        if len(some) != len(others):
            return False
        conditions = [apply("eq", self.outward(one), self.outward(other)) for one, other in zip(some, others)]
        open_ = [condition for condition in conditions if isinstance(condition, Size)]
        if not all(map(hint_of, conditions)) or not all(
            symbol.source in self.sources for each in open_ for symbol in each.symbols()
        ):
            return False
        self.guards += [Guard(condition, True, origin) for condition in open_]
        return True


def _rewrite_block(block: Block, sizes: _BlockSizes, done: dict[int, Region]) -> Block:
    def inside(node: Node) -> Node:
        for region in node.regions:
            if id(region) not in done:
                made = _rewrite_block(region.block, sizes.within(node, region), done)
                done[id(region)] = region if made is region.block else replace(region, block=made)
        regions = tuple(done[id(region)] for region in node.regions)
        return (
            node
            if all(new is old for new, old in zip(regions, node.regions))
            else replace(node, regions=regions)
        )

    nodes = tuple(inside(node) if node.regions else node for node in block.nodes)
    block = (
        block
        if all(new is old for new, old in zip(nodes, block.nodes))
        else Block(block.inputs, nodes, block.outputs)
    )
    masks = _written(block)
    return _SelectionRewriter(block, masks, sizes).run() if masks else block


def _written(block: Block) -> frozenset[Value]:
    read = {node.inputs[1] for node in block.nodes if node.op == "boolean_mask" and node.params["axis"] == 0}
    masks = (_mask_of(block, node) for node in block.nodes if node.op == "masked_scatter") if read else ()
    return frozenset(mask for mask in masks if mask in read)


def _mask_of(block: Block, node: Node) -> Value:
    """Return the mask of a ``masked_scatter``, or a mask that is expanded to it."""
    x, mask, _ = node.inputs
    for op in ("broadcast_to", "reshape"):
        made = block.maker(mask)
        if made is None or made.op != op:
            continue
        (inner,) = made.inputs
        is_trailing = op == "reshape" and tuple(made.params["shape"]) == (
            *inner.shape,
            *(1,) * (x.ndim - inner.ndim),
        )
        mask = inner if is_trailing or (op == "broadcast_to" and inner.ndim == x.ndim) else mask
    found: Value = mask
    return found


@dataclass(frozen=True, slots=True)
class _SelectedSpan(Span):
    """Span of the elements that a mask selects from the first axes of an array, which count as one axis."""

    mask: Value


class _SelectionBuilder(PaddedBuilder):
    """Builder of operations on full arrays instead of selections.

    The first axis of a selection, which represents the axes of the mask, has a :class:`_SelectedSpan`.
    """

    def mask(self, spans: Sequence[Span | None]) -> Value | None:
        span, rank = spans[0], len(spans)
        assert isinstance(span, _SelectedSpan)
        if (span, 0, rank) not in self.masks:
            key = (*(FULL_SLICE,) * span.mask.ndim, *(None,) * (rank - 1))
            self.masks[span, 0, rank] = self.build.getitem(span.mask, key=key) if rank > 1 else span.mask
        return self.masks[span, 0, rank]

    def harmless(self, item: Any, number: Any) -> Any:
        mask = self.mask(item.spans) if isinstance(item, PaddedArray) else None
        if mask is None or mask.shape != item.full.shape or item.padding is not None:
            return self.fill_padding(item, number)
        return self.build.masked_gradient(mask, item.full, harmless=number)


class _SelectionRewriter:
    """Rewriter of one block, which computes selections on the full arrays and writes them back by ``where``.

    masks: masks with which elements are both selected and written in the block.
    spans: the span of the selected elements, by mask.
    selected: full arrays of selections and of results computed from them, by value of the original block.
    """

    def __init__(self, block: Block, masks: frozenset[Value], sizes: _BlockSizes) -> None:
        self.block, self.masks, self.sizes, self.rewriter = block, masks, sizes, Rewriter(block)
        self.build = EqualSizesBuilder.into(self.rewriter)
        self.padded = _SelectionBuilder(self.build, lambda one, other: bool(one == other), lambda size: None)
        self.spans: dict[Value, _SelectedSpan] = {}
        self.selected: dict[Value, PaddedArray] = {}

    def run(self) -> Block:
        for node in self.block.nodes:
            self.build.origin = node.origin
            found = self._whole(node)
            if found is None:
                self.rewriter.append(self.rewriter.rewritten(node))
            else:
                found.name = node.outputs[0].name
                self.rewriter.replace(node.outputs, (found,))
        return self.rewriter.finish()

    def _whole(self, node: Node) -> Value | None:
        """Return the value that replaces the result of ``node``; None if the node stays.

        This may add the full array of the result to ``selected``.
        """
        if node.op == "boolean_mask":
            self._select(node)
        elif node.op == "masked_scatter":
            return self._written(node)
        elif (node.op in BY_ELEMENT or node.op in _REDUCED) and not self.selected.keys().isdisjoint(
            node.inputs
        ):
            return self._computed(node)
        return None

    def _select(self, node: Node) -> None:
        x, mask = node.inputs
        if mask not in self.masks or node.params["axis"] != 0 or mask.ndim == 0:
            return
        if self.sizes.are_equal(x.shape[: mask.ndim], mask.shape, node.origin):
            count = node.outputs[0].shape[0]
            span = self.spans.setdefault(mask, _SelectedSpan(0, count, count, self.rewriter.value(mask)))
            self.selected[node.outputs[0]] = _padded_array(
                self.rewriter.value(x), (span, *(None,) * (x.ndim - mask.ndim))
            )

    def _written(self, node: Node) -> Value | None:
        x, _, source = node.inputs
        found, own = self.selected.get(source), _mask_of(self.block, node)
        if (
            found is None
            or found.spans[0] is not self.spans.get(own)
            or {x.dtype, source.dtype} != {node.outputs[0].dtype}
        ):
            return None
        if not self.sizes.are_equal(x.shape, (*own.shape, *source.shape[1:]), node.origin):
            return None
        made = self.padded.where(found.spans, found.full, self.rewriter.value(x))
        # The sizes are equal under guards, and later nodes use those of the old result.
        made.spec = node.outputs[0].spec
        return made

    def _computed(self, node: Node) -> Value | None:
        operands = [self._operand(node, item) for item in node.inputs]
        if None in operands or not self._keeps_axes(node):
            return None
        try:
            made = ROWS[node.op](PaddedRewrite(self.padded, node, operands, self))
        except CannotPad:
            return None
        if not isinstance(made, PaddedArray):
            found: Value = made
            return found
        self.selected[node.outputs[0]] = made
        return None

    def _operand(self, node: Node, item: Any) -> Any:
        # A value that is the same for all selected elements gets their mask, so that elements that are not
        # selected affect nothing.
        if not isinstance(item, Value):
            return None if any(value in self.selected for value in values_in((item,))) else item
        if item in self.selected:
            return self.selected[item]
        rank = node.outputs[0].ndim
        if item.ndim > rank or (item.ndim == rank and item.shape[0] != 1):
            return None
        first = next(self.selected[other] for other in node.inputs if other in self.selected)
        return _padded_array(self.rewriter.value(item), (first.spans[0], *(None,) * (rank - 1)))

    def _keeps_axes(self, node: Node) -> bool:
        found = [
            (item, self.selected[item])
            for item in node.inputs
            if isinstance(item, Value) and item in self.selected
        ]
        if node.op in BY_ELEMENT:
            return all(item.ndim == node.outputs[0].ndim for item, _ in found)
        (_, ragged), params = found[0], node.params
        is_flat = isinstance(ragged.spans[0], _SelectedSpan) and ragged.spans[0].mask.ndim == 1
        return is_flat or (params["axis"] is None and not params["keepdims"])

    # ------------------------------------------------------------------------------ loop indices
    def reads_changing_number(self, size: Any) -> bool:
        return False

    def upper_bound(self, size: Any) -> Any:
        return None

    def is_nonempty(self, width: Any) -> bool:
        return False


def _padded_array(full: Value, spans: tuple[Span | None, ...]) -> PaddedArray:
    return PaddedArray(full, spans, FINITE if is_integer(full.dtype) or is_bool(full.dtype) else None)
