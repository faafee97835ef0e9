"""Turn calls of one function, one per layer, into a ``scan``, so that a target compiles one layer.

Values that one layer passes to the next become the carry, weights that differ are stacked into sequences, and
operands that are the same in all layers are captured. Operands may also repeat with a fixed period, such as
the masks of alternating windowed layers, or be the index of the layer. :func:`scanned_layers` makes the pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import is_
from typing import Any

from ...ir.builder import Body, Builder, close
from ...ir.graph import Graph
from ...ir.node import Node, Value
from ...ir.rewrite import inline
from ...ops.registry import ArraySpec
from ..driver import GraphPass

_MOST_TURNS = 8
"""Largest period of operands that repeat. All arrays of a period are stacked, which takes memory."""


def scanned_layers(fewest: int) -> GraphPass:
    """Return a pass that replaces at least ``fewest`` calls of one function by a ``scan``, if possible.

    Calls in regions and checkpointed calls remain.
    """

    def run(graph: Graph) -> tuple[Graph, bool]:
        calls: dict[int, list[Node]] = {}
        for node in graph.nodes:
            if node.op == "call" and not node.params["checkpoint"]:
                calls.setdefault(id(node.regions[0].block), []).append(node)
        made = graph
        for nodes in calls.values():
            loop = _LayerLoop.of(made, nodes) if len(nodes) >= fewest else None
            made = made if loop is None else made.derive(nodes=loop.nodes(made))
        return made, made is not graph

    return run


@dataclass(frozen=True)
class _LayerLoop:
    """Calls of one function, and how their operands map to a ``scan``.

    Operands and results are given by their index in a call.

    layers: the calls, in order.
    carried: pairs of an operand and the result that becomes this operand of the next layer.
    stacked: operands that are parameters of the graph and differ between the layers.
    chosen: operands that repeat with a fixed period.
    counted: operands that are the index of the layer.
    """

    layers: Sequence[Node]
    carried: Sequence[tuple[int, int]]
    stacked: Sequence[int]
    chosen: Sequence[int]
    counted: Sequence[int]

    @classmethod
    def of(cls, graph: Graph, layers: Sequence[Node]) -> _LayerLoop | None:
        """Return the loop that replaces the calls ``layers``, which are in program order, or None."""
        weights = set(graph.parameters.values())
        # One body cannot have two sizes for the same symbol.
        if any(layer.regions[0].sizes != layers[0].regions[0].sizes for layer in layers):
            return None
        carried: list[tuple[int, int]] = []
        stacked, chosen, counted = [], [], []
        for place, operands in enumerate(zip(*(layer.inputs for layer in layers))):
            following = {_index(before.outputs, operand) for before, operand in zip(layers, operands[1:])}
            # An operand that is the same in all layers is captured.
            if all(operand is operands[0] for operand in operands):
                continue
            if len(following) == 1 and None not in following:
                carried.append((place, following.pop() or 0))
            elif weights.issuperset(operands):
                stacked.append(place)
            # All arrays of a period are stacked before the loop, so they have to exist there.
            elif _turns(operands) and _are_before(graph, layers[0], operands):
                chosen.append(place)
            elif [_number(graph, operand) for operand in operands] == [*range(len(layers))]:
                counted.append(place)
            else:
                return None
        return cls(layers, carried, stacked, chosen, counted) if carried and stacked else None

    # ------------------------------------------------------------------------------ rewriting
    def nodes(self, graph: Graph) -> list[Node]:
        """Return the nodes of the graph with the loop instead of the calls."""
        own, first = set(self.layers), graph.nodes.index(self.layers[0])
        end = graph.nodes.index(self.layers[-1]) + 1
        made = {value for layer in self.layers for value in layer.outputs}
        before: list[Node] = []
        after: list[Node] = []
        for node in graph.nodes[first:end]:
            if node in own:
                continue
            # A node that reads a layer, directly or not, must follow the loop.
            is_after = not made.isdisjoint(node.uses)
            made.update(node.outputs if is_after else ())
            (after if is_after else before).append(node)
        read = self._read(graph)
        loop = list(self._loop(read))
        # The loop itself may read an index, for example as the start of the carry.
        read.update(value for node in loop for value in node.uses)
        numbers = {layer.inputs[place] for layer in self.layers for place in self.counted} - read
        left = (node for node in (*graph.nodes[:first], *before) if not numbers.issuperset(node.outputs))
        return [*left, *loop, *after, *graph.nodes[end:]]

    def _read(self, graph: Graph) -> set[Value]:
        own = set(self.layers)
        return {value for node in graph.nodes if node not in own for value in node.uses}.union(graph.roots())

    def _loop(self, read: set[Value]) -> Iterator[Node]:
        last, block = self.layers[-1], self.layers[0].regions[0].block
        origin = replace(last.origin, module=self._module())
        finals = self._finals()
        known = set(finals)
        kept = [
            place
            for place, column in enumerate(zip(*(layer.outputs for layer in self.layers)))
            if read.intersection(column) - known
        ]
        scratch = Graph("scratch", "canonical")
        build = Builder(scratch, origin)
        rows = [
            build.stack(*(layer.inputs[place] for layer in self.layers), axis=0) for place in self.stacked
        ]
        for row, place in zip(rows, self.stacked):
            row.name = block.inputs[place].name
        turns, choices = self._choices(build)
        numbers = [build.arange(start=0, stop=len(self.layers), step=1, dtype="int32") for _ in self.counted]
        yield from scratch.nodes
        outputs = [
            Value(last.outputs[place].name, _rows_of(last.outputs[place], len(self.layers))) for place in kept
        ]
        starts = [self.layers[0].inputs[place] for place, _ in self.carried]
        sequences = (*rows, *numbers, *turns)
        params = {
            "carried": len(starts),
            "sequences": len(sequences),
            "length": len(self.layers),
            "reverse": False,
            "checkpoint": False,
        }
        regions, captured = close(self._body(kept, turns, choices))
        yield Node(
            "scan", (*starts, *sequences, *captured), params, origin, (*finals, *outputs), regions=regions
        )
        for place, stack in zip(kept, outputs):
            for number, layer in enumerate(self.layers):
                if (value := layer.outputs[place]) in read and value not in known:
                    key = (number, *((None, None, 1),) * value.ndim)
                    yield Node("getitem", (stack,), {"key": key}, layer.origin, (value,))

    def _choices(self, build: Builder) -> tuple[list[Value], list[Value]]:
        operands = [[layer.inputs[place] for layer in self.layers] for place in self.chosen]
        count = build.arange(start=0, stop=len(self.layers), step=1, dtype="int32") if operands else None
        # Operands of the same period share one sequence of indices.
        turns = [build.remainder(count, each) for each in dict.fromkeys(map(_turns, operands))]
        return turns, [build.stack(*each[: _turns(each)], axis=0) for each in operands]

    def _module(self) -> str:
        paths = zip(*(layer.origin.module.split(".") for layer in self.layers))
        return ".".join(parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, paths))

    def _finals(self) -> list[Value]:
        found: list[Value] = []
        for _, result in self.carried:
            value = self.layers[-1].outputs[result]
            found.append(Value(value.name, value.spec) if value in found else value)
        return found

    def _body(self, kept: Sequence[int], turns: Sequence[Value], choices: Sequence[Value]) -> Body:
        """Return one layer as a scan body.

        kept: indices of the results that the scan stacks.
        choices: arrays of operands that repeat with a fixed period.
        turns: indices of rows of these arrays, one sequence for each period.
        """
        first, nodes = self.layers[0], list[Node]()
        region = first.regions[0]
        own = {
            place: Value(region.block.inputs[place].name, first.inputs[place].spec) for place in self._given()
        }
        now = [Value("turn", ArraySpec((), "int32")) for _ in turns]
        numbers = dict(zip(dict.fromkeys(stack.shape[0] for stack in choices), now))
        inputs = (*own.values(), *now)
        for stack, place in zip(choices, self.chosen):
            own[place] = Value(region.block.inputs[place].name, first.inputs[place].spec)
            nodes.append(
                Node("take", (stack, numbers[stack.shape[0]]), {"axis": 0}, first.origin, (own[place],))
            )
        made = inline(
            region, [own.get(place, operand) for place, operand in enumerate(first.inputs)], nodes.append
        )
        return Body(
            region.name,
            inputs,
            nodes,
            [made[place] for place in (*(result for _, result in self.carried), *kept)],
        )

    def _given(self) -> Iterator[int]:
        yield from (place for place, _ in self.carried)
        yield from (*self.stacked, *self.counted)


def _index(values: Sequence[Value], item: Any) -> int | None:
    return next((place for place, value in enumerate(values) if value is item), None)


def _turns(operands: Sequence[Any]) -> int:
    """Return the smallest period of ``operands`` from 2 on; 0 if none is found or they cannot be stacked."""
    fits = (
        turns
        for turns in range(2, min(_MOST_TURNS, len(operands) - 1) + 1)
        if all(map(is_, operands, operands[turns:]))
    )
    # Only arrays of one shape and dtype can be stacked.
    is_alike = all(isinstance(each, Value) and each.spec == operands[0].spec for each in operands)
    return next(fits, 0) if is_alike else 0


def _number(graph: Graph, operand: Any) -> Any:
    made = graph.maker(operand) if isinstance(operand, Value) and not operand.ndim else None
    return (
        made.params["fill_value"]
        if made is not None and made.op == "full" and operand.dtype == "int32"
        else None
    )


def _are_before(graph: Graph, layer: Node, values: Sequence[Value]) -> bool:
    return {value for node in graph.nodes[graph.nodes.index(layer) :] for value in node.outputs}.isdisjoint(
        values
    )


def _rows_of(value: Value, count: int) -> ArraySpec:
    return ArraySpec((count, *value.shape), value.dtype)
