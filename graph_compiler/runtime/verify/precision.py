"""Lowest floating-point precision on the way to each value of a recorded graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...ir.graph import Graph as IRGraph
from ...ir.node import Node, Value
from ...ops.dtypes import ITEMSIZE, is_inexact, real_of
from ...sizes import Size
from ...trees import iterate_structure

WIDEST = 8


def width_of(dtype: str) -> int:
    return ITEMSIZE[real_of(dtype)] if is_inexact(dtype) else WIDEST


def widths_of(graph: IRGraph) -> dict[Value, int]:
    """Return, for each value, the item size of the narrowest float computed on the way to it, in bytes.

    Arguments, and views of them that no call writes to, are exact and do not count.
    """
    widths: dict[Value, int] = {}
    # A write also lowers the precision of what was made of the same memory before it, so the widths are
    # computed until none changes.
    while _lower(graph.nodes, widths):
        pass
    return widths


def outputs_of(graph: IRGraph, widths: dict[Value, int]) -> list[int]:
    return [
        _narrowest([item], widths) for item in graph.outputs if isinstance(item, Value) or _is_float(item)
    ]


def effects_of(graph: IRGraph, widths: dict[Value, int], kind: str) -> dict[Any, int]:
    return {
        effect.target: _narrowest([effect.value], widths) for effect in graph.effects if effect.kind == kind
    }


def _is_float(item: Any) -> bool:
    return isinstance(item, Size) and item.type is float


def _lower(nodes: Iterable[Node], widths: dict[Value, int]) -> bool:
    changed = False
    sources: dict[Value, set[Value]] = {}
    for node in nodes:
        operands = set(_operands((node.inputs, node.params)))
        given = _narrowest(operands, widths)
        for place, value in enumerate(node.outputs):
            is_view = node.record is not None and place in node.record.views
            width = min(given, WIDEST if is_view else _computed_width(node, value))
            changed |= widths.get(value, WIDEST) > width
            widths[value] = min(widths.get(value, WIDEST), width)
            sources[value] = operands.union(*(sources.get(item, ()) for item in operands))
        for written in node.writes:
            lowest = min(given, width_of(written.dtype))
            for value in (written, *sources.get(written, ())):
                changed |= widths.get(value, WIDEST) > lowest
                widths[value] = min(widths.get(value, WIDEST), lowest)
    return changed


def _computed_width(node: Node, value: Value) -> int:
    inner = (
        made.dtype for region in node.regions for part in region.block.nodes for made in _outputs_within(part)
    )
    return min(width_of(value.dtype), *map(width_of, inner), WIDEST)


def _outputs_within(node: Node) -> Iterator[Value]:
    yield from node.outputs
    for region in node.regions:
        for part in region.block.nodes:
            yield from _outputs_within(part)


def _narrowest(items: Iterable[Any], widths: dict[Value, int]) -> int:
    return min((widths.get(value, WIDEST) for value in _operands(list(items))), default=WIDEST)


def _operands(structure: Any) -> Iterator[Value]:
    """Yield the values in nested arguments, and those that sizes in them read numbers from."""
    for item in iterate_structure(structure):
        if isinstance(item, Value):
            yield item
        elif isinstance(item, Size):
            yield from (symbol.source for symbol in item.symbols() if symbol.kind == "number")
