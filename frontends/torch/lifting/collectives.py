"""What devices exchange: operators that ``graph_compiler.parallel`` calls in a function that is recorded."""

from __future__ import annotations

from typing import Any

from .table import TorchBuilder, rows


def _row(name: str) -> None:
    @rows.row(name)
    def row(b: TorchBuilder, x: Any, axis_name: str) -> Any:
        return getattr(b, name)(x, axis_name=axis_name)


for _name in ("pmax", "pmean", "pmin", "psum"):
    _row(_name)


@rows.row("sharding_hint")
def sharding_hint(b: TorchBuilder, x: Any, layout: str) -> Any:
    """A layout as text: names of axes of the mesh for each axis of the array."""
    return b.sharding_hint(x, layout=tuple(tuple(names.split("+")) if names else None for names in layout.split(",")))
