"""Alias analysis of recorded graphs: which values share storage, and which storage is written to."""

from __future__ import annotations

from .graph import Graph
from .node import Value, distinct


class Aliases:
    """Values of a graph grouped by the storage they share.

    The base of a value is the value whose storage it is a view of, or the value itself. In canonical
    graphs nothing aliases and nothing is written.

    written: bases that some node writes to.
    touched: `written`, and the bases that are written to through another captured array with the same
        storage.
    """

    def __init__(self, graph: Graph) -> None:
        self._base: dict[Value, Value] = {}
        self.written: set[Value] = set()
        for node in distinct(graph.nodes) if graph.dialect != "canonical" else ():
            # Most calls neither alias nor write.
            if (record := node.record) is None or not (record.views or record.writes):
                continue
            for index, viewed in record.views.items():
                self._base[node.outputs[index]] = self.base_of(viewed)
            self.written.update(map(self.base_of, record.writes))
        self.touched = self.written.union(graph.shared_memory)

    def base_of(self, value: Value) -> Value:
        return self._base.get(value, value)

    def is_written(self, value: Value) -> bool:
        return self.base_of(value) in self.touched
