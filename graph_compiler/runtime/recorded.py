"""What a variant was written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ir.graph import Graph as IRGraph


@dataclass
class Recorded:
    """What a variant was written from: enough to write it for another framework, and to check it.

    ``graph`` is in the source framework's calls; ``weights`` tells where the user's model holds its arrays,
    None where there is no model any more; ``ranges`` are the least and greatest elements of the arrays it was
    recorded with.
    """

    graph: IRGraph
    weights: Any = None
    ranges: tuple[tuple[float, float], ...] = ()
    counts: str = ""
