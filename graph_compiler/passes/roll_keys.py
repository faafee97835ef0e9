"""What nodes of a block have in common: for each a key that equal steps of a loop share, and the leaves in which they may differ."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from itertools import count
from operator import attrgetter
from typing import Any

from ..ir.aliases import Aliases
from ..ir.block import Region
from ..ir.guard import GUARD
from ..ir.node import Node, Value, every
from ..ir.record import CallRecord
from ..ir.sameness import hashable, region_description
from ..ops.registry import ArraySpec, find
from ..sizes import Size, Symbol

_HOLDS_VALUES = ("result", "writes", "views", "extra")
_FLAGS = attrgetter(*(field.name for field in fields(CallRecord) if field.name not in _HOLDS_VALUES))


@dataclass(frozen=True, slots=True)
class Row:
    """One node: ``key`` stands for all of it but its ``leaves``, which are the values that it reads, those that its sizes are read from,
    and its numbers."""

    key: int
    leaves: tuple[Any, ...]

    @property
    def exact(self) -> Any:
        """The key with the numbers."""
        return (self.key, *(repr(leaf) if type(leaf) is float else leaf for leaf in self.leaves if type(leaf) is not Value))


class Keys:
    """The rows of nodes by themselves, whatever is done to their memory: found once for all passes that go over the same nodes.

    Without ``sizes`` keys tell of an array its data type and its number of axes alone.
    """

    def __init__(self, sizes: bool = True) -> None:
        self.sizes = sizes
        self._rows: dict[Node, Row] = {}
        self._numbers: dict[Any, int] = {}
        self._regions: dict[int, tuple[Region, int]] = {}  # by identity: calls of one function have it in common

    def of(self, node: Node, counters: Collection[Value] = ()) -> Row:
        """The row of a node; of ``counters`` the lengths do not count. ``TypeError`` where an argument has no hash."""
        row = self._rows.get(node) if not counters else None
        if row is None:
            leaves: list[Any] = []
            row = Row(self._number(_key(node, leaves, self, counters)), tuple(leaves))
            if not counters:
                self._rows[node] = row
        return row

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def of_region(self, region: Region) -> int:
        """The number for what a region does."""
        if id(region) not in self._regions:
            self._regions[id(region)] = region, self._number(region_description(region, lambda size: None))
        return self._regions[id(region)][1]

    def of_spec(self, spec: ArraySpec) -> Any:
        """What an array has in common with those that stand in its place in other steps."""
        return spec if self.sizes else (spec.dtype, spec.ndim)


class Rows:
    """The rows of the nodes of one graph.

    What may be in no loop has a key that nothing equals: draws, checks (but ``with_checks``), and writes and what is written to, but for
    the memory of ``written``, by its owners. ``with_draws``: nor have draws one.
    """

    def __init__(
        self, aliases: Aliases, with_checks: bool = False, with_draws: bool = False, written: Collection[Value] = (),
        keys: Keys | None = None,
    ) -> None:  # fmt: skip
        self.aliases, self.with_checks, self.with_draws = aliases, with_checks, with_draws
        self.apart = aliases.touched.difference(written)
        self.counters: set[Value] = set()  # of loops that are folded: how long they are their bounds say
        self._rows: dict[Node, Row] = {}
        self._keys = Keys() if keys is None else keys
        self._alone = count(-1, -1)

    def of(self, node: Node) -> Row:
        """The row of a node."""
        row = self._rows.get(node)
        if row is None:
            row = self._rows[node] = self._made(node)
        return row

    def _made(self, node: Node) -> Row:
        if not self._stays(node):
            try:
                return self._keys.of(node, self.counters)
            except TypeError:  # arguments that have no hash
                pass
        return Row(next(self._alone), ())

    def _stays(self, node: Node) -> bool:
        record = node.record
        if node.op == GUARD:
            return not self.with_checks
        if record is not None and record.read:
            return True
        if not (node.outputs or node.writes) or not self.with_draws and any(map(_draws, every([node]))):
            return True
        return bool(self.apart) and any(self.aliases.base_of(value) in self.apart for value in (*node.outputs, *node.uses, *node.writes))


def _draws(node: Node) -> bool:
    if node.record is not None:
        return node.is_random
    declared = find(node.op)
    return declared is not None and declared.section == "random"


def _key(node: Node, leaves: list[Any], keys: Keys, counters: Collection[Value]) -> Any:
    """What equal steps have in common; ``leaves`` is told the rest."""
    origin, record, read = node.origin, node.record, _Reading(node, leaves, keys, counters)
    outputs = tuple([read.spec(value) for value in node.outputs])
    parts = [node.op, origin.file, origin.line, origin.call, outputs, read.item(node.inputs), read.item(node.params)]
    if record is not None:
        parts += [
            _FLAGS(record),
            *map(read.value, record.writes),
            *((place, read.value(viewed)) for place, viewed in record.views.items()),
            read.item(record.result),
        ]
        parts.append(None if record.extra is None else record.extra.mapped(read.opened))
    for region in node.regions:
        parts += [tuple([read.item(size) for size in region.sizes.values()]), keys.of_region(region)]
    return tuple(parts)


class _Reading:
    """One look through the arguments of a node: methods, for functions that refer to each other would wait for the collector."""

    __slots__ = ("counters", "keys", "leaves", "own")

    def __init__(self, node: Node, leaves: list[Any], keys: Keys, counters: Collection[Value]) -> None:
        self.own = {value: place for place, value in enumerate(node.outputs)}
        self.leaves, self.keys, self.counters = leaves, keys, counters

    def item(self, item: Any) -> Any:
        cls = type(item)
        if cls is Value:
            return self.value(item)
        if cls is int or cls is float:
            self.leaves.append(item)
            return cls
        if cls is tuple or cls is list:
            return (cls, *map(self.item, item))
        if cls is dict:
            return tuple([(name, self.item(part)) for name, part in item.items()])
        if cls is slice:
            return (slice, self.item(item.start), self.item(item.stop), self.item(item.step))
        return item.text(self.symbol) if cls is Size else hashable(item)

    def value(self, value: Value) -> Any:
        if value in self.own:
            return self.own[value]
        self.leaves.append(value)
        return self.spec(value)

    def spec(self, value: Value) -> Any:
        return value.dtype if value in self.counters else self.keys.of_spec(value.spec)

    def symbol(self, item: Symbol) -> str:
        self.value(item.source)
        return f"{item.kind} {item.axis}"

    def opened(self, item: Any) -> Any:
        return self.item(item) if isinstance(item, (Value, Size)) else item
