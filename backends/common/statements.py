"""Loops and branches as Python statements, for targets that run eagerly: NumPy and uncompiled torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from ...ir.node import Block, Node, Value
from ...sizes import hint_of
from ...trees import iterate_structure
from .structured import Loop, Scope, WrittenRegion, assigned, names_of

Written = Callable[[Scope, Node], None]


def while_loop(scope: Scope, node: Node) -> None:
    condition, body = node.regions
    loop = Loop.of(scope, node)
    state = scope.name_carry(node, body)
    asked = scope.write_inner(condition, state, loop.captured)
    assigned(scope, state, loop.state)
    short = asked.expression()
    step = scope.write_inner(body, state, loop.captured, is_assigning=True)
    with scope.indented(f"while {short}:" if short else "while True:"):
        if not short:
            scope.take(asked)
            with scope.indented(f"if not {asked.outputs[0]}:"):
                scope.line("break")
        scope.take(step)
        assigned(scope, state, step.outputs)
        if writes_nothing(step, state):
            scope.line("pass")
    scope.text.update(zip(node.outputs, state))
    for inside in (asked, step):
        inside.free()


def writes_nothing(inside: WrittenRegion, targets: Sequence[str]) -> bool:
    return inside.is_empty and list(targets) == inside.outputs


def branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    chosen = repr(scope.literal(index))
    insides = [scope.write_inner(region, [], captured) for region in node.regions]
    names = scope.name(node)
    # The first region is that for False, but an ``if`` begins with the lines for True.
    heads = [f"if {chosen}:", "else:"] if index.dtype == "bool" else _heads(chosen, len(insides))
    for head, inside in zip(heads, insides[::-1] if index.dtype == "bool" else insides):
        with ExitStack() as stack:
            if head:
                stack.enter_context(scope.indented(head))
            scope.take(inside)
            assigned(scope, names, inside.outputs)
            if writes_nothing(inside, names):
                scope.line("pass")
    for inside in insides:
        inside.free()


def _heads(chosen: str, count: int) -> list[str]:
    if count == 1:
        return [""]
    return [f"if {chosen} == 0:", *(f"elif {chosen} == {place}:" for place in range(1, count - 1)), "else:"]


def scan_with(
    elements: Callable[[Scope, Node, Loop, list[str]], tuple[str, list[str]]], results: Results
) -> Written:
    """Return a writer of ``scan`` nodes as ``for`` loops.

    ``elements`` returns the head of a loop and the first lines of its body.
    """

    def scan(scope: Scope, node: Node) -> None:
        (body,), loop = node.regions, Loop.of(scope, node)
        state = scope.name_carry(node, body)
        rows = names_of(scope, body, len(loop.sequences), len(state))
        # These names are taken before the body is written, which may have a loop with outputs, too.
        outputs = [scope.new(value.name) for value in node.outputs[len(state) :]]
        step = scope.write_inner(body, [*state, *rows], loop.captured, is_assigning=True)
        loop = with_ranges(scope, node, loop)
        assigned(scope, state, loop.state)
        head, lines = elements(scope, node, loop, rows)
        results.begin(scope, node, outputs)
        with scope.indented(head):
            for text in lines:
                scope.line(text)
            scope.take(step)
            # An output may be the old carry, so it is stored before the carry is assigned.
            results.add(scope, outputs, step.outputs[len(state) :])
            assigned(scope, state, step.outputs[: len(state)])
            if not lines and not outputs and writes_nothing(step, state):
                scope.line("pass")
        results.end(scope, node, outputs)
        scope.text.update(zip(node.outputs, [*state, *outputs]))
        step.free()
        scope.free(rows)

    return scan


def with_ranges(scope: Scope, node: Node, loop: Loop) -> Loop:
    """Return ``loop``, in which ``range`` may replace ``arange`` as a sequence.

    The line of a replaced ``arange`` that nothing else uses is removed from ``scope``.
    """
    if node.params["reverse"]:
        return loop
    (body,), carried, texts = node.regions, len(loop.state), list(loop.sequences)
    made = {
        value: maker for maker in scope.nodes if "arange" in (maker.op, maker.key) for value in maker.outputs
    }
    for place in range(len(texts)):
        operand, number = node.inputs[carried + place], body.block.inputs[carried + place]
        maker = made.get(operand)
        if maker is None or not number.dtype.startswith("int") or _is_read(body.block, number):
            continue
        if (bounds := _bounds(maker)) is not None:
            # Iterating over a range is faster than over an array.
            texts[place] = _range(scope, bounds)
            scope.drop(operand)
    return Loop(loop.state, texts, loop.captured)


def _is_read(block: Block, number: Value) -> bool:
    if number in block.outputs:
        return True
    for node in block.nodes:
        for place, item in enumerate(node.inputs):
            # The regions of a loop or call have an input for each operand, so uses inside can be followed.
            # Those of a branch do not, so an operand of one counts as read.
            inner = [region.block for region in node.regions if len(region.block.inputs) == len(node.inputs)]
            if item is number and (not inner or any(_is_read(each, each.inputs[place]) for each in inner)):
                return True
        nested = [item for item in node.inputs if not isinstance(item, Value)]
        # A call that was recorded has its keyword arguments among the parameters.
        if any(item is number for item in iterate_structure((nested, list(node.params.values())))):
            return True
    return False


def _bounds(node: Node) -> Sequence[Any] | None:
    """Return start, stop and step of an ``arange``, or None if a recorded call does not show them."""
    if node.record is None:
        return [node.params[name] for name in ("start", "stop", "step")]
    if not node.inputs or not {"start", "stop", "end", "step"}.isdisjoint(node.params):
        return None
    start, stop, *step = node.inputs if len(node.inputs) > 1 else (0, *node.inputs)
    bounds = [start, stop, *(step or [1])]
    # torch converts floats, and NumPy takes a stop of None for a start of 0.
    return None if any(isinstance(hint_of(item), (float, type(None))) for item in bounds) else bounds


def _range(scope: Scope, bounds: Sequence[Any]) -> str:
    start, stop, step = map(scope.literal, bounds)
    return (
        f"range({start!r}, {stop!r}, {step!r})"
        if step != 1
        else f"range({start!r}, {stop!r})"
        if start != 0
        else f"range({stop!r})"
    )


class Results:
    """Writer of the lines that collect the outputs of the iterations of a ``for`` loop."""

    def begin(self, scope: Scope, node: Node, outputs: list[str]) -> None: ...

    def add(self, scope: Scope, outputs: list[str], values: list[str]) -> None: ...

    def end(self, scope: Scope, node: Node, outputs: list[str]) -> None: ...


class Lists(Results):
    """Writer that appends the outputs of each iteration to Python lists."""

    def begin(self, scope: Scope, node: Node, outputs: list[str]) -> None:
        for name in outputs:
            scope.line(f"{name} = []")

    def add(self, scope: Scope, outputs: list[str], values: list[str]) -> None:
        for name, value in zip(outputs, values):
            scope.line(f"{name}.append({value})")


def function_of_rule(scope: Scope, node: Node) -> None:
    """Write the function of a ``custom_derivative`` node inline, without its rule."""
    body = node.regions[0]
    inside = scope.write_inner(body, [], node.inputs)
    scope.take(inside)
    names = scope.name(node)
    assigned(scope, names, inside.outputs)
    inside.free()
