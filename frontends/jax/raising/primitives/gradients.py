"""Operations that carry derivatives by rules of functions' own."""

from __future__ import annotations

from typing import Any

from ..table import JaxBuilder, rows


@rows.row("with_gradient_p")
def with_gradient(b: JaxBuilder, value: Any, *pairs: Any) -> Any:
    """A value whose gradient flows to the sources, times the slopes."""
    return b.with_gradient(*(b.as_result(item) for item in (value, *pairs)))


@rows.row("refuse_gradient_p")
def refuse_gradient(b: JaxBuilder, value: Any, *sources: Any, message: str) -> Any:
    """A value of which no gradient may be taken."""
    return b.refuse_gradient(b.as_result(value), *sources, message=message)
