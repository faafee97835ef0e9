"""Writes convolutions of single elements, with the channels last, as the matrix products that they are."""

from __future__ import annotations

from ..ir.block import Block
from ..ir.builder import Builder
from ..ir.node import Node, Value
from ..ir.rewrite import Rewriter
from ..ops.axes import WHOLE
from ..ops.layouts import CHANNELS_LAST
from .driver import Pass


def _products(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        node = rewriter.rewritten(node)
        if _is_pointwise(node):
            rewriter.replace(node.outputs, (_product(Builder.into(rewriter, node.origin), node),))
        else:
            rewriter.append(node)
    return rewriter.finish()


conv1x1_to_linear = Pass("conv1x1_to_linear", _products, "deep", ("conv", "conv_channels_last"))
"""The graph with ``linear`` or ``matmul`` for each convolution whose kernel is one element: the weight then needs no other layout."""


def _is_pointwise(node: Node) -> bool:
    is_last = node.op == "conv_channels_last" or (node.op == "conv" and node.params["layout"] == CHANNELS_LAST)
    if not is_last or node.params["groups"] != 1:
        return False
    weight = node.inputs[1].shape
    kernel = weight[2:] if node.op == "conv" else weight[:-2]
    sizes = (*kernel, *(amount + 1 for pair in node.params["padding"] for amount in pair))
    return all(isinstance(size, int) and size == 1 for size in sizes)


def _product(build: Builder, node: Node) -> Value:
    x, weight, *bias = node.inputs
    steps = tuple((None, None, step) for step in node.params["strides"])
    array = build.getitem(x, key=(WHOLE, *steps, WHOLE))
    matrix = build.reshape(weight, shape=weight.shape[:2] if node.op == "conv" else weight.shape[-2:])
    matrix.name = "weight"
    made: Value = build.linear(array, matrix, *bias) if node.op == "conv" else build.matmul(array, matrix)
    made = build.add(made, *bias) if bias and node.op != "conv" else made
    made.name = node.outputs[0].name
    return made
