"""Which node makes a value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from .node import Node, Value


class Makers:
    """An index of a list of nodes, brought up to date when it is asked.

    A list of nodes under construction grows at its end, and is cut back there where a row gives up; then only what has changed is indexed
    again. A node moved to an earlier place, by a frontend that finds late what has happened before, costs a new index from there on.
    """

    __slots__ = ("_known", "_makers")

    def __init__(self) -> None:
        self._known: list[Node] = []
        self._makers: dict[Value, Node] = {}

    def of(self, value: Value, nodes: Sequence[Node]) -> Node | None:
        """The node of ``nodes`` that makes the value; None where it comes from outside of them."""
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
