"""Recording that a variant was written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ir.graph import Graph as IRGraph


@dataclass
class VariantRecording:
    """What is needed to write a variant for another framework, and to verify it.

    graph: the recorded graph, in calls of the source framework or in canonical operations.
    weights: access to the arrays of the user's model; None if there is no model any more.
    ranges: minimum and maximum of each array of the recorded call; empty if loaded from a file.
    counts: text on the number of recorded calls.
    """

    graph: IRGraph
    weights: Any = None
    ranges: tuple[tuple[float, float], ...] = ()
    counts: str = ""
