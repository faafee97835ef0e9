"""Writers of control flow as Python statements."""

from __future__ import annotations

from ....ir.node import Node
from ....sizes import hints
from ...common.statements import Lists, Results, branch, function_of_rule, scan_with, while_loop
from ...common.structured import Loop, Scope, associative_scan_by, call
from .table import rows


class _StackedLists(Lists):
    """Writer that collects the outputs of a loop in lists and stacks these after the loop."""

    def end(self, scope: Scope, node: Node, outputs: list[str]) -> None:
        for value, name in zip(node.outputs[node.params["carried"] :], outputs):
            none = f"np.empty({(0, *hints(value.shape[1:]))!r}, {value.dtype!r})"
            scope.line(f"{name} = np.stack({name}) if {name} else {none}")


class _PreallocatedRows(Results):
    """Writer that stores the outputs of a loop in arrays that are allocated before the loop.

    place: name of the loop index.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    def begin(self, scope: Scope, node: Node, outputs: list[str]) -> None:
        for value, name in zip(node.outputs[node.params["carried"] :], outputs):
            scope.line(
                f"{name} = np.empty({scope.literal(value.shape)!r}, {scope.dialect.dtype_text(value.dtype)})"
            )

    def add(self, scope: Scope, outputs: list[str], values: list[str]) -> None:
        for name, value in zip(outputs, values):
            scope.line(f"{name}[{self.place}] = {value}")


def _scan(scope: Scope, node: Node) -> None:
    is_counted = len(node.outputs) > node.params["carried"] and node.record is None
    place = scope.new("i") if is_counted or node.params["reverse"] else "_"
    # The symbolic shapes of canonical graphs are known before the loop runs.
    results = _PreallocatedRows(place) if node.record is None else _StackedLists()

    def elements(scope: Scope, node: Node, loop: Loop, names: list[str]) -> tuple[str, list[str]]:
        if not names or node.params["reverse"]:
            lines = [f"{name} = {sequence}[{place}]" for name, sequence in zip(names, loop.sequences)]
            return f"for {place if is_counted or lines else '_'} in {_steps(scope, node)}:", lines
        several = len(names) > 1
        row, sequence = (
            (", ".join(names), f"zip({', '.join(loop.sequences)})")
            if several
            else (names[0], loop.sequences[0])
        )
        counted = f"for {place}, {f'({row})' if several else row} in enumerate({sequence}):"
        return counted if is_counted else f"for {row} in {sequence}:", []

    scan_with(elements, results)(scope, node)
    scope.free([place] if place != "_" else [])


def _steps(scope: Scope, node: Node) -> str:
    steps = f"range({scope.literal(node.params['length'])!r})"
    return f"reversed({steps})" if node.params["reverse"] else steps


rows.structure(
    {
        "branch": branch,
        "call": call,
        "custom_derivative": function_of_rule,
        "scan": _scan,
        "while_loop": while_loop,
    }
)
rows.structure({"associative_scan": associative_scan_by("associative_scan")})
