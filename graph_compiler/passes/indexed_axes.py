"""Axes that steps and branches index have the places that are read, for targets that compile what is never taken.

``while i < n: s += x[i]`` takes no step where ``x`` is empty, and ``for i in range(n - k + 1): x[i:i + k]`` none where it is shorter than
``k``. JAX has no form for ``x[i]`` of an array without elements. So what a region reads at computed places gets zeros behind it, as many as
are missing, which are none in all other calls.

For functions of frameworks that refuse such places: the check that their graphs carry fails where one of the zeros is read.
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
from ..ops.bounds import nonnegative
from ..sizes import apply
from .driver import only_with

Outward = Callable[[Any], Any]  # a size of a block in those of the outermost one


# operation -> the axes of its first operand of which it reads a part, and of how many places
_READS: dict[str, Callable[[Node], dict[int, Any]]] = {
    "take": lambda node: {} if node.inputs[1].ndim else {node.params["axis"]: 1},
    "gather_nd": lambda node: {} if any(index.ndim for index in node.inputs[1:]) else dict.fromkeys(node.params["axes"], 1),
    "dynamic_slice": lambda node: dict(zip(node.params["axes"], node.params["sizes"])),
}


@only_with(*_READS)
def indexed_axes(graph: Graph) -> tuple[Graph, bool]:
    """The graph whose regions can be compiled where the axes that they index are empty."""
    block = graph.block
    made = _with_regions(block, lambda size: size)
    return (graph, False) if made is block else (graph.with_block(made), True)


def _with_regions(block: Block, outward: Outward) -> Block:
    nodes = tuple(_inside(node, outward) if node.regions else node for node in block.nodes)
    return block if all(new is old for new, old in zip(nodes, block.nodes)) else Block(block.inputs, nodes, block.outputs)


def _inside(node: Node, outward: Outward) -> Node:
    regions = tuple(_region(region, lambda size, region=region: outward(region.outward(size))) for region in node.regions)  # type: ignore[misc]
    return node if all(new is old for new, old in zip(regions, node.regions)) else replace(node, regions=regions)


def _region(region: Region, outward: Outward) -> Region:
    block = _with_regions(region.block, outward)
    missing = {node: found for node in block.nodes if node.op in _READS and (found := _missing(node, outward))}
    if missing:
        block = _filled(block, missing)
    return region if block is region.block else replace(region, block=block)


def _missing(node: Node, outward: Outward) -> dict[int, Any]:
    """How many places may be missing in an axis."""
    shape = node.inputs[0].shape
    found = {axis: wanted - shape[axis] for axis, wanted in _READS[node.op](node).items()}
    return {axis: apply("max", size, 0) for axis, size in found.items() if not nonnegative(outward(-size))}


def _filled(block: Block, missing: dict[Node, dict[int, Any]]) -> Block:
    rewriter = Rewriter(block)
    for node in block.nodes:
        made = rewriter.rewritten(node)
        if node not in missing:
            rewriter.append(made)
            continue
        found = _on_filled(Builder.into(rewriter, node.origin), made, missing[node])
        found.name = node.outputs[0].name
        rewriter.replace(node.outputs, (found,))
    return rewriter.finish()


def _on_filled(build: Builder, node: Node, missing: dict[int, Any]) -> Value:
    x, *others = node.inputs
    padding = tuple((0, missing.get(axis, 0)) for axis in range(x.ndim))
    found: Value = getattr(build, node.op)(build.pad(x, padding=padding, mode="constant", value=0), *others, **node.params)
    return found
