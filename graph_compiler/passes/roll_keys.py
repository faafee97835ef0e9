"""What nodes of a block have in common: for each a key that equal steps of a loop share, and the leaves in which they may differ."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from ..ir.aliases import Aliases
from ..ir.guard import GUARD
from ..ir.node import Node, Value, every
from ..ir.record import CallRecord
from ..ir.sameness import hashable, region_description
from ..ops.registry import find
from ..sizes import Size, Symbol

_HOLDS_VALUES = ("result", "writes", "views", "extra")
_FLAGS = attrgetter(*(field.name for field in fields(CallRecord) if field.name not in _HOLDS_VALUES))


@dataclass(frozen=True, slots=True)
class Row:
    """One node: ``key`` says all of it but its ``leaves``, which are the values that it reads, those that its sizes are read from, and its
    numbers."""

    key: Any
    leaves: tuple[Any, ...]

    @property
    def exact(self) -> Any:
        """The key with the numbers."""
        return (self.key, tuple(repr(leaf) for leaf in self.leaves if not isinstance(leaf, Value)))


def row_of(node: Node, aliases: Aliases) -> Row:
    """The row of a node. What may be in no loop has a key that nothing equals: writes, draws, checks, and what is written to."""
    return Row(object(), ()) if _stays(node, aliases) else _Keyed(node).row()


def _stays(node: Node, aliases: Aliases) -> bool:
    if node.op == GUARD or not node.outputs or any(map(_draws, every([node]))):
        return True
    record = node.record
    if record is not None and (record.writes or record.read):
        return True
    return bool(aliases.touched) and any(aliases.is_written(value) for value in (*node.outputs, *node.uses))


def _draws(node: Node) -> bool:
    if node.record is not None:
        return node.is_random
    declared = find(node.op)
    return declared is not None and declared.section == "random"


class _Keyed:
    """The key of one node, and the leaves that are met on the way."""

    def __init__(self, node: Node) -> None:
        self.node, self.leaves = node, list[Any]()
        self.own = {value: place for place, value in enumerate(node.outputs)}

    def row(self) -> Row:
        node = self.node
        made = tuple(value.spec for value in node.outputs)
        origin = (node.origin.file, node.origin.line, node.origin.call)
        try:
            parts = (self._of(node.inputs), self._of(node.params), self._record(node.record), tuple(map(self._region, node.regions)))
            key = (node.op, origin, made, parts)
            hash(key)
        except TypeError:  # arguments that have no hash
            return Row(object(), ())
        return Row(key, tuple(self.leaves))

    def _of(self, item: Any) -> Any:
        cls = type(item)
        if cls is Value:
            return self._value(item)
        if cls is int or cls is float:
            self.leaves.append(item)
            return cls
        if cls is tuple or cls is list:
            return (cls, *map(self._of, item))
        if cls is dict:
            return tuple((name, self._of(part)) for name, part in item.items())
        if cls is slice:
            return (slice, self._of(item.start), self._of(item.stop), self._of(item.step))
        if cls is Size:
            return item.text(self._symbol)
        return hashable(item)

    def _value(self, value: Value) -> Any:
        if value in self.own:
            return self.own[value]
        self.leaves.append(value)
        return value.spec

    def _symbol(self, symbol: Symbol) -> str:
        self._value(symbol.source)
        return f"{symbol.kind} {symbol.axis}"

    def _record(self, record: CallRecord | None) -> Any:
        if record is None:
            return None
        views = tuple((place, self._value(viewed)) for place, viewed in record.views.items())
        extra = None if record.extra is None else record.extra.mapped(lambda item: self._of(item) if _is_open(item) else item)
        return (_FLAGS(record), views, self._of(record.result), extra)

    def _region(self, region: Any) -> Any:
        sizes = tuple(self._of(size) for size in region.sizes.values())
        return (sizes, region_description(region, lambda size: None))


def _is_open(item: Any) -> bool:
    return isinstance(item, (Value, Size))


__all__ = ["Row", "row_of"]
