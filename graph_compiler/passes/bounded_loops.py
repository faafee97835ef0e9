"""Loops whose length the step of an outer loop says, for targets whose loops count in arrays.

``for i in range(n): for j in range(i)`` takes as many steps each time as it takes at most; a step beyond the length is a branch that leaves
everything as it is. So all lengths are known, and gradients go through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..ir.block import Block, Region
from ..ir.builder import Builder
from ..ir.closing import Body, close
from ..ir.graph import Graph
from ..ir.inlining import inline
from ..ir.node import Node, Value
from ..ops.control import own_operands
from ..ops.registry import ArraySpec
from ..sizes import Apply, Size, Symbol
from ..sizes.extremes import greatest
from .driver import only_with

_NUMBER = ArraySpec((), "int64")
_OPENED = ("scan", "while_loop", "branch")
Ends = Mapping[Value, "tuple[Any, Any]"]


@only_with(*_OPENED)
def bounded_loops(graph: Graph) -> tuple[Graph, bool]:
    """The graph in which no number of a step says how many steps an inner loop has."""
    if not any(map(_is_open, graph.nodes)):
        return graph, False
    return graph.with_block(Block(graph.block.inputs, tuple(_Scope({}).nodes(graph.nodes)), graph.block.outputs)), True


def _is_open(node: Node) -> bool:
    """Whether a loop with a number of a step as its length stands in a node."""
    if node.op not in _OPENED or node.record is not None:
        return False
    inside = [inner for region in node.regions for inner in region.block.nodes]
    return any(_has_number(inner) or _is_open(inner) for inner in inside)


def _has_number(node: Node) -> bool:
    length = node.params.get("length") if node.op == "scan" else None
    return isinstance(length, Size) and any(symbol.kind == "item" for symbol in length.symbols())


class _Scope:
    """Nodes that stand in loops: all regions around them are opened, so that what they read are values of the outside. ``ends`` are the
    least and the greatest numbers of the steps of these loops."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    def nodes(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes after the pass."""
        makers = {value: node for node in nodes for value in node.outputs}
        made: list[Node] = []
        for node in nodes:
            counters = self._counters(node, makers)
            bound = self._bound(node) if all(counter is not None for counter in counters) else None
            if bound is not None:
                made += self._bounded(node, bound, [counter for counter in counters if counter is not None])
            else:
                made.append(self._opened(node, counters) if _is_open(node) else node)
        return made

    @staticmethod
    def _counters(node: Node, makers: Mapping[Value, Node]) -> list[Node | None]:
        """The ``arange`` behind each sequence of a loop."""
        if node.op != "scan":
            return []
        carried = node.params["carried"]
        found = map(makers.get, node.inputs[carried : carried + node.params["sequences"]])
        return [maker if maker is not None and maker.op == "arange" else None for maker in found]

    def _bound(self, node: Node) -> Any:
        """How many steps a loop has at most, where numbers of outer steps say how many; None elsewhere."""
        if not _has_number(node) or len(node.outputs) > node.params["carried"] or node.params["reverse"]:
            return None
        length = node.params["length"]
        return greatest(length, self._ends) if any(self._ends(symbol) for symbol in length.symbols()) else None

    def _ends(self, symbol: Symbol) -> tuple[Any, Any] | None:
        return self.ends.get(symbol.source)

    def _opened(self, node: Node, counters: Sequence[Node | None]) -> Node:
        """A node with the loops inside of it bounded."""
        first = int(node.op == "branch")
        own = first + own_operands(node.op, node.params)
        bodies = [self._body(node, region, first, own, counters) for region in node.regions]
        regions, captured = close(*bodies)
        return replace(node, inputs=(*node.inputs[:own], *captured), regions=regions)

    def _body(self, node: Node, region: Region, first: int, own: int, counters: Sequence[Node | None]) -> Body:
        carried = first + node.params.get("carried", 0)
        rows = [ArraySpec(item.shape[1:], item.dtype) for item in node.inputs[carried:own]]
        specs = [*(item.spec for item in node.inputs[first:carried]), *rows]
        inputs = [Value(value.name, spec) for value, spec in zip(region.block.inputs, specs)]
        nodes: list[Node] = []
        outputs = inline(region, [*inputs, *node.inputs[own:]], nodes.append)
        ends = {value: ends_of(counter) for value, counter in zip(inputs[carried - first :], counters) if counter is not None}
        return Body(region.name, inputs, _Scope({**self.ends, **ends}).nodes(nodes), outputs)

    def _bounded(self, node: Node, bound: Any, counters: Sequence[Node]) -> list[Node]:
        """A loop with as many steps as it has at most."""
        build, carried = Builder(Graph("scratch", "canonical"), node.origin), node.params["carried"]
        state = [Value(value.name, value.spec) for value in node.inputs[:carried]]
        number = Value("step", _NUMBER)
        step, still = _without_still(self._step(build, node, [*state], number, counters), {*state, number})
        build.graph.nodes.extend(still)
        with build.block() as nodes:
            held = build.less(number, not_cut_off(node.params["length"]))
            outputs = build.run("branch", [held], [Body("skipped", (), (), state), step])
        steps = build.arange(stop=bound, dtype=_NUMBER.dtype)
        options = {**node.params, "sequences": 1, "length": bound}
        build.run("scan", [*node.inputs[:carried], steps], [Body(node.regions[0].name, (*state, number), nodes, outputs)], **options)
        *before, loop = build.graph.nodes
        return [*before, replace(loop, outputs=node.outputs)]

    def _step(self, build: Builder, node: Node, state: list[Value], number: Value, counters: Sequence[Node]) -> Body:
        """One step of the loop as it was."""
        own = own_operands(node.op, node.params)
        with build.block() as nodes:
            numbers = [build.add(_times(build, number, each.params["step"]), each.params["start"]) for each in counters]
            for made, old in zip(numbers, node.regions[0].block.inputs[len(state) :]):
                made.name = old.name
            outputs = inline(node.regions[0], [*state, *numbers, *node.inputs[own:]], build.graph.nodes.append)
        inner = _Scope({**self.ends, **{value: ends_of(counter) for value, counter in zip(numbers, counters)}})
        return Body("step", (), inner.nodes(nodes), outputs)


def _without_still(step: Body, changing: set[Value]) -> tuple[Body, list[Node]]:
    """A step without the rows and elements of outer arrays that are the same in all steps, and these: no later pass takes them out of a
    branch."""
    nodes: list[Node] = []
    still: list[Node] = []
    for node in step.nodes:
        is_still = node.op == "getitem" and node.outputs[0].ndim < node.inputs[0].ndim and changing.isdisjoint(node.uses)
        (still if is_still else nodes).append(node)
        changing = changing if is_still else changing.union(node.outputs)
    return Body(step.name, step.inputs, nodes, step.outputs), still


def not_cut_off(length: Any) -> Any:
    """The length, less than 0 where there is no step at all."""
    alone = next(length.atoms(), None) if isinstance(length, Size) else None
    if isinstance(alone, Apply) and alone.function == "max" and length == Size.of(alone) and 0 in alone.arguments:
        return next(item for item in alone.arguments if item != 0)
    return length


def _times(build: Builder, number: Value, step: int) -> Any:
    return number if step == 1 else build.multiply(number, step)


def ends_of(counter: Node) -> tuple[Any, Any]:
    """The least and the greatest number of an ``arange``; more where it is uneven."""
    start, stop, step = (counter.params[name] for name in ("start", "stop", "step"))
    return (start, stop - 1) if step > 0 else (stop + 1, start)
