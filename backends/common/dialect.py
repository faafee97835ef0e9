"""Writing of canonical nodes for one backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import ModuleType
from typing import Any

from ...errors import UnsupportedOperation
from ...ir.graph import Graph
from ...ir.node import Node, Value
from ...ops.dtypes import DTYPES
from ...ops.text import ExternalName, Text, factor
from ...sizes import Symbol
from .rows import Rows, operand

_SPEC = attrgetter("spec")


class CanonicalDialect:
    """Writer of canonical nodes that uses a backend's lowering rows.

    A string parameter called ``dtype`` is written as the backend's dtype.

    rows: the lowering table.
    imports: import lines, by the name that the source uses.
    prelude: module of the helpers that are copied into generated code.
    dtype_text: function from a dtype to its source text.
    """

    def __init__(
        self, rows: Rows, imports: Mapping[str, str], prelude: ModuleType, dtype_text: Callable[[str], str]
    ) -> None:
        self.rows, self.imports, self.prelude, self.dtype_text = rows, imports, prelude, dtype_text
        self.structured = rows.structured

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        return ()

    def check(self, graph: Graph) -> None:
        """Raise ``UnsupportedOperation`` if the target would compute another result than the source.

        The default accepts every graph.
        """

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """Return the source of ``node`` as an expression.

        Raise ``UnsupportedOperation`` if an output has a dtype that no target has, or if the row refuses
        the node.
        """
        for value in node.outputs:
            if value.dtype not in DTYPES:
                raise UnsupportedOperation(
                    f"{node.origin} gives {value.dtype}, a data type that no target has; convert to another "
                    "one before"
                )
        operands = tuple(self._operand(item, text) for item in node.inputs)
        params = (
            {name: self._param(name, value, text) for name, value in node.params.items()}
            if node.params
            else {}
        )
        try:
            return self.rows.expression(node.op, operands, params, tuple(map(_SPEC, node.outputs)))
        except UnsupportedOperation as problem:
            raise UnsupportedOperation(f"{problem}\n    {node.origin}") from problem

    def _operand(self, item: Any, text: Callable[[Any], Any]) -> Any:
        if item is None:
            return None
        written = text(item)
        if isinstance(item, Value):
            return operand(written, item.spec, isinstance(written, ExternalName))
        return operand(factor(repr(written)), None)

    def _param(self, name: str, value: Any, text: Callable[[Any], Any]) -> Any:
        return Text(self.dtype_text(value)) if name == "dtype" and isinstance(value, str) else text(value)

    def size(self, array: str, symbol: Symbol) -> str:
        # A symbol of any other kind is a number that the array holds.
        return f"{array}.shape[{symbol.axis}]" if symbol.kind == "size" else f"{array}.item()"

    def sizes(self, array: str) -> str:
        return f"{array}.shape"

    def spell(self, item: Any) -> str | None:
        return None

    def context(self, node: Node) -> str:
        return ""
