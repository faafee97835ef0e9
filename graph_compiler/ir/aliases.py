"""Which values of a recorded graph share memory, and which memory is written to."""

from __future__ import annotations

from .graph import Graph
from .node import Value, distinct


class Aliases:
    """``base_of(value)`` is the value that owns the memory; ``written`` the bases that some node writes to.
    ``touched`` has those as well that are written to through another array from outside, which shares their memory.

    In a canonical graph nothing views and nothing writes.
    """

    def __init__(self, graph: Graph) -> None:
        self._base: dict[Value, Value] = {}
        self.written: set[Value] = set()
        for node in distinct(graph.nodes) if graph.dialect != "canonical" else ():
            if (record := node.record) is None or not (record.views or record.writes):  # as of most
                continue
            for index, viewed in record.views.items():
                self._base[node.outputs[index]] = self.base_of(viewed)
            self.written.update(map(self.base_of, record.writes))
        self.touched = self.written.union(graph.shared_memory)

    def base_of(self, value: Value) -> Value:
        """The owner of the value's memory."""
        return self._base.get(value, value)

    def is_written(self, value: Value) -> bool:
        """Whether anything writes to the value's memory."""
        return self.base_of(value) in self.touched
