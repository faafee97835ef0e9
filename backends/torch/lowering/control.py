"""Control flow: Python's own statements, through which autograd goes; outputs of all steps are stacked.

torch's compiler takes no statement that elements decide. So the blocks of branches and of ``while`` are functions, which ``torch.cond`` and
``while_loop`` run where the graph is compiled. It writes a ``for`` loop out, for whose rows it knows the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir.block import Region
from ....ir.node import Node, Value
from ....sizes import hints
from ...statements import Lists, branch, scan_with, while_loop
from ...structured import Loop, Scope, associative_scan_by, call, checkpointed, names_of, step_called, strongly_zero
from .table import rows

_COMPILED = "torch.compiler.is_compiling()"


class _Stacked(Lists):
    """``torch.stack``."""

    def end(self, scope: Scope, node: Node, outputs: list[str]) -> None:
        for value, name in zip(node.outputs[node.params["carried"] :], outputs):
            stacked = f"torch.stack({name}[::-1])" if node.params["reverse"] else f"torch.stack({name})"
            is_filled = isinstance(node.params["length"], int) and node.params["length"] > 0
            if not is_filled:
                shape = hints(value.shape[1:]) if node.record is not None else value.shape[1:]  # of a recording those that were seen
                empty = f"torch.empty({scope.literal((0, *shape))!r}, dtype=torch.{value.dtype})"
                stacked = f"{stacked} if {name} else {empty}"
            scope.line(f"{name} = {stacked}")


def _elements(scope: Scope, node: Node, loop: Loop, names: list[str]) -> tuple[str, list[str]]:
    if not names:
        return f"for _ in range({scope.literal(node.params['length'])!r}):", []
    sequences = [f"{sequence}.flip(0)" if node.params["reverse"] else sequence for sequence in loop.sequences]
    rows_of = sequences[0] if len(names) == 1 else f"zip({', '.join(sequences)})"
    return f"for {', '.join(names)} in {rows_of}:", []


def _branch(scope: Scope, node: Node) -> None:
    index, *captured = node.inputs
    if index.dtype != "bool":  # torch.cond knows no third branch
        branch(scope, node)
        return
    chosen = repr(scope.literal(index))
    otherwise, then = (_function(scope, region, [], captured) for region in node.regions)
    made = ", ".join(scope.name(node))
    with scope.indented(f"if {_COMPILED}:"):
        scope.line(f"{made} = torch.cond({chosen}, {then}, {otherwise})")
    with scope.indented("else:"):
        scope.line(f"{made} = {then}() if {chosen} else {otherwise}()")
    scope.free([then, otherwise])


def _while_loop(scope: Scope, node: Node) -> None:
    """A loop whose steps write to memory is a statement: functions would be given copies of it."""
    if node.writes:
        while_loop(scope, node)
        return
    (condition, body), loop = node.regions, Loop.of(scope, node)
    inner = names_of(scope, body, len(loop.state))
    goes_on, step = (_function(scope, region, inner, loop.captured) for region in (condition, body))
    scope.free(inner)
    made = [scope.new(value.name) for value in node.outputs]
    scope.text.update(zip(node.outputs, made))
    state, comma = ", ".join(made), "," if len(made) == 1 else ""
    scope.line(f"{state} = {', '.join(loop.state)}")
    with scope.indented(f"if {_COMPILED}:"):
        scope.line(f"{state}{comma} = torch._higher_order_ops.while_loop({goes_on}, {step}, ({state}{comma}))")
    with scope.indented("else:"), scope.indented(f"while {goes_on}({state}):"):
        scope.line(f"{state} = {step}({state})")
    scope.free([goes_on, step])


def _associative_scan(scope: Scope, node: Node) -> None:
    """Of torch's own calls its own function, which the user's call has come to."""
    associative_scan_by("associative_scan" if node.record is None else "generic_associative_scan")(scope, node)


def _call(scope: Scope, node: Node) -> None:
    if node.params.get("strong_zero"):
        return strongly_zero(scope, node)
    if not node.params["checkpoint"]:
        return call(scope, node)
    name, operands = checkpointed(scope, node, ", ".join)
    scope.line(f"{', '.join(scope.name(node))} = run_again({', '.join([name, *operands])})")
    return scope.free([name])


def _scan(scope: Scope, node: Node) -> None:
    """A loop; where steps are computed again for a gradient, each is a call."""
    scan_with(_elements, _Stacked())(scope, step_called(node) if node.params["checkpoint"] else node)


def _function(scope: Scope, region: Region, inputs: Sequence[str], captured: Sequence[Any]) -> str:
    """The name of a nested function. ``torch.cond`` and ``while_loop`` want arrays that share no memory with others: what it does not make
    is copied."""
    inside = scope.inside(region, inputs, captured)
    made = {value for node in region.block.nodes for value in node.outputs}
    outputs: dict[Value, str] = {}
    results = []
    for value, text in zip(region.block.outputs, inside.outputs):
        results.append(text if value in made and value not in outputs else f"{text}.clone()")
        outputs[value] = text
    name = scope.new(region.name)
    scope.blank()
    with scope.indented(f"def {name}({', '.join(inputs)}):"):
        scope.take(inside)
        scope.line(f"return {', '.join(results)}")
    scope.blank()
    inside.free()
    return name


rows.structure({"associative_scan": _associative_scan})
rows.structure({"branch": _branch, "call": _call, "scan": _scan, "while_loop": _while_loop})
