"""Gives convolutions with the channels last the weight ``[*kernel, in, out]`` that was permuted for them.

Layers of TensorFlow and flax hold their weights so; a target that convolves with the channels last takes them as they are.
"""

from __future__ import annotations

from ..ir.block import Block
from ..ir.builder import Builder
from ..ir.node import Node, Value
from ..ir.rewrite import Rewriter
from ..ops.layouts import CHANNELS_LAST, weight_to_first
from .driver import Pass


def _unpermuted(block: Block) -> Block:
    rewriter = Rewriter(block)
    kernels = {node.outputs[0]: node.inputs[0] for node in block.nodes if _permutes(node)}
    for node in block.nodes:
        kernel = kernels.get(node.inputs[1]) if node.op == "conv" and node.params["layout"] == CHANNELS_LAST else None
        node = rewriter.rewritten(node)
        if kernel is None:
            rewriter.append(node)
        else:
            made = _convolved(Builder.into(rewriter, node.origin), node, rewriter.mapped(kernel))
            rewriter.replace(node.outputs, (made,))
    return rewriter.finish()


kernel_layout = Pass("kernel_layout", _unpermuted, "deep", ("conv",))
"""The graph with ``conv_channels_last`` for each convolution whose weight is such a permutation."""


def _permutes(node: Node) -> bool:
    return node.op == "permute_dims" and tuple(node.params["axes"]) == weight_to_first(len(node.params["axes"]))


def _convolved(build: Builder, node: Node, kernel: Value) -> Value:
    x, _, *bias = node.inputs
    params = {name: value for name, value in node.params.items() if name != "layout"}
    made: Value = build.conv_channels_last(x, kernel, *bias, **params)
    made.name = node.outputs[0].name
    return made
