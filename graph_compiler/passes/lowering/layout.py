"""Convert arrays of signals, images and volumes to the layout that a target prefers: channels first or last.

Operations that follow a converted one run in the same layout if they can (:mod:`graph_compiler.ops.axes`),
which saves permutations. Parameters keep their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import Graph
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.axes import FULL_SLICE, ROWS, Order
from ...ops.convolution import CHANNELS_FIRST, CHANNELS_LAST, to_first, to_last, weight_to_first
from ...ops.registry import ArraySpec, Unknown
from ...sizes import Size, Symbol, hint_of
from ..driver import Pass


@dataclass(frozen=True)
class Layout:
    """Layout of arrays of signals, images and volumes.

    name: the value of the parameter ``layout`` of operations.
    to: function from a rank to the permutation to this layout from the other one.
    back: function from a rank to the permutation to the other layout.
    """

    name: str
    to: Callable[[int], Order]
    back: Callable[[int], Order]

    def is_other(self, node: Node) -> bool:
        return bool(node.params.get("layout", self.name) != self.name)


FIRST = Layout(CHANNELS_FIRST, to_first, to_last)
LAST = Layout(CHANNELS_LAST, to_last, to_first)


def layout(graph: Graph, prefers: Container[str], preferred: Layout = LAST) -> tuple[Graph, bool]:
    """Return ``(graph, changed)``, with operations in ``prefers`` in the ``preferred`` layout if possible.

    Inputs and outputs of the graph and of regions keep their layout.
    """
    return Pass("layout", lambda block: _with_layout(block, prefers, preferred), "deep", prefers)(graph)


def may_change_layout(block: Block, prefers: Container[str]) -> bool:
    """Return True if ``block`` would probably take or return arrays in channels last if it were inlined."""
    if not any(node.op in prefers for node in block.nodes):
        return False
    mover = _LayoutRewriter(block, prefers, LAST)
    for node in block.nodes:
        mover.visit(node)
    comes_in = any(value.ndim > 2 and value in mover.wanted for value in block.inputs)
    return comes_in or not mover.moved.isdisjoint(values_in(block.outputs))


def _with_layout(block: Block, prefers: Container[str], preferred: Layout) -> Block:
    mover = _LayoutRewriter(block, prefers, preferred)
    for node in block.nodes:
        mover.visit(node)
    return mover.finish()


def _carriers(node: Node) -> list[Value]:
    row = ROWS.get(node.op)
    inputs = node.inputs if row and row.carriers != "first" else node.inputs[:1]
    return [item for item in inputs if isinstance(item, Value)] if row else []


def _wanted(block: Block, prefers: Container[str], preferred: Layout) -> set[Value]:
    wanted: set[Value] = set()
    for node in reversed(block.nodes):
        permutes = node.op == "permute_dims" and node.params["axes"] == preferred.to(len(node.params["axes"]))
        if (node.op in prefers and preferred.is_other(node)) or permutes:
            wanted.add(node.inputs[0])
        elif any(value in wanted for value in node.outputs):
            wanted.update(_carriers(node))
    return wanted


class _LayoutRewriter(Rewriter):
    """Rewriter that moves operations to the ``preferred`` layout, and permutes arrays between the layouts.

    wanted: values that later operations want in this layout.
    permuted: for a value, its version in this layout.
    moved: values that exist in the new block only in this layout.
    written: results of permutations of the original block that were deferred.
    """

    def __init__(self, block: Block, prefers: Container[str], preferred: Layout) -> None:
        super().__init__(block)
        self.prefers, self.preferred = prefers, preferred
        self.wanted = _wanted(block, prefers, preferred)
        self.permuted: dict[Value, Value] = {}
        self.moved: set[Value] = set()
        self.written: set[Value] = set()
        self.scratch = Graph("scratch", "canonical")
        self.scratch.nodes = self.nodes
        self.origin = Builder(self.scratch).origin

    # ------------------------------------------------------------------------------ values
    def is_replaced(self, value: Value) -> bool:
        return value in self.moved or super().is_replaced(value)

    def value(self, value: Value) -> Value:
        """Return ``value`` or its replacement in the original order of axes, permuted back if needed."""
        if value in self.moved:
            made = self.build(
                "permute_dims", (self.permuted[value],), {"axes": self.preferred.back(value.ndim)}, value.name
            )
            self.moved.discard(value)
            self.replace((value,), (made,))
        return super().value(value)

    def dimension(self, value: Value, axis: int) -> Any:
        if value in self.moved:
            return self.permuted[value].shape[self.preferred.to(value.ndim).index(axis)]
        return super().dimension(value, axis)

    def in_layout(self, value: Value) -> Value:
        if value not in self.permuted:
            self.permuted[value] = self.build(
                "permute_dims",
                (self.value(value),),
                {"axes": self.preferred.to(value.ndim)},
                f"{value.name}_{self.preferred.name}",
            )
        return self.permuted[value]

    def build(self, op: str, inputs: tuple[Any, ...], params: dict[str, Any], name: str) -> Value:
        before = len(self.nodes)
        made: Value = getattr(Builder(self.scratch, self.origin), op)(*inputs, **params)
        if len(self.nodes) > before:
            made.name = name
        return made

    # ------------------------------------------------------------------------------ nodes
    def visit(self, node: Node) -> None:
        self.origin = node.origin
        if node.op == "permute_dims" and self.try_cancel(node):
            return
        moved = self.rewritten_in_layout(node) if self.is_better_in_layout(node) else None
        if moved is None:
            self.append(self.rewritten(node))

    def try_cancel(self, node: Node) -> bool:
        """Cancel, merge or defer the permutation ``node``; return True on success."""
        (x,), (made,), axes = node.inputs, node.outputs, node.params["axes"]
        if x in self.permuted and axes == self.preferred.to(x.ndim):
            self.replace((made,), (self.permuted[x],))
            return True
        if x in self.moved:
            held = tuple(self.preferred.to(x.ndim).index(axis) for axis in axes)
            self.replace(
                (made,), (self.build("permute_dims", (self.permuted[x],), {"axes": held}, made.name),)
            )
            return True
        # The operand is in the preferred layout already. Its permutation is made only if something needs the
        # other one.
        if x.ndim > 2 and axes == self.preferred.back(x.ndim):
            self.permuted[made] = self.value(x)
            self.moved.add(made)
            self.written.add(made)
            return True
        return False

    def is_better_in_layout(self, node: Node) -> bool:
        if node.op in self.prefers and self.preferred.is_other(node):
            return True
        carriers = _carriers(node)
        wanted = any(value in self.wanted for value in node.outputs)
        if not any(
            (value in self.moved and value not in self.written) or (wanted and value in self.permuted)
            for value in carriers
        ):
            return False
        rank = max(value.ndim for value in carriers)
        if any(value.ndim != rank for value in carriers if value in self.moved):
            return False
        return wanted or all(
            value in self.permuted or _is_spread(value, self.preferred.to(rank)) for value in carriers
        )

    def rewritten_in_layout(self, node: Node) -> Node | None:
        """Append and return a copy of ``node`` in the preferred layout, or return None."""
        row, carriers = ROWS[node.op], _carriers(node)
        rank = max((value.ndim for value in carriers), default=0)
        result = row.moved(node.params, carriers[0].spec, self.preferred.to(rank)) if rank > 2 else None
        if result is None or result[0].get("layout", self.preferred.name) != self.preferred.name:
            return None
        params, out_order = result
        count = len(node.inputs) if row.carriers != "first" else 1
        inputs = tuple(
            self.operand(item, rank, row.carriers == "broadcast")
            if isinstance(item, Value) and place < count
            else self.mapped(item)
            for place, item in enumerate(node.inputs)
        )
        made = Node(
            node.op,
            inputs,
            self.mapped(params),
            node.origin,
            tuple(self.output(node, value, out_order) for value in node.outputs),
        )
        self.append(made)
        self.hold(node, made, out_order)
        return made

    def operand(self, value: Value, rank: int, is_broadcast: bool) -> Value:
        """Return ``value`` as an operand of an operation in the preferred layout on ``rank`` axes.

        Append the permutations and reshapes that this needs.
        """
        if value in self.permuted or not is_broadcast:
            return self.in_layout(value)
        plain = self.value(value)
        # `mapped` reads the sizes of arrays that exist in the preferred layout only from these arrays.
        padded = (1,) * (rank - plain.ndim) + self.mapped(plain.shape)
        if not _is_spread(plain, self.preferred.to(rank)):
            return self.build(
                "permute_dims",
                (self.build("reshape", (plain,), {"shape": padded}, value.name),),
                {"axes": self.preferred.to(rank)},
                value.name,
            )
        shape = (
            _without_leading_ones(tuple(padded[axis] for axis in self.preferred.to(rank)))
            if plain.ndim
            else ()
        )
        # Two reshapes in a row are one.
        maker = self.maker(plain)
        source = maker.inputs[0] if maker is not None and maker.op == "reshape" else plain
        return self.build("reshape", (source,), {"shape": shape}, value.name)

    def output(self, node: Node, value: Value, order: Order) -> Value:
        """Return a new value for ``value``, an output of ``node``, with its axes in ``order``."""
        dims = [value.shape[axis] for axis in order]
        own = [
            isinstance(dim, Size) and any(symbol.source in node.outputs for symbol in dim.symbols())
            for dim in dims
        ]
        known = [Unknown(hint_of(dim)) if is_own else self.mapped(dim) for dim, is_own in zip(dims, own)]
        result = Value(value.name, ArraySpec(tuple(known), value.dtype))
        shape = tuple(
            Size.of(Symbol(result, axis, dim.hint)) if isinstance(dim, Unknown) else dim
            for axis, dim in enumerate(result.spec.shape)
        )
        result.spec = ArraySpec(shape, value.dtype)
        return result

    def hold(self, node: Node, made: Node, order: Order) -> None:
        rank = len(order)
        for value, other in zip(node.outputs, made.outputs):
            if order == self.preferred.to(rank) and rank > 2:
                self.permuted[value] = other
                self.moved.add(value)
            else:
                back = tuple(order.index(axis) for axis in range(rank))
                self.replace((value,), (self.build("permute_dims", (other,), {"axes": back}, value.name),))


def _without_leading_ones(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    first = next(
        (place for place, dim in enumerate(shape) if not (isinstance(dim, int) and dim == 1)), len(shape) - 1
    )
    return shape[first:]


def _is_spread(value: Value, order: Order) -> bool:
    padded = (1,) * (len(order) - value.ndim) + value.shape
    places = [axis for axis in order if not (isinstance(padded[axis], int) and padded[axis] == 1)]
    return places == sorted(places)


def _use_channels_last_kernels(block: Block) -> Block:
    rewriter = Rewriter(block)
    kernels = {node.outputs[0]: node.inputs[0] for node in block.nodes if _permutes(node)}
    for node in block.nodes:
        kernel = (
            kernels.get(node.inputs[1])
            if node.op == "conv" and node.params["layout"] == CHANNELS_LAST
            else None
        )
        node = rewriter.rewritten(node)
        if kernel is None:
            rewriter.append(node)
        else:
            made = _convolved(Builder.into(rewriter, node.origin), node, rewriter.mapped(kernel))
            rewriter.replace(node.outputs, (made,))
    return rewriter.finish()


kernel_layout = Pass("kernel_layout", _use_channels_last_kernels, "deep", ("conv",))
"""Pass that replaces a channels-last ``conv`` by ``conv_channels_last`` if its weight is a permuted one.

The permutation is that of :func:`weight_to_first`.
"""


def _permutes(node: Node) -> bool:
    return node.op == "permute_dims" and tuple(node.params["axes"]) == weight_to_first(
        len(node.params["axes"])
    )


def _convolved(build: Builder, node: Node, kernel: Value) -> Value:
    x, _, *bias = node.inputs
    params = {name: value for name, value in node.params.items() if name != "layout"}
    made: Value = build.conv_channels_last(x, kernel, *bias, **params)
    made.name = node.outputs[0].name
    return made


def _use_products(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        if _is_pointwise(node):
            rewriter.replace(node.outputs, (_product(Builder.into(rewriter, node.origin), node),))
        else:
            rewriter.append(node)
    return rewriter.finish()


conv1x1_to_linear = Pass("conv1x1_to_linear", _use_products, "deep", ("conv", "conv_channels_last"))
"""Pass that turns channels-last convolutions with a kernel of one element into ``linear`` or ``matmul``.

Their weights then need no other layout. Convolutions with groups or padding stay.
"""


def _is_pointwise(node: Node) -> bool:
    is_last = node.op == "conv_channels_last" or (
        node.op == "conv" and node.params["layout"] == CHANNELS_LAST
    )
    if not is_last or node.params["groups"] != 1:
        return False
    weight = node.inputs[1].shape
    kernel = weight[2:] if node.op == "conv" else weight[:-2]
    sizes = (*kernel, *(amount + 1 for pair in node.params["padding"] for amount in pair))
    return all(isinstance(size, int) and size == 1 for size in sizes)


def _product(build: Builder, node: Node) -> Value:
    x, weight, *bias = node.inputs
    steps = tuple((None, None, step) for step in node.params["strides"])
    array = build.getitem(x, key=(FULL_SLICE, *steps, FULL_SLICE))
    matrix = build.reshape(weight, shape=weight.shape[:2] if node.op == "conv" else weight.shape[-2:])
    matrix.name = "weight"
    made: Value = build.linear(array, matrix, *bias) if node.op == "conv" else build.matmul(array, matrix)
    made = build.add(made, *bias) if bias and node.op != "conv" else made
    made.name = node.outputs[0].name
    return made
