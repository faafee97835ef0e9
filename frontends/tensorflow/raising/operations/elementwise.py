"""Rows of operations on each element."""

from __future__ import annotations

from typing import Any

from .....ir import Value
from ..table import TensorFlowBuilder, rows


@rows.row("AddV2", "Add")
def add(b: TensorFlowBuilder, x: Any, y: Any) -> Value:
    """The sum."""
    made: Value = b.add(x, y)
    return made
