"""Index from values to the nodes that produce them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from .node import Node, Value


class Makers:
    """Index of a list of nodes that is updated on lookup.

    A list under construction grows at its end and is truncated when a row gives up, so only the changed
    tail is indexed again. Inserting a node earlier invalidates the index from that position on.
    """

    __slots__ = ("_known", "_makers")

    def __init__(self) -> None:
        self._known: list[Node] = []
        self._makers: dict[Value, Node] = {}

    def of(self, value: Value, nodes: Sequence[Node]) -> Node | None:
        """Return the node of `nodes` that produces `value`, or None."""
        known = self._known
        if len(known) != len(nodes) or (known and known[-1] is not nodes[-1]):
            self._follow(nodes)
        return self._makers.get(value)

    def _follow(self, nodes: Sequence[Node]) -> None:
        known, makers = self._known, self._makers
        while known and (len(known) > len(nodes) or known[-1] is not nodes[len(known) - 1]):
            for value in known.pop().outputs:
                makers.pop(value, None)
        for node in islice(nodes, len(known), None):
            known.append(node)
            makers.update(dict.fromkeys(node.outputs, node))
