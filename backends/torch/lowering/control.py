"""Control flow: Python's own statements, through which autograd goes; outputs of all steps are stacked."""

from __future__ import annotations

from ....ir.node import Node
from ...statements import Results, branch, call, scan_with, while_loop
from ...structured import Loop, Scope
from .table import rows


class _Lists(Results):
    """Each step appends to a list."""

    def begin(self, scope: Scope, node: Node, outputs: list[str]) -> None:
        for name in outputs:
            scope.line(f"{name} = []")

    def add(self, scope: Scope, outputs: list[str], values: list[str]) -> None:
        for name, value in zip(outputs, values):
            scope.line(f"{name}.append({value})")

    def end(self, scope: Scope, node: Node, outputs: list[str]) -> None:
        for value, name in zip(node.outputs[node.params["carried"] :], outputs):
            stacked = f"torch.stack({name}[::-1])" if node.params["reverse"] else f"torch.stack({name})"
            is_filled = isinstance(node.params["length"], int) and node.params["length"] > 0
            if not (is_filled or node.record is not None):  # torch's own scan has a step at least, to which a recording of it is held
                empty = f"torch.empty({scope.literal((0, *value.shape[1:]))!r}, dtype={scope.dialect.dtype_text(value.dtype)})"
                stacked = f"{stacked} if {name} else {empty}"
            scope.line(f"{name} = {stacked}")


def _elements(scope: Scope, node: Node, loop: Loop, names: list[str]) -> tuple[str, list[str]]:
    if not names:
        return f"for _ in range({scope.literal(node.params['length'])!r}):", []
    sequences = [f"{sequence}.flip(0)" if node.params["reverse"] else sequence for sequence in loop.sequences]
    rows_of = sequences[0] if len(names) == 1 else f"zip({', '.join(sequences)})"
    return f"for {', '.join(names)} in {rows_of}:", []


rows.structure({"branch": branch, "call": call, "scan": scan_with(_elements, _Lists()), "while_loop": while_loop})
