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
    """The node that makes the array of whose rows this is the number; None where it is another size."""
    (atoms, factor), *more = size.terms()
    symbol = atoms[0] if not more and factor == 1 and len(atoms) == 1 else None
    if not isinstance(symbol, Symbol) or symbol.kind != "size":
        return None
    node = graph.maker(symbol.source)
    return node if node is not None and symbol.axis == node.params.get("axis", 0) else None
