"""Mixed precision: compute matrix products, convolutions and attention in a half-precision dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.builder import Builder
from ...ir.graph import Graph
from ...ir.node import Block, Node, Value
from ...ir.rewrite import Rewriter
from ..cleanup.redundancy import cse
from ..driver import GraphPass, Pass

PRODUCTS = frozenset({
    "linear", "bilinear", "matmul", "grouped_matmul", "tensordot", "einsum", "conv", "conv_channels_last",
    "conv_transpose", "scaled_dot_product_attention",
})  # fmt: skip
"""Operations that are computed in half precision: matrix products, convolutions and attention.

Sums, exponentials, norms and losses stay in float32, as in ``torch.autocast``.
"""


def half_products(half: str) -> GraphPass:
    """Return a pass that computes float32 products in ``half`` and casts their results back to float32."""
    casting = Pass("half_products", lambda block: _cast(block, half), "deep")

    def run(graph: Graph) -> tuple[Graph, bool]:
        made, is_another = casting(graph)
        # Weights that several products read are cast once.
        return cse(made)[0] if is_another else made, is_another

    return run


def _cast(block: Block, half: str) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        # A product of another dtype may have a mask of float32.
        if node.op in PRODUCTS and node.outputs[0].dtype == "float32":
            rewriter.replace(node.outputs, (_in_half(Builder.into(rewriter, node.origin), node, half),))
        else:
            rewriter.append(node)
    return rewriter.finish()


def _in_half(build: Builder, node: Node, half: str) -> Value:
    inputs = [build.astype(item, dtype=half) if _is_single(item) else item for item in node.inputs]
    write: Callable[..., Any] = getattr(build, node.op)
    made: Value = build.astype(write(*inputs, **node.params), dtype="float32")
    made.name = node.outputs[0].name
    return made


def _is_single(item: Any) -> bool:
    return isinstance(item, Value) and item.dtype == "float32"
