"""Loop-invariant code motion: run operations before a loop if their operands do not change in it.

Elementwise operations that cannot fail and reads of elements are moved. Results with more axes than their
operands, such as a broadcast row, are still computed where they are used. Scalars that depend on rows of
sequences are computed for all rows at once if that pays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...ir.builder import Body, Builder
from ...ir.node import Block, Node, Value, values_in
from ...ir.rewrite import Rewriter, inline
from ...ops.axes import ELEMENTWISE
from ...ops.dtypes import is_integer
from ...ops.elementwise import RAISES_FOR_INTEGERS
from ...ops.registry import ArraySpec
from ..driver import Pass
from ..masking.ragged import EqualSizesBuilder

# ---------------------------------------------------------------------------------------------- inlined loops


class InlinedLoop:
    """Loop (``scan``) whose body is inlined, so that its nodes read values and sizes of the enclosing scope.

    given: the initial carry.
    state: values of the carry in an iteration.
    rows: values of the sequences' rows in an iteration.
    made: ``state``, ``rows`` and all results of ``nodes``. Any other value is the same in each iteration.
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
        """Return the reads and writes of the array at index ``place`` of the carry.

        Return None if nothing is written, or if a use is not supported.
        """
        found = ArrayHistory(self.state[place])
        for node in self.nodes:
            if not found.versions.isdisjoint(node.uses) and not found.add(node):
                return None
        given_on = [value for value in values_in(self.outputs) if value in found.versions]
        # A written version may leave the iteration only as the carry of the same array.
        return found if found.writes and given_on == [self.outputs[place]] != [found.array] else None


class ArrayHistory:
    """Versions of one array of the carry in an iteration, and the nodes that read and write their elements.

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

    def add(self, node: Node) -> bool:
        """Add ``node``, which uses a version; return False if it is not supported."""
        if node.op not in ("getitem", "setitem") or not self.versions.isdisjoint(
            values_in((node.inputs[1:], node.params))
        ):
            return False
        if node.op == "getitem":
            self.reads.append(node)
            return True
        value, made = node.inputs[1], node.outputs[0]
        # If only a part of the array is carried, a conversion would have to be repeated for that part.
        if made.dtype != self.array.dtype or (isinstance(value, Value) and value.dtype != made.dtype):
            return False
        self.writes.append(node)
        self.versions.add(made)
        return True


# -------------------------------------------------------------------------------------- invariant code motion
_BY_ELEMENT = frozenset((*ELEMENTWISE, "where", "astype"))
_CREATION = frozenset(("arange", "full", "zeros", "ones"))
_CHEAP = frozenset((
    "abs", "add", "astype", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "clip", "divide", "equal", "floor", "greater",
    "greater_equal", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "negative", "not_equal", "positive", "reciprocal", "relu", "round",
    "sign", "sqrt", "square", "subtract", "trunc", "where",
))  # fmt: skip
"""Operations of an instruction or two, which an iteration computes while it waits for the previous one.

Computed for all rows at once, their result would be an array that is written and read again.
"""


def _hoisted(block: Block) -> Block:
    rewriter = Rewriter(block)
    for node in map(rewriter.rewritten, block.nodes):
        loop = (
            _HoistingLoop(node)
            if node.op == "scan" and any(map(_can_hoist, node.regions[0].block.nodes))
            else None
        )
        if loop is None or not loop.finds():
            rewriter.append(node)
        else:
            rewriter.replace(node.outputs, loop.written(EqualSizesBuilder.into(rewriter, node.origin)))
    return rewriter.finish()


hoist_invariants = Pass("hoist_invariants", _hoisted, "deep", ("scan",))
"""Pass that hoists loop-invariant code."""


def _can_hoist(node: Node) -> bool:
    if node.op in _CREATION or node.op == "getitem":
        return True
    return (
        node.op in _BY_ELEMENT
        and len(node.outputs) == 1
        # Hoisted, they would run even if there is no iteration.
        and not (node.op in RAISES_FOR_INTEGERS and is_integer(node.outputs[0].dtype))
    )


class _HoistingLoop(InlinedLoop):
    def __init__(self, node: Node) -> None:
        super().__init__(node)
        # Loop-invariant values that stay in the loop, because outside they would take more memory.
        self.light: set[Value] = set()
        # Loop-invariant values that are hoisted.
        self.once: dict[Value, Node] = {}
        for each in filter(_can_hoist, self.nodes):
            if all(
                value not in self.made or value in self.light or value in self.once for value in each.uses
            ):
                self._note(each)
        self.at_once = self._of_rows()

    def _note(self, node: Node) -> None:
        (made,) = node.outputs
        read = [item for item in node.inputs if isinstance(item, Value) and item not in self.light]
        # A result with more axes than its operands would take more memory outside of the loop than they do.
        if any(item.ndim >= made.ndim for item in read):
            self.once[made] = node
        else:
            self.light.add(made)

    def _of_rows(self) -> dict[Value, Node]:
        """Return nodes that compute scalars from scalar rows, by their results; none if it does not pay."""
        rows = {row for row in self.rows if row.ndim == 0}
        found: dict[Value, Node] = {}
        for node in self.nodes:
            if (
                node.op in _BY_ELEMENT
                and _can_hoist(node)
                and node.outputs[0].ndim == 0
                and self._is_of_rows(node, rows | found.keys())
            ):
                found[node.outputs[0]] = node
        left = self._read_later(found)
        # Each hoisted value that the loop still reads is one more sequence, and each row that it no longer
        # reads is one less.
        made, gone = sum(value in left for value in found), sum(row not in left for row in rows)
        is_work = any(node.op not in _CHEAP for node in found.values())
        return found if 0 < made < gone or (0 < made == gone and is_work) else {}

    def _is_of_rows(self, node: Node, early: set[Value]) -> bool:
        if not all(
            isinstance(item, Value) and item.ndim == 0 or isinstance(item, (bool, int, float))
            for item in node.inputs
        ):
            return False
        if not self.is_still(node.params):
            return False
        return all(item in early or item not in self.made or item in self.once for item in node.uses) and any(
            item in early for item in node.uses
        )

    def _read_later(self, early: Mapping[Value, Node]) -> set[Value]:
        left = (node.uses for node in self.nodes if not self._is_made(node, early))
        return {value for uses in left for value in uses} | {*values_in(self.outputs)}

    def _is_made(self, node: Node, early: Mapping[Value, Node]) -> bool:
        return any(value in self.once or value in early for value in node.outputs)

    def finds(self) -> bool:
        return bool(self.once or self.at_once)

    # ------------------------------------------------------------------------------ rewriting
    def written(self, build: Builder) -> tuple[Value, ...]:
        outside = Rewriter(Block((), tuple(self.nodes), tuple(self.outputs)))
        inner = Rewriter(Block((), tuple(self.nodes), tuple(self.outputs)))
        for value, node in self._needed():
            outside.replace((value,), (self._again(build, outside, node),))
        inner.replace(tuple(self.once), tuple(map(outside.value, self.once)))
        sequences = dict(zip(self.rows, self.node.inputs[self.carried :]))
        sequences.update(self._sequences(build, outside))
        for node in self.nodes:
            if not self._is_made(node, self.at_once):
                inner.append(inner.rewritten(node))
        outputs = [inner.mapped(item) for item in self.outputs]
        read = {value for node in inner.nodes for value in node.uses}.union(values_in(outputs))
        sequences = {row: array for row, array in sequences.items() if row in read}
        body = Body(self.node.regions[0].name, [*self.state, *sequences], inner.nodes, outputs)
        params = {**self.node.params, "sequences": len(sequences)}
        results: tuple[Value, ...] = build.run("scan", [*self.given, *sequences.values()], [body], **params)
        for made, old in zip(results, self.node.outputs):
            made.name = old.name
        return results

    def _needed(self) -> Iterator[tuple[Value, Node]]:
        read: set[Value] = set()
        for node in reversed(self.nodes):
            if any(value in self.once or (value in self.light and value in read) for value in node.outputs):
                read.update(node.uses)
        for node in self.nodes:
            yield from (
                (value, node)
                for value in node.outputs
                if value in self.once or (value in self.light and value in read)
            )

    def _sequences(self, build: Builder, outside: Rewriter) -> dict[Value, Value]:
        vectors = dict(zip(self.rows, self.node.inputs[self.carried :]))
        for value, node in self.at_once.items():
            inputs = [
                vectors.get(item, outside.value(item)) if isinstance(item, Value) else item
                for item in node.inputs
            ]
            vectors[value] = getattr(build, node.op)(*inputs, **outside.mapped(node.params))
        return {value: vectors[value] for value in self.at_once}

    @staticmethod
    def _again(build: Builder, outside: Rewriter, node: Node) -> Value:
        made: Value = getattr(build, node.op)(*outside.mapped(node.inputs), **outside.mapped(node.params))
        outside.name(made, node.outputs[0])
        return made
