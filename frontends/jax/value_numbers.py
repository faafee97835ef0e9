"""Which values of two blocks are the same computation of the same inputs (value numbering)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend.core import Primitive

from ...ir.node import Node, Value
from ...sizes import Size
from ...trees import map_structure
from .names import REFUSE_GRADIENT, is_primitive
from .programs import jax_record


class ValueNumbers:
    """Equal numbers for values that are computed alike. Values of the outside are themselves."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._numbers: dict[Value, Any] = {}

    def follow(self, inputs: Sequence[Value], given: Sequence[Any], nodes: Sequence[Node]) -> None:
        """Numbers the values of a block whose inputs have the numbers ``given``."""
        self._numbers.update(zip(inputs, given))
        for node in nodes:
            self._node(node)

    def of(self, item: Any) -> Any:
        """The number of a value; anything else, and a value of the outside, is itself."""
        if isinstance(item, Value):
            return self._numbers.get(item, item)
        return ("size", item) if isinstance(item, Size) else (type(item), item)

    def _node(self, node: Node) -> None:
        if node.op == "custom_derivative":  # its results are those of its function
            block = node.regions[0].block
            self.follow(block.inputs, [self.of(item) for item in node.inputs], block.nodes)
            self._numbers.update(zip(node.outputs, map(self.of, block.outputs)))
            return
        if node.op == REFUSE_GRADIENT:
            self._numbers[node.outputs[0]] = self.of(node.inputs[0])
            return
        known = None if node.regions else self._call(node)
        for place, value in enumerate(node.outputs):
            self._numbers[value] = object() if known is None else self._known.setdefault((known, place), len(self._known))

    def _call(self, node: Node) -> Any:
        """What a call does; None where that cannot be compared."""
        inner = jax_record(node).primitive if is_primitive(node.op) else None
        if inner is not None and not isinstance(inner, Primitive):
            return None
        call = (node.op, _frozen(map_structure(self.of, node.inputs)), _frozen(map_structure(self.of, node.params)))
        try:
            hash(call)
        except TypeError:
            return None
        return call


def _frozen(item: Any) -> Any:
    """Nested arguments as tuples."""
    if isinstance(item, Mapping):
        return tuple((key, _frozen(part)) for key, part in item.items())
    if isinstance(item, (list, tuple)):
        return (type(item), *map(_frozen, item))
    return item
