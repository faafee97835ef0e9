"""Calls of one function in a row become a loop over its weights: a target's compiler then compiles one layer, however many there are.

What a layer hands to the next is carried, weights that differ from layer to layer are stacked and taken row by row, and what is the same in
all layers is captured. Where something else differs, the calls stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ..ir.block import Block, Region
from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.node import Node, Value
from ..ops.registry import ArraySpec
from .driver import GraphPass


def scanned_layers(fewest: int) -> GraphPass:
    """The pass that makes a canonical ``scan`` of at least ``fewest`` calls of one function on the weights of the graph."""

    def run(graph: Graph) -> tuple[Graph, bool]:
        calls: dict[int, list[Node]] = {}
        for node in graph.nodes:
            if node.op == "call" and not node.params["checkpoint"]:
                calls.setdefault(id(node.regions[0].block), []).append(node)
        made = graph
        for nodes in calls.values():
            loop = _Loop.of(made, nodes) if len(nodes) >= fewest else None
            made = made if loop is None else made.derive(nodes=loop.nodes(made))
        return made, made is not graph

    return run


@dataclass(frozen=True)
class _Loop:
    """Layers as a loop. ``carried`` are pairs of an operand and the result that is this operand of the next layer; ``stacked`` and
    ``captured`` are the places of other operands."""

    layers: Sequence[Node]
    carried: Sequence[tuple[int, int]]
    stacked: Sequence[int]
    captured: Sequence[int]

    @classmethod
    def of(cls, graph: Graph, layers: Sequence[Node]) -> _Loop | None:
        """The loop; None where the layers differ in something else than their weights."""
        weights = set(graph.parameters.values())
        if any(layer.regions[0].sizes != layers[0].regions[0].sizes for layer in layers):
            return None
        carried: list[tuple[int, int]] = []
        stacked, captured = [], []
        for place, operands in enumerate(zip(*(layer.inputs for layer in layers))):
            following = {_index(before.outputs, operand) for before, operand in zip(layers, operands[1:])}
            if all(operand is operands[0] for operand in operands):
                captured.append(place)
            elif len(following) == 1 and None not in following:
                carried.append((place, following.pop() or 0))
            elif weights.issuperset(operands):
                stacked.append(place)
            else:
                return None
        return cls(layers, carried, stacked, captured) if carried and stacked else None

    # ------------------------------------------------------------------------------ the block
    def nodes(self, graph: Graph) -> list[Node]:
        """The nodes with the loop in the place of the last layer: what the layers do not make before it, what reads them behind it."""
        own, first = set(self.layers), graph.nodes.index(self.layers[0])
        end = graph.nodes.index(self.layers[-1]) + 1
        made = {value for layer in self.layers for value in layer.outputs}
        before: list[Node] = []
        after: list[Node] = []
        for node in graph.nodes[first:end]:
            if node in own:
                continue
            is_after = not made.isdisjoint(node.uses)
            made.update(node.outputs if is_after else ())
            (after if is_after else before).append(node)
        return [*graph.nodes[:first], *before, *self._loop(self._read(graph)), *after, *graph.nodes[end:]]

    def _read(self, graph: Graph) -> set[Value]:
        """What is read outside of the layers."""
        own = set(self.layers)
        return {value for node in graph.nodes if node not in own for value in node.uses}.union(graph.roots())

    def _loop(self, read: set[Value]) -> Iterator[Node]:
        last, block = self.layers[-1], self.layers[0].regions[0].block
        origin = replace(last.origin, module=self._module())
        finals = self._finals()
        known = set(finals)
        kept = [place for place, column in enumerate(zip(*(layer.outputs for layer in self.layers))) if read.intersection(column) - known]
        scratch = Graph("scratch", "canonical")
        build = Builder(scratch, origin)
        rows = [build.stack(*(layer.inputs[place] for layer in self.layers), axis=0) for place in self.stacked]
        for row, place in zip(rows, self.stacked):
            row.name = block.inputs[place].name
        yield from scratch.nodes
        outputs = [Value(last.outputs[place].name, _rows_of(last.outputs[place], len(self.layers))) for place in kept]
        starts = [self.layers[0].inputs[place] for place, _ in self.carried]
        params = {"carried": len(starts), "sequences": len(rows), "length": len(self.layers), "reverse": False, "checkpoint": False}
        operands = (*starts, *rows, *(last.inputs[place] for place in self.captured))
        yield Node("scan", operands, params, origin, (*finals, *outputs), regions=(self._body(kept),))
        for place, stack in zip(kept, outputs):
            for number, layer in enumerate(self.layers):
                if (value := layer.outputs[place]) in read and value not in known:
                    key = (number, *((None, None, 1),) * value.ndim)
                    yield Node("getitem", (stack,), {"key": key}, layer.origin, (value,))

    def _module(self) -> str:
        """The path that all layers are in."""
        paths = zip(*(layer.origin.module.split(".") for layer in self.layers))
        return ".".join(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, paths))

    def _finals(self) -> list[Value]:
        """What is carried out of the last layer; a result that two operands carry is a value of its own in the second place."""
        found: list[Value] = []
        for _, result in self.carried:
            value = self.layers[-1].outputs[result]
            found.append(Value(value.name, value.spec) if value in found else value)
        return found

    def _body(self, kept: Sequence[int]) -> Region:
        """The region of the calls, its inputs and outputs in the order of a loop's."""
        (region, *_), block = self.layers[0].regions, self.layers[0].regions[0].block
        places = (*(place for place, _ in self.carried), *self.stacked, *self.captured)
        outputs = (*(block.outputs[result] for _, result in self.carried), *(block.outputs[place] for place in kept))
        return replace(region, block=Block(tuple(block.inputs[place] for place in places), block.nodes, outputs))


def _index(values: Sequence[Value], item: Any) -> int | None:
    return next((place for place, value in enumerate(values) if value is item), None)


def _rows_of(value: Value, count: int) -> ArraySpec:
    return ArraySpec((count, *value.shape), value.dtype)
