"""Calls whose derivative rule could not be traced."""

from __future__ import annotations

from typing import Any

from ..table import JaxBuilder, rows


@rows.row("refuse_gradient_p")
def refuse_gradient(b: JaxBuilder, value: Any, *sources: Any, message: str) -> Any:
    """A value of which no gradient may be taken."""
    return b.refuse_gradient(b.as_result(value), *sources, message=message)
