"""Lifting of the collectives that ``graph_compiler.parallel`` calls in a recorded function."""

from __future__ import annotations

from typing import Any

# Prefix of the names of recorded collectives in frameworks that have none of their own.
CALLS = "graph_compiler.parallel."


def lift_collective(b: Any, name: str, *operands: Any, axis_name: str) -> Any:
    # All gathers over an axis have the same symbolic size, that of its indices.
    if name == "axis_indices":
        return b.indices_of_axis(axis_name)
    if name == "all_gather":
        return b.all_gather(*operands, axis_name=axis_name, size=b.indices_of_axis(axis_name).shape[0])
    return getattr(b, name)(*operands, axis_name=axis_name)
