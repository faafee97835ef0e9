"""Recorded calls as source text: what is the same for the calls of all frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ..ir.graph import Graph
from ..ir.node import Node
from ..sizes import Symbol


class RecordedCalls:
    """The dialect of recorded graphs, but for the text of a call (``expression``) and the imports that this needs."""

    imports: Mapping[str, str]
    prelude: ModuleType | tuple[str, ...] | None = None
    structured: Mapping[str, Any] = {}  # the target of the framework knows

    def decorators(self, graph: Graph) -> tuple[str, ...]:
        """None: what frameworks are set to holds for their own calls."""
        return ()

    def size(self, array: str, symbol: Symbol) -> str:
        """How a size is read."""
        return f"{array}.shape[{symbol.axis}]"

    def sizes(self, array: str) -> str:
        """All sizes at once."""
        return f"{array}.shape"

    def context(self, node: Node) -> str:
        """No call stands in a context."""
        return ""

    def spell(self, item: Any) -> str | None:
        """Only what has a literal is written as text."""
        return None
