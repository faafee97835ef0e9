"""Convert arrays of signals, images and volumes to the channels-last layout for targets that prefer it.

Operations that a target prefers in this layout get arrays with the channels last. Operations that follow
them run in the same layout if they can (:mod:`graph_compiler.ops.axes`), so that permutations remain only
where such arrays enter and leave. Permutations that the user wrote for channels-last layers cancel with
these. Parameters keep their shapes.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import Graph
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter
from ...ops.axes import FULL_SLICE, ROWS, Order
from ...ops.convolution import CHANNELS_LAST, to_first, to_last, weight_to_first
from ...ops.registry import ArraySpec, Unknown
from ...sizes import Size, Symbol, hint_of
from ..driver import Pass


def layout(graph: Graph, prefers: Container[str]) -> tuple[Graph, bool]:
    """Return the graph with the operations in ``prefers`` computed with the channels last, if they can be.

    Operations between them are, too, if that costs no further permutation. Inputs and outputs of the graph
    and of regions keep the channels first.
    """
    return Pass("layout", lambda block: _with_layout(block, prefers), "deep", prefers)(graph)


def changes_layout(block: Block, prefers: Container[str]) -> bool:
    """Return True if ``block``, once inlined, may take or return arrays in the channels-last layout."""
    if not any(node.op in prefers for node in block.nodes):
        return False
    mover = _LayoutRewriter(block, prefers, _wanted_last(block, prefers))
    for node in block.nodes:
        mover.visit(node)
    comes_in = any(value.ndim > 2 and value in mover.wanted for value in block.inputs)
    return comes_in or not mover.moved.isdisjoint(values_in(block.outputs))


def _with_layout(block: Block, prefers: Container[str]) -> Block:
    mover = _LayoutRewriter(block, prefers, _wanted_last(block, prefers))
    for node in block.nodes:
        mover.visit(node)
    return mover.finish()


def _carriers(node: Node) -> list[Value]:
    row = ROWS.get(node.op)
    inputs = node.inputs if row and row.carriers != "first" else node.inputs[:1]
    return [item for item in inputs if isinstance(item, Value)] if row else []


def _wanted_last(block: Block, prefers: Container[str]) -> set[Value]:
    """Return the values that are needed with the channels last.

    These are the first operands of operations in ``prefers`` and of permutations to this layout that the
    user wrote, and values from which such an operand is computed without a permutation.
    """
    wanted: set[Value] = set()
    for node in reversed(block.nodes):
        permutes = node.op == "permute_dims" and node.params["axes"] == to_last(len(node.params["axes"]))
        if node.op in prefers or permutes:
            wanted.add(node.inputs[0])
        elif any(value in wanted for value in node.outputs):
            wanted.update(_carriers(node))
    return wanted


class _LayoutRewriter(Rewriter):
    """Rewriter that computes nodes with the channels last.

    wanted: values that are needed with the channels last.
    last: channels-last versions of values.
    moved: values of which only the channels-last version exists in the new block.
    written: values for which the user wrote the permutation to channels first.
    """

    def __init__(self, block: Block, prefers: Container[str], wanted: set[Value]) -> None:
        super().__init__(block)
        self.prefers, self.wanted = prefers, wanted
        self.last: dict[Value, Value] = {}
        self.moved: set[Value] = set()
        self.written: set[Value] = set()
        self.scratch = Graph("scratch", "canonical")
        self.scratch.nodes = self.nodes
        self.origin = Builder(self.scratch).origin

    # ------------------------------------------------------------------------------ values
    def is_replaced(self, value: Value) -> bool:
        return value in self.moved or super().is_replaced(value)

    def value(self, value: Value) -> Value:
        """Return the new value. If only its channels-last version exists, append a permutation of that."""
        if value in self.moved:
            made = self.build("permute_dims", (self.last[value],), {"axes": to_first(value.ndim)}, value.name)
            self.moved.discard(value)
            self.replace((value,), (made,))
        return super().value(value)

    def dimension(self, value: Value, axis: int) -> Any:
        if value in self.moved:
            return self.last[value].shape[to_last(value.ndim).index(axis)]
        return super().dimension(value, axis)

    def channels_last(self, value: Value) -> Value:
        if value not in self.last:
            self.last[value] = self.build(
                "permute_dims",
                (self.value(value),),
                {"axes": to_last(value.ndim)},
                f"{value.name}_channels_last",
            )
        return self.last[value]

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
        moved = self.rewritten_last(node) if self.is_better_last(node) else None
        if moved is None:
            self.append(self.rewritten(node))

    def try_cancel(self, node: Node) -> bool:
        """Try to avoid the permutation ``node``, and return True if that succeeds.

        Its result is then replaced by an existing array or by one permutation of the channels-last version
        of its operand, or is made only when something needs it.
        """
        (x,), (made,), axes = node.inputs, node.outputs, node.params["axes"]
        if x in self.last and axes == to_last(x.ndim):
            self.replace((made,), (self.last[x],))
            return True
        if x in self.moved:
            held = tuple(to_last(x.ndim).index(axis) for axis in axes)
            self.replace((made,), (self.build("permute_dims", (self.last[x],), {"axes": held}, made.name),))
            return True
        # The array was channels-last already. Its permutation is made only if something needs the channels
        # first.
        if x.ndim > 2 and axes == to_first(x.ndim):
            self.last[made] = self.value(x)
            self.moved.add(made)
            self.written.add(made)
            return True
        return False

    def is_better_last(self, node: Node) -> bool:
        """Return True if ``node`` should be computed with the channels last.

        The target prefers it, or ``node`` has an operand with the channels last and needs no permutation, or
        only one that is needed anyway.
        """
        if node.op in self.prefers:
            return True
        carriers = _carriers(node)
        wanted = any(value in self.wanted for value in node.outputs)
        if not any(
            (value in self.moved and value not in self.written) or (wanted and value in self.last)
            for value in carriers
        ):
            return False
        rank = max(value.ndim for value in carriers)
        if any(value.ndim != rank for value in carriers if value in self.moved):
            return False
        return wanted or all(value in self.last or _is_spread(value, rank) for value in carriers)

    def rewritten_last(self, node: Node) -> Node | None:
        """Append ``node`` with the channels last, register its outputs, and return it.

        Return None if ``node`` has no such form.
        """
        row, carriers = ROWS[node.op], _carriers(node)
        rank = max((value.ndim for value in carriers), default=0)
        result = row.moved(node.params, carriers[0].spec, to_last(rank)) if rank > 2 else None
        if result is None:
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
        """Return ``value`` as an operand of an operation on channels-last arrays of ``rank`` axes.

        Unless ``is_broadcast``, it has ``rank`` axes and gets that layout. Otherwise it may have fewer
        axes: if it has no version in that layout, it is reshaped, and permuted only if reshaping is not
        enough.
        """
        if value in self.last or not is_broadcast:
            return self.channels_last(value)
        plain = self.value(value)
        # `mapped` reads the sizes of arrays that exist with the channels last only from these arrays.
        padded = (1,) * (rank - plain.ndim) + self.mapped(plain.shape)
        if not _is_spread(plain, rank):
            return self.build(
                "permute_dims",
                (self.build("reshape", (plain,), {"shape": padded}, value.name),),
                {"axes": to_last(rank)},
                value.name,
            )
        shape = _without_leading_ones(tuple(padded[axis] for axis in to_last(rank))) if plain.ndim else ()
        # Two reshapes in a row are one.
        maker = self.maker(plain)
        source = maker.inputs[0] if maker is not None and maker.op == "reshape" else plain
        return self.build("reshape", (source,), {"shape": shape}, value.name)

    def output(self, node: Node, value: Value, order: Order) -> Value:
        """Return a new value for ``value`` with its axes in ``order``.

        Sizes that ``value`` itself defines become sizes of the new value.
        """
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
            if order == to_last(rank) and rank > 2:
                self.last[value] = other
                self.moved.add(value)
            else:
                back = tuple(order.index(axis) for axis in range(rank))
                self.replace((value,), (self.build("permute_dims", (other,), {"axes": back}, value.name),))


def _without_leading_ones(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    first = next(
        (place for place, dim in enumerate(shape) if not (isinstance(dim, int) and dim == 1)), len(shape) - 1
    )
    return shape[first:]


def _is_spread(value: Value, rank: int) -> bool:
    padded = (1,) * (rank - value.ndim) + value.shape
    places = [axis for axis in to_last(rank) if not (isinstance(padded[axis], int) and padded[axis] == 1)]
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
"""Pass that uses ``conv_channels_last`` if the weight of a convolution is permuted from that layout."""


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
"""Pass that turns convolutions with a kernel of one element into ``linear`` or ``matmul``.

Their weights then need no other layout.
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
