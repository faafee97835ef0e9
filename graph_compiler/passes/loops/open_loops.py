"""Scans with an inlined body, to find out which values of the body are loop-invariant."""

from __future__ import annotations

from typing import Any

from ...ir.copying import inline
from ...ir.node import Node, Value, values_in
from ...ops.registry import ArraySpec

WHOLE = (None, None, 1)


class InlinedLoop:
    """A ``scan`` whose body is inlined, so that its nodes read values and sizes of the enclosing scope.

    state: values of the carry in an iteration.
    rows: values of the sequences' rows.
    nodes, outputs: the inlined body.
    made: all values that may change from iteration to iteration.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.length, self.carried = node.params["length"], node.params["carried"]
        own = self.carried + node.params["sequences"]
        self.given = node.inputs[: self.carried]
        region, rows = (
            node.regions[0],
            [ArraySpec(item.shape[1:], item.dtype) for item in node.inputs[self.carried : own]],
        )
        specs = [*(item.spec for item in self.given), *rows]
        inputs = [Value(value.name, spec) for value, spec in zip(region.block.inputs, specs)]
        self.state, self.rows = inputs[: self.carried], inputs[self.carried :]
        nodes: list[Node] = []
        self.outputs = inline(region, [*inputs, *node.inputs[own:]], nodes.append)
        self.nodes = nodes
        self.made = {value for each in nodes for value in each.outputs} | {*inputs}

    def is_still(self, key: Any) -> bool:
        return self.made.isdisjoint(values_in(key))

    def history(self, place: int) -> ArrayHistory | None:
        """Return the reads and writes of the carried array at index ``place`` in an iteration.

        Return None if anything else is done with the array, if it is never written, or if its last version
        is not passed on exactly once, as the same part of the carry.
        """
        found = ArrayHistory(self.state[place])
        for node in self.nodes:
            if not found.versions.isdisjoint(node.uses) and not found.takes(node):
                return None
        given_on = [value for value in values_in(self.outputs) if value in found.versions]
        # The last version may leave the iteration only as the carry of the same array.
        return found if found.writes and given_on == [self.outputs[place]] != [found.array] else None


class ArrayHistory:
    """Versions of one carried array in an iteration, and the nodes that read and write elements of them.

    array: the first version.
    versions: the array and the result of each write.
    reads: the ``getitem`` nodes.
    writes: the ``setitem`` nodes, in order.
    """

    def __init__(self, array: Value) -> None:
        self.array = array
        self.versions: set[Value] = {array}
        self.reads: list[Node] = []
        self.writes: list[Node] = []

    def takes(self, node: Node) -> bool:
        """Add ``node`` and return True if it only reads or writes elements of a version.

        Return False if it uses a version in any other way, or writes with a conversion of the dtype.
        """
        if node.op not in ("getitem", "setitem") or not self.versions.isdisjoint(
            values_in((node.inputs[1:], node.params))
        ):
            return False
        if node.op == "getitem":
            self.reads.append(node)
            return True
        value, made = node.inputs[1], node.outputs[0]
        # A write that converts would have to be repeated for the part that is carried.
        if made.dtype != self.array.dtype or (isinstance(value, Value) and value.dtype != made.dtype):
            return False
        self.writes.append(node)
        self.versions.add(made)
        return True
