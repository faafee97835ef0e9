"""Checks that a saved TensorFlow graph calls only known operations, and holds only arrays and plain data."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidFile
from ...ir.graph import Graph
from ...ir.node import every
from ...ops.control import has_regions
from .names import OWN, RAW, row_key


def spell(item: Any) -> str | None:
    return None


def read(text: str) -> Any:
    raise InvalidFile(f"{text!r:.80} is no object that a saved TensorFlow graph may hold")


def check(graph: Graph) -> None:
    from .lifting.driver import rows

    for node in every(graph.nodes):
        known = node.op.startswith(RAW) and rows.get(row_key(node.op)) is not None
        if not known and node.op not in OWN and not has_regions(node.op):
            raise InvalidFile(f"a saved TensorFlow graph may not call {node.op!r:.80}")


__all__ = ["check", "read", "row_key", "spell"]
