"""Move checks on array elements out of regions: boolean outputs of the regions become guards of the graph.

A frontend marks its assumptions about array elements in a body by checks
(:func:`graph_compiler.ir.graph.check`). Only values of the outermost block can be guarded, after the call
has run. So a region returns a boolean that is True if its checks held. The checks of branches that are not
taken and of loops without iterations count as held. Loops carry the conjunction of all iterations. A
``while_loop`` continues only while the conjunction is True, because iterations on other elements might never
end. :func:`move_checks_out` is the entry.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from ...errors import UnsupportedOperation
from ...ir.assumption import magnitude
from ...ir.graph import GUARD, Graph, Guard, guard_of, reads_elements
from ...ir.node import Block, Node, Origin, Region, Value
from ...ops.control import own_inputs
from ...ops.registry import ArraySpec, complete_params, get
from ...sizes import Size
from ..loops.range_checks import remove_certain_checks

_REGIONS, _OP = attrgetter("regions"), attrgetter("op")
TRUTH = ArraySpec((), "bool")
Make = Callable[[str, tuple[Any, ...], dict[str, Any], Origin], Node]
"""Function ``make(op, inputs, params, origin)`` that makes the node of an operation in some dialect."""


def canonical(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    declared = get(op)
    params = complete_params(declared, params)
    spec = declared.infer(*(item.spec if isinstance(item, Value) else item for item in inputs), **params)
    return Node(op, inputs, params, origin, (Value(op, spec),))


def move_checks_out(graph: Graph, make: Make = canonical) -> Graph:
    """Return the graph with guards instead of its checks on array elements, also in regions.

    In a canonical graph, checks that are proved to hold are dropped. ``make`` makes nodes in the dialect of
    the graph. The marks of ``graph.loops`` are updated in place if nodes move.
    """
    if not any(map(_REGIONS, graph.nodes)) and GUARD not in map(_OP, graph.nodes):
        return graph
    # Only checks of canonical operations can be proved.
    graph = remove_certain_checks(graph) if make is canonical else graph
    block, places = _CheckedBlock(make), [0]
    for node in graph.nodes:
        block.follow((node,))
        places.append(len(block.nodes))
    if not block.held:
        return graph
    # Marks of recorded loops are positions among the nodes, which have moved.
    for loop in graph.loops:
        loop.marks[:] = (mark.moved(places) for mark in loop.marks)
    guards = [Guard(value, True, origin) for origin, value in block.held.items()]
    return graph.derive(nodes=block.nodes, guards=[*graph.guards, *guards])


@dataclass(slots=True)
class _CheckedBlock:
    """Builder of a block without checks on elements.

    nodes: the nodes of the new block.
    held: for each origin of checks, a boolean value that is True if all its checks held.
    origin: origin of the nodes that are made.
    """

    make: Make
    nodes: list[Node] = field(default_factory=list)
    held: dict[Origin, Value] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin)

    def add(self, op: str, *inputs: Any, **params: Any) -> Value:
        node = self.make(op, inputs, params, self.origin)
        self.nodes.append(node)
        return node.outputs[0]

    def true(self) -> Value:
        return self.add("full", shape=(), fill_value=True, dtype="bool")

    def follow(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.origin = node.origin
            if (guard := guard_of(node)) is not None and reads_elements(guard):
                self._hold(guard.origin, holds(self.add, guard))
            elif node.regions:
                self._run(node)
            else:
                self.nodes.append(node)

    def _hold(self, origin: Origin, truth: Value) -> None:
        before = self.held.get(origin)
        self.held[origin] = truth if before is None else self.add("logical_and", before, truth)

    def _run(self, node: Node) -> None:
        inside = [self._inside(region) for region in node.regions]
        origins = tuple(dict.fromkeys(origin for block in inside for origin in block.held))
        if not origins:
            self.nodes.append(node)
        elif node.op == "while_loop" and inside[0].held:
            self.follow(_hoist_condition(node))
        else:
            self._with_outputs(node, inside, origins)

    def _inside(self, region: Region) -> _CheckedBlock:
        block = _CheckedBlock(self.make)
        block.follow(region.block.nodes)
        return block

    def _with_outputs(self, node: Node, inside: Sequence[_CheckedBlock], origins: Sequence[Origin]) -> None:
        """Append ``node`` with a further boolean for each of ``origins``, and note these in ``self.held``."""
        if node.op not in _RULES:
            raise UnsupportedOperation(
                f"a check of elements inside of {node.op} cannot leave it\n    {origins[0]}"
            )
        held = tuple(Value("held", TRUTH) for _ in origins)
        carried = node.params.get("carried", len(node.outputs))
        inputs, params = node.inputs, node.params
        if "carried" in params:
            inputs = (*inputs[:carried], *(self.true() for _ in origins), *inputs[carried:])
            params = {**params, "carried": carried + len(origins)}
        regions = tuple(
            _RULES[node.op](region, block, origins, carried) for region, block in zip(node.regions, inside)
        )
        outputs = (*node.outputs[:carried], *held, *node.outputs[carried:])
        record = node.record and replace(node.record, result=outputs)
        self.nodes.append(
            replace(node, inputs=inputs, params=params, regions=regions, outputs=outputs, record=record)
        )
        for origin, value in zip(origins, held):
            self._hold(origin, value)


# ---------------------------------------------------------------------------------------------------- regions
def _branch(region: Region, inside: _CheckedBlock, origins: Sequence[Origin], carried: int) -> Region:
    block = region.block
    held = [inside.held.get(origin) or inside.true() for origin in origins]
    return replace(region, block=Block(block.inputs, tuple(inside.nodes), (*block.outputs, *held)))


def _step(region: Region, inside: _CheckedBlock, origins: Sequence[Origin], carried: int) -> Region:
    """Return the body or condition of a loop with a further boolean in the carry for each of ``origins``.

    A condition is then True only if these booleans are, too.
    """
    block = region.block
    before = tuple(Value("held", TRUTH) for _ in origins)
    if region.name == "condition":
        outputs = (functools.reduce(functools.partial(inside.add, "logical_and"), (*block.outputs, *before)),)
    else:
        pairs = zip(before, map(inside.held.get, origins))
        held = [value if now is None else inside.add("logical_and", value, now) for value, now in pairs]
        outputs = (*block.outputs[:carried], *held, *block.outputs[carried:])
    return replace(
        region,
        block=Block(
            (*block.inputs[:carried], *before, *block.inputs[carried:]), tuple(inside.nodes), outputs
        ),
    )


_RULES: dict[str, Callable[..., Region]] = {
    "branch": _branch,
    "call": _branch,
    "scan": _step,
    "while_loop": _step,
}


def _hoist_condition(node: Node) -> list[Node]:
    """Return the nodes that replace a ``while_loop`` with checks in its condition: a ``call`` and a loop.

    The loop carries the truth value of the condition.
    """
    (condition, body), count = node.regions, own_inputs(node.op, node.params)
    first, goes_on, again = (Value("goes_on", TRUTH) for _ in range(3))
    before = Value("goes_on", TRUTH)
    inputs, captured = body.block.inputs[:count], body.block.inputs[count:]
    shapes = dict(zip(condition.block.inputs, body.block.inputs))
    inside = replace(
        condition, sizes={symbol: shapes[symbol.source].shape[symbol.axis] for symbol in condition.sizes}
    )
    step = Block(
        (*inputs, before, *captured),
        (*body.block.nodes, _call(node, (*body.block.outputs, *captured), inside, again)),
        (*body.block.outputs, again),
    )
    asked = Block((*condition.block.inputs[:count], goes_on, *condition.block.inputs[count:]), (), (goes_on,))
    outputs = (*node.outputs, Value("goes_on", TRUTH))
    loop = replace(
        node,
        inputs=(*node.inputs[:count], first, *node.inputs[count:]),
        params={**node.params, "carried": count + 1},
        regions=(replace(condition, block=asked), replace(body, block=step)),
        outputs=outputs,
        record=node.record and replace(node.record, result=outputs),
    )
    return [_call(node, node.inputs, condition, first), loop]


def _call(loop: Node, operands: tuple[Any, ...], region: Region, answer: Value) -> Node:
    record = loop.record and replace(loop.record, key="call", result=(answer,))
    return Node(
        "call",
        operands,
        dict(get("call").params),
        loop.origin,
        (answer,),
        record,
        (replace(region, name="body"),),
    )


# ------------------------------------------------------------------------------------------------ comparisons
def holds(add: Callable[..., Value], guard: Guard) -> Value:
    if isinstance(guard.condition, Size):
        return add("array", guard.condition)
    return _equals_expected(add, guard.condition, guard.expected, guard.rounding)


def _equals_expected(add: Callable[..., Value], value: Value, expected: Any, rounding: float) -> Value:
    if isinstance(expected, list):
        parts = [
            _equals_expected(add, add("getitem", value, key=(place,)), part, rounding)
            for place, part in enumerate(expected)
        ]
        return (
            functools.reduce(functools.partial(add, "logical_and"), parts)
            if parts
            else add("full", shape=(), fill_value=True, dtype="bool")
        )
    if isinstance(expected, bool):
        return value if expected else add("logical_not", value)
    if not isinstance(expected, (float, complex)):
        return add("equal", value, expected)
    is_same = (
        _is_complex(add, value, expected)
        if isinstance(expected, complex)
        else _is_float(add, value, expected)
    )
    tolerance = rounding * magnitude(expected)
    if not 0 < tolerance < math.inf:
        return is_same
    is_near = add("less_equal", add("abs", add("subtract", value, expected)), tolerance)
    return add("logical_or", is_same, is_near)


def _is_float(add: Callable[..., Value], value: Value, expected: float) -> Value:
    # NaN equals NaN, and 0.0 differs from -0.0.
    if math.isnan(expected):
        return add("isnan", value)
    is_equal = add("equal", value, expected)
    if expected:
        return is_equal
    is_negative = add("signbit", value)
    return add(
        "logical_and",
        is_equal,
        is_negative if math.copysign(1.0, expected) < 0 else add("logical_not", is_negative),
    )


def _is_complex(add: Callable[..., Value], value: Value, expected: complex) -> Value:
    return add(
        "logical_and",
        _is_float(add, add("real", value), expected.real),
        _is_float(add, add("imag", value), expected.imag),
    )
