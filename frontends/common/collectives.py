"""What devices exchange, as every source lifts it: calls that ``graph_compiler.parallel`` makes in a function
that is recorded.
"""

from __future__ import annotations

from typing import Any

CALLS = "graph_compiler.parallel."  # names of recorded calls, where a framework has none of its own for them


def exchanged(b: Any, name: str, *operands: Any, axis_name: str) -> Any:
    """A recorded collective in canonical operations."""
    if name == "axis_indices":
        return b.indices_of_axis(axis_name)
    if name == "all_gather":
        return b.all_gather(*operands, axis_name=axis_name, size=b.indices_of_axis(axis_name).shape[0])
    return getattr(b, name)(*operands, axis_name=axis_name)
