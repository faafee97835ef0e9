"""What devices exchange: operators that ``graph_compiler.parallel`` calls in a function that is recorded."""

from __future__ import annotations

from typing import Any

from ....ops.collectives import COLLECTIVES, KERNELS
from ...collectives import exchanged
from .table import TorchBuilder, rows


def _row(key: str) -> None:
    name = key.removesuffix("_kernel")

    @rows.row(key)
    def row(b: TorchBuilder, *operands: Any) -> Any:
        return exchanged(b, name, *operands[:-1], axis_name=operands[-1])


for _key in (*COLLECTIVES, *KERNELS):
    _row(_key)


@rows.row("sharding_hint")
def sharding_hint(b: TorchBuilder, x: Any, layout: str) -> Any:
    """A layout as text: names of axes of the mesh for each axis of the array."""
    return b.sharding_hint(x, layout=tuple(tuple(names.split("+")) if names else None for names in layout.split(",")))
