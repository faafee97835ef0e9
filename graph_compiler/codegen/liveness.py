"""Uses of the values of one block: which node uses each last, and how often it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from itertools import chain
from typing import Any

from ..ir.node import Node, Value, values_in
from ..sizes import Size
from ..trees import iterate_structure


def arrays_in(structure: Any) -> set[Value]:
    """Return the values in nested arguments, with the sources of numbers and strides, but not of sizes."""
    found = set()
    for item in iterate_structure(structure):
        if isinstance(item, Value):
            found.add(item)
        elif isinstance(item, Size):
            found.update(symbol.source for symbol in item.symbols() if symbol.kind != "size")
    return found


class Liveness:
    """Uses of the values of one block.

    made: values that its nodes compute.
    own: these, and the inputs whose names the block may assign again after their last use.
    measured: inputs whose sizes are read before the first line.
    needed: values that are read after the last node.
    last_use: for each node, the values that it is the last to use or compute and that are not ``needed``.
        Reading the size of a value in ``measured`` is no use. Nodes without such values have no entry.
    uses: how often each value is read.
    """

    def __init__(
        self, nodes: Sequence[Node], roots: Any, assignable: Set[Value], measured: Set[Value]
    ) -> None:
        self.made = {value for node in nodes for value in node.outputs}
        self.own = self.made | assignable
        self.measured = measured
        self.needed = set(values_in(roots))
        if not measured.isdisjoint(self.needed):
            self.needed -= measured - arrays_in(roots)
        last: dict[Value, Node] = {}
        for node in nodes:
            last.update(dict.fromkeys(node.outputs, node))
            for value in node.uses:
                # Most values are operands themselves.
                if (
                    value not in measured
                    or id(value) in map(id, node.inputs)
                    or value in arrays_in((node.inputs, node.params))
                ):
                    last[value] = node
        self.last_use: dict[Node, list[Value]] = {}
        for value, node in last.items():
            if value not in self.needed:
                self.last_use.setdefault(node, []).append(value)
        self.uses = Counter(chain.from_iterable(map(Node.reads, nodes)))

    def unused_outputs(self, node: Node) -> set[Value]:
        return self.made.intersection(self.last_use.get(node, ())).intersection(node.outputs)

    def is_only_read_by(self, node: Node, item: Value) -> bool:
        """Return True if only ``node`` still reads ``item``, once, and its name may be assigned again."""
        return (
            item in self.own
            and item in self.last_use.get(node, ())
            and sum(each is item for each in iterate_structure(node.inputs)) == 1
        )
