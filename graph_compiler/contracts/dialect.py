"""Protocols for writing the nodes of a graph as source text."""

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
    """Conversion of the nodes of a graph to text: by a backend's lowering rows, or as the recorded calls."""

    @property
    def imports(self) -> Mapping[str, str]:
        """Import lines, by the name that the source uses."""

    @property
    def prelude(self) -> ModuleType | tuple[str, ...] | None:
        """Module of helper functions, of which those that are used are copied into the source.

        None if there is none. For recorded calls, the names of helpers of the framework's target.
        """

    @property
    def structured(self) -> Structured:
        """Writers of operations with regions; empty for recorded calls.

        Operations with regions among recorded calls are written by the framework's target.
        """

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """Return the lines to write above the function, such as decorators."""

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """Return the expression of a node.

        ``text`` maps nested arguments to objects whose ``repr`` is their source text.
        """

    def size(self, array: str, symbol: Symbol) -> str:
        """Return the expression that reads the size or stride ``symbol`` of the expression ``array``."""

    def sizes(self, array: str) -> str:
        """Return the expression that reads all sizes of the expression ``array``, as a tuple."""

    def context(self, node: Node) -> str:
        """Return the ``with`` context that a node's line needs, or an empty string."""

    def spell(self, item: Any) -> str | None:
        """Return the text of an object without a literal, or None if it has to be bound to a name."""


class TargetDialect(Dialect, Protocol):
    """A dialect of canonical operations.

    ``graph_compiler.backends.common.rows.CanonicalDialect`` implements it for a table of rows.
    """

    def check(self, graph: Graph) -> None:
        """Raise ``UnsupportedOperation`` if results would differ from the recorded function's."""
