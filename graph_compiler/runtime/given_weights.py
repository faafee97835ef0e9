"""Weights that a call is given in the place of the original's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CallMismatch, GuardFailed
from ..ir.graph import Graph


def lacking(graph: Graph, name: str) -> CallMismatch:
    """That one of them is missing."""
    return CallMismatch(f"{graph.name}: there is no weight {name!r} among the parameters; it needs {', '.join(graph.parameters)}")


def require_shapes(graph: Graph, parameters: Mapping[str, Any]) -> None:
    """``GuardFailed`` where a weight has another shape: the recording took that of its own for granted."""
    for name, value in graph.parameters.items():
        shape = getattr(parameters.get(name), "shape", None)
        if isinstance(shape, tuple) and shape != value.spec.hints:
            raise GuardFailed(f"{graph.name}: the weight {name!r} has the shape {tuple(shape)} and had {value.spec.hints} while recording")


__all__ = ["lacking", "require_shapes"]
