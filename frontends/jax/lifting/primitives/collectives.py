"""What devices exchange: primitives that ``graph_compiler.parallel`` binds in a function that is recorded."""

from __future__ import annotations

from typing import Any

from ..table import JaxBuilder, rows


def _row(name: str) -> None:
    @rows.row(f"device_{name}_p")
    def row(b: JaxBuilder, x: Any, *, axis_name: str) -> Any:
        return getattr(b, name)(b.as_result(x), axis_name=axis_name)


for _name in ("pmax", "pmean", "pmin", "psum"):
    _row(_name)


@rows.row("device_hint_p")
def sharding_hint(b: JaxBuilder, x: Any, *, layout: Any) -> Any:
    """A layout over a mesh of devices."""
    return b.sharding_hint(b.as_result(x), layout=layout)
