"""Rules of the user's own for gradients that could not be recorded."""

from __future__ import annotations

from typing import Any

from .table import TorchBuilder, rows


@rows.row("refuse_gradient")
def refuse_gradient(b: TorchBuilder, value: Any, sources: Any, message: str) -> Any:
    """A value of which no gradient may be taken."""
    return b.refuse_gradient(value, *sources, message=message)
