"""The steps of a loop that are left while it is recorded, as a program of their own: once the recorded ones have been found equal, what
the others do is known, and they need not be recorded one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..ir.graph import Graph
from ..ir.node import Node, Value
from ..ir.record import CallRecord
from ..ir.recorded_loop import RecordedLoop
from ..sizes import Size, hint_of
from ..trees import Tree, flatten
from .fold_loops import folded_so_far


class Rest(NamedTuple):
    """A ``program`` of the recorded values ``given``, of which it writes to the first ``written`` ones.

    ``made`` are the values that variables hold, which are afterwards what it returns behind those. ``numbers`` tells those of the given
    values that are numbers of Python.
    """

    program: Graph
    given: tuple[Value, ...]
    written: int
    made: tuple[Value, ...]
    numbers: Mapping[Value, Any]


def rest_of_loop(graph: Graph, loop: RecordedLoop, done: int) -> Rest | None:
    """What is left of a ``for`` after ``done`` steps, before each of which there is a mark, and one behind; None where its steps are not
    equal, or change what the recording has not made in them."""
    if (nodes := folded_so_far(graph, loop)) is None or nodes[-1].op != "scan":
        return None
    scan, inside = nodes[-1], set(graph.nodes[loop.marks[0].position :])
    made = {value for node in inside for value in node.outputs}
    written, carried = len(scan.writes), scan.params["carried"]
    if not made.issuperset(scan.outputs[written:]):
        return None
    given = (*scan.writes, *scan.outputs[written:], *scan.inputs[carried + scan.params["sequences"] :])
    program = Graph("steps", graph.dialect)
    program.inputs += [Value(value.name, value.spec) for value in given]
    left = loop.numbers()[done:]
    counters = [_counter(node, left) for node in nodes[:-1] if node.outputs == scan.inputs[carried : carried + 1]]
    program.nodes += [*counters, _loop(scan, program.inputs, counters, len(left))]
    program.outputs += program.nodes[-1].outputs
    program.input_tree, program.output_tree = map(_tree, (program.inputs, program.outputs))
    return Rest(program, given, written, scan.outputs[written:], _numbers(scan))


def _tree(values: Sequence[Any]) -> Tree:
    return flatten(tuple(values), lambda item: isinstance(item, Value))[1]


def _counter(node: Node, left: range) -> Node:
    value = Value(node.outputs[0].name, node.outputs[0].spec)
    return Node(node.op, (left.start, left.stop, left.step), {}, node.origin, (value,), CallRecord("arange", result=value))


def _loop(scan: Node, given: list[Value], counters: list[Node], left: int) -> Node:
    carried = scan.params["carried"]
    outputs = tuple(Value(value.name, value.spec) for value in scan.outputs)
    regions = tuple(replace(region, sizes={symbol: hint_of(size) for symbol, size in region.sizes.items()}) for region in scan.regions)
    inputs = (*given[:carried], *(node.outputs[0] for node in counters), *given[carried:])
    record = CallRecord(scan.op, result=outputs, writes=tuple(given[: len(scan.writes)]))
    return Node(scan.op, inputs, {**scan.params, "length": left}, scan.origin, outputs, record, regions)


def _numbers(scan: Node) -> dict[Value, Any]:
    sizes = (size for region in scan.regions for size in region.sizes.values() if isinstance(size, Size))
    return {symbol.source: symbol.hint for size in sizes for symbol in size.symbols() if symbol.kind == "item"}
