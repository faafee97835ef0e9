"""What devices exchange: calls that ``graph_compiler.parallel`` makes in a function that is recorded."""

from __future__ import annotations

from typing import Any

from ....ops.collectives import COLLECTIVES
from ...collectives import exchanged
from .table import NumpyBuilder, rows


def _row(name: str) -> None:
    @rows.row(name)
    def row(b: NumpyBuilder, *operands: Any) -> Any:
        return exchanged(b, name, *map(b.array, operands[:-1]), axis_name=operands[-1])


for _name in COLLECTIVES:
    _row(_name)
