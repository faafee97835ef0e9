"""Rules of the user's own for gradients, as the recording has noted them."""

from __future__ import annotations

from typing import Any

from .table import TorchBuilder, rows


@rows.row("with_gradient")
def with_gradient(b: TorchBuilder, value: Any, sources: Any, slopes: Any) -> Any:
    """A value whose gradient flows to the sources, times the slopes."""
    return b.with_gradient(value, *(item for pair in zip(sources, slopes) for item in pair))


@rows.row("refuse_gradient")
def refuse_gradient(b: TorchBuilder, value: Any, sources: Any, message: str) -> Any:
    """A value of which no gradient may be taken."""
    return b.refuse_gradient(value, *sources, message=message)
