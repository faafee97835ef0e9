"""Protocols for writing the nodes of a graph as source text: ``Dialect`` and ``TargetDialect``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Protocol

from ..ir.graph import Graph
from ..ir.node import Node
from ..sizes import Symbol

Structured = Mapping[str, Callable[[Any, Node], None]]
"""How the target writes operations with regions.

Operation -> function that writes its lines into a scope (``codegen/scope.py``).
"""


class Dialect(Protocol):
    """Writer of the nodes of a graph as text: by a backend's lowering rows, or as the recorded calls."""

    @property
    def imports(self) -> Mapping[str, str]:
        """Import lines, by the name that the source uses."""

    @property
    def prelude(self) -> ModuleType | tuple[str, ...] | None:
        """Module of helper functions; those that the source uses are copied into it.

        None if there is no such module. For recorded calls, the names of helpers in the prelude of the
        framework's target.
        """

    @property
    def structured(self) -> Structured:
        """Writers of operations with regions, by operation.

        Empty for recorded calls, because the framework's target writes the regions among them.
        """

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """Return the lines to write above the function, such as decorators."""

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """Return the source text of ``node`` as an expression.

        ``text`` maps an operand or a parameter, nested ones included, to an object whose ``repr`` is its
        source text. Raise ``UnsupportedOperation`` if the target cannot compute the node.
        """

    def size(self, array: str, symbol: Symbol) -> str:
        """Return the expression that reads ``symbol`` (a size, stride or number) from ``array``."""

    def sizes(self, array: str) -> str:
        """Return the expression that reads all sizes of the expression ``array``, as a tuple."""

    def context(self, node: Node) -> str:
        """Return the context expression of the ``with`` statement that ``node`` needs, or an empty string."""

    def spell(self, item: Any) -> str | None:
        """Return the source text of ``item``, which has no literal; None if it has to be bound to a name."""


class TargetDialect(Dialect, Protocol):
    """Dialect of canonical operations.

    ``graph_compiler.backends.common.rows.CanonicalDialect`` implements it for a table of rows.
    """

    def check(self, graph: Graph) -> None:
        """Raise ``UnsupportedOperation`` if the target would compute other results than the source."""
