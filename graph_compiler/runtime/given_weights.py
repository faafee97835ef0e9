"""Weights that a call is given in the place of the original's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CallMismatch, GuardFailed
from ..ir.graph import Graph


def lacking(graph: Graph, name: str) -> CallMismatch:
    """That one of them is missing."""
    return CallMismatch(f"{graph.name}: there is no weight {name!r} among the parameters; it needs {', '.join(graph.parameters)}")


def require_shapes(of: str, shapes: Mapping[str, tuple[int, ...]], parameters: Mapping[str, Any]) -> None:
    """``GuardFailed`` where a weight has another shape than while recording, which took that one for granted; ``of`` names the graph."""
    for name, recorded in shapes.items():
        shape = getattr(parameters.get(name), "shape", None)
        if shape != recorded and isinstance(shape, tuple):
            raise GuardFailed(f"{of}: the weight {name!r} has the shape {tuple(shape)} and had {recorded} while recording")
        if isinstance(parameters.get(name), (str, bytes, list, tuple, dict)):
            raise CallMismatch(f"{of}: the parameter {name!r} is a {type(parameters[name]).__name__}, and has to be an array")
