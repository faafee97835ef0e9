"""What devices exchange: primitives that ``graph_compiler.parallel`` binds in a function that is recorded."""

from __future__ import annotations

from typing import Any

from .....ops.collectives import COLLECTIVES
from ....collectives import exchanged
from ..table import JaxBuilder, rows


def _row(name: str) -> None:
    @rows.row(f"device_{name}_p")
    def row(b: JaxBuilder, *operands: Any, axis_name: str, size: Any = None) -> Any:
        return exchanged(b, name, *map(b.as_result, operands), axis_name=axis_name)


for _name in COLLECTIVES:
    _row(_name)


# a layout over a mesh of devices
rows.table({"device_sharding_hint_p": lambda b, x, *, layout: b.sharding_hint(b.as_result(x), layout=layout)})
