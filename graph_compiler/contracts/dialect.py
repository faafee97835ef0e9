"""How the nodes of a graph are written as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Protocol

from ..ir.graph import Graph
from ..ir.node import Node
from ..sizes import Symbol

Structured = Mapping[str, Callable[[Any, Node], None]]
"""How the target writes each operation that runs blocks: operation -> what writes its lines into a scope (``codegen/scope.py``)."""


class Dialect(Protocol):
    """How the nodes of a graph are written: by a backend's lowering rows, or as the calls that were recorded."""

    @property
    def imports(self) -> Mapping[str, str]:
        """Name in the source -> import line."""

    @property
    def prelude(self) -> ModuleType | tuple[str, ...] | None:
        """Helper functions; those that are used are copied into the source. None where there are none.
        Recorded calls give the names of helpers of the target of their framework.
        """

    @property
    def structured(self) -> Structured:
        """How operations that run blocks are written; empty for recorded calls, where the target of the
        framework knows it.
        """

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """Lines that stand above the function."""

    def expression(self, node: Node, text: Callable[[Any], Any]) -> str:
        """The expression for a node; ``text`` turns nested arguments into literals and names."""

    def size(self, array: str, symbol: Symbol) -> str:
        """The expression that reads a size of ``array``."""

    def sizes(self, array: str) -> str:
        """The expression that reads all sizes of ``array``."""

    def context(self, node: Node) -> str:
        """The ``with`` context that a node's line must stand in, or an empty text."""

    def spell(self, item: Any) -> str | None:
        """Text for an object that has no literal, or None where it has to be bound to a name."""


class TargetDialect(Dialect, Protocol):
    """A dialect of canonical operations.

    ``graph_compiler.backends.common.dialect.CanonicalDialect`` is one, made of a table of rows.
    """

    def check(self, graph: Graph) -> None:
        """``UnsupportedOperation`` for a graph that would compute something else here than where it was
        recorded.
        """
