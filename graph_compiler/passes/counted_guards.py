"""Guards on how many elements a mask finds, as guards on a number that is counted: it needs no array of that many elements."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Any

from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.guard import Guard
from ..ir.node import Node
from ..ops.registry import get
from ..sizes import Size, Symbol, comparison
from ..sizes.isolating import Compared, isolate

_COMPARED = {"eq": "equal", "ne": "not_equal", "ge": "greater_equal", "le": "less_equal"}


def counted_guards(graph: Graph, finders: Container[Node]) -> Graph:
    """The graph in which guards that compare with a number how many elements one of ``finders`` has found (its last operand is the mask)
    are on elements. Others stay."""
    counted = graph.derive()
    counted.guards = [_counted(guard, counted, finders) for guard in graph.guards]
    return counted if len(counted.nodes) > len(graph.nodes) else graph


def _counted(guard: Guard, graph: Graph, finders: Container[Node]) -> Guard:
    compared = comparison(guard.condition) if isinstance(guard.condition, Size) else None
    solved = isolate(compared) if compared is not None else None
    if not isinstance(solved, Compared) or (finder := _maker(solved.size, graph)) not in finders:
        return guard
    build = Builder(graph, guard.origin)
    operands = build.count_nonzero(finder.inputs[-1]), solved.number
    return replace(guard, condition=build.apply(get(_COMPARED[solved.function]), operands, {}))


def _maker(size: Any, graph: Graph) -> Any:
    """The node that makes the array of which this is a size; None where it is more than one size."""
    (atoms, factor), *more = size.terms()
    is_one = not more and factor == 1 and len(atoms) == 1 and isinstance(atoms[0], Symbol)
    return graph.maker(atoms[0].source) if is_one else None


__all__ = ["counted_guards"]
