"""Calls that return a view or a copy: whether a later write shows which one it is."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.graph import Aliases, Graph
from ...ir.node import Node, Value


def joins_axes(node: Node) -> bool:
    """Return True if a reshape may merge axes at the recorded sizes, or if a view changes the dtype."""
    source, result = node.uses[0].spec, node.outputs[0].spec
    if source.dtype != result.dtype:
        return True
    wanted = list(result.hints)
    for size in source.hints:
        found = wanted.pop(0) if wanted else 0
        while found < size and wanted and found:
            found *= wanted.pop(0)
        if found != size:
            return True
    return any(size != 1 for size in wanted)


def is_written_later(graph: Graph, place: int, aliases: Aliases) -> bool:
    node = graph.nodes[place]
    written = {aliases.base_of(value) for later in graph.nodes[place + 1 :] for value in later.writes}
    return not written.isdisjoint({aliases.base_of(node.uses[0]), *node.outputs})


def is_written_copy(graph: Graph, place: int, aliases: Aliases) -> bool:
    # A graph omits writes to a copy that nothing reads, but at other sizes the result may be a view.
    made = set(graph.nodes[place].outputs)
    return any(aliases.base_of(value) in made for later in graph.nodes[place + 1 :] for value in later.writes)


def is_shown(graph: Graph, place: int, aliases: Aliases) -> bool:
    node = graph.nodes[place]
    source, made = aliases.base_of(node.uses[0]), set(node.outputs)
    # True if written through the result, False if through another tensor.
    written: set[bool] = set()
    # The caller may read memory that comes from outside.
    if graph.maker(source) is None:
        return is_written_later(graph, place, aliases)
    for later in graph.nodes[place + 1 :]:
        sides = _sides(later.uses, made, source, aliases)
        if any((not side) in written for side in sides):
            return True
        written |= _sides(later.writes, made, source, aliases)
        made.update(later.outputs[index] for index, viewed in later.views.items() if viewed in made)
    outputs = [item for item in graph.outputs if isinstance(item, Value)]
    return any((not side) in written for side in _sides(outputs, made, source, aliases))


def _sides(values: Iterable[Value], made: set[Value], source: Value, aliases: Aliases) -> set[bool]:
    return {value in made for value in values if value in made or aliases.base_of(value) is source}
