"""Warnings about 64-bit floats that a target computes with in 32 bits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from ...contracts import Target
from ...errors import NarrowedNumbers, UnsupportedOperation
from ...ir.graph import Graph
from ..over_limit import level_of_user
from .matcher import narrows

_WIDE = ("float64", "complex128")
_MOST_NAMES = 5


@dataclass
class NarrowingPolicy:
    """Treatment of 64-bit floats that a target computes with in 32 bits.

    mode: ``"target"`` warns once for each graph, ``"strict"`` raises.
    told: names of the graphs that were warned about.
    """

    mode: str = "target"
    told: set[str] = field(default_factory=set, compare=False)

    def check(self, name: str, graph: Graph, target: Target) -> None:
        """Warn or raise ``UnsupportedOperation`` if the target narrows inputs or parameters of ``graph``.

        Do nothing if the graph `name` was warned about before.
        """
        if name in self.told or not narrows(target):
            return
        inputs = [value.name for value in graph.inputs if value.dtype in _WIDE]
        names = [*inputs, *(key for key, value in graph.parameters.items() if value.dtype in _WIDE)]
        if not names:
            return
        shown = ", ".join(names[:_MOST_NAMES]) + (
            f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        )
        text = (
            f"{name}: {shown} {'has' if len(names) == 1 else 'have'} 64-bit floats, with which {target.name} "
            "computes in 32 bits"
        )
        if self.mode == "strict":
            raise UnsupportedOperation(f"{text}, and numbers='strict' refuses that. {target.widening}")
        self.told.add(name)
        warnings.warn(
            f"{text}. {target.widening}, or pass arrays of 32 bits; numbers='strict' makes it an error",
            NarrowedNumbers,
            stacklevel=level_of_user(),
        )
