"""Liveness of values, and their sizes in memory."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..ir.node import Node, Value
from ..ops.dtypes import ITEMSIZE
from ..sizes import product


def last_uses(nodes: Iterable[Node], needed: Container[Value]) -> dict[Node, list[Value]]:
    """Return, for each node, the values that are not read after it and are not `needed`."""
    last: dict[Value, Node] = {}
    for node in nodes:
        last.update(dict.fromkeys((*node.outputs, *node.uses), node))
    found: dict[Node, list[Value]] = {}
    for value, node in last.items():
        if value not in needed:
            found.setdefault(node, []).append(value)
    return found


def bytes_of(value: Value) -> int:
    """Return the size in bytes that an array had while recording."""
    return int(product(value.spec.hints)) * ITEMSIZE.get(value.dtype, 8)
