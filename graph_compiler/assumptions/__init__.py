"""Assumptions about the arguments of a call: one class and one file per kind, and the table of all kinds.

To add a kind, write a class with the methods of :class:`~graph_compiler.ir.assumption.Assumption` in a
file of its own, add it to `_ORDER`, and add samples in `tests/assumptions`. Frontends add assumptions with
`graph.assume(...)` while recording.
"""

from __future__ import annotations

from ..errors import InvalidGraph
from ..ir.assumption import Assumption
from ..ir.graph import Graph, Guard
from .disjoint_memory import DisjointMemory as DisjointMemory
from .index_bounds import IndexBounds as IndexBounds
from .input_attribute import InputAttribute as InputAttribute
from .input_fact import InputFact as InputFact
from .keyword_order import KeywordOrder as KeywordOrder
from .same_array import SameArray as SameArray

# The order is that in which a call is checked.
_ORDER: tuple[type[Assumption], ...] = (
    KeywordOrder,
    Guard,
    IndexBounds,
    SameArray,
    InputFact,
    InputAttribute,
    DisjointMemory,
)
KINDS: dict[str, type[Assumption]] = {kind.kind: kind for kind in _ORDER}


def in_order(graph: Graph) -> list[Assumption]:
    return sorted(graph.all_assumptions(), key=_place)


def _place(assumption: Assumption) -> int:
    kind = type(assumption)
    if kind not in _ORDER:
        raise InvalidGraph(
            f"{kind.__name__} is not in the table of assumptions: add it to _ORDER in "
            "graph_compiler/assumptions/__init__.py, in the place where it should be checked"
        )
    return _ORDER.index(kind)
