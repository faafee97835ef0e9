"""How operations of TensorFlow find their rows, and what these get."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import UnsupportedOperation
from ....ir.graph import Graph
from ....ir.node import Node, Value
from ....ops.registry import ArraySpec
from ....sizes import Size
from ...collectives import CALLS, exchanged
from ...index_bounds import OF_TENSORFLOW, note_bounds
from ...lifter import Lifter
from ...read_numbers import fixed, is_read, read
from ..computed_operands import Elements, tied
from ..names import CONVERT, READ, REFUSE_GRADIENT, WITH_GRADIENT, row_key, types_of_operands
from ..operands import dtypes_of_operands
from . import operations
from .left_out import reason
from .table import Computed, TensorFlowBuilder, rows


def lift_graph(graph: Graph) -> Graph:
    """The canonical graph of a recorded one; ``UnsupportedOperation`` lists every operation that has no row."""
    return _TensorFlowLifter(graph).run()


class _TensorFlowLifter(Lifter):
    framework = "tensorflow"

    def builder(self, graph: Graph) -> TensorFlowBuilder:
        return TensorFlowBuilder(graph)

    def key(self, node: Node) -> str:
        return row_key(node.op)

    def row(self, node: Node) -> Callable[..., Any] | None:
        return rows.get(row_key(node.op))

    def call(self, node: Node) -> Any:
        before = len(self.result.nodes)
        result = self._by_row(node)
        if (key := self.key(node)) in OF_TENSORFLOW:
            note_bounds(self.b, key, self.result.nodes[before:])
        return result

    def _by_row(self, node: Node) -> Any:
        self.b.recorded = self.specs_recorded(node)
        operands, attributes = self.arguments(node)
        if node.op == CONVERT:
            return array_of(self.b, operands[0], attributes["dtype"])
        if node.op == REFUSE_GRADIENT:
            return self.b.refuse_gradient(operands[0], operands[0], message=attributes["message"])
        if node.op == WITH_GRADIENT:
            value, source = operands
            return self.b.with_gradient(value, source, self.b.ones(shape=source.shape, dtype=source.dtype))
        if node.op == READ:
            return read(self.b, operands[0])
        if node.op.startswith(CALLS):
            return exchanged(self.b, row_key(node.op), *operands, **attributes)
        key, row = self.key(node), self.row(node)
        if row is None:
            raise UnsupportedOperation(reason(key))
        named, static = _parameters(row), rows.static(key)
        dtypes = dtypes_of_operands(node)
        arrays = [place for place in range(len(operands)) if named[min(place, len(named) - 1)] not in static]
        for place, operand in enumerate(operands):
            if place in arrays:
                operands[place] = _as_arrays(self.b, operand, dtypes[place])
            elif not rows.takes_read(key):
                operands[place] = fixed(self.b, operand)
        if arrays and not any(isinstance(operands[place], (Value, tuple)) for place in arrays):
            operands[arrays[0]] = self.b.array(operands[arrays[0]], dtypes[arrays[0]])
        dropped = types_of_operands(key) - {*named}
        options = {name: item for name, item in attributes.items() if name not in dropped}
        try:
            return row(self.b, *operands, **options)
        except Computed:
            if node.record is None or not isinstance(node.record.extra, Elements):
                raise
            return row(self.b, *self._tied(node.record.extra, operands), **options)

    def _tied(self, elements: Elements, operands: list[Any]) -> list[Any]:
        """The operands, with what the row has to know as it was while recording."""
        return [
            tied(self.b, elements, place, operand) if place in elements.held and isinstance(operand, Value) else operand
            for place, operand in enumerate(operands)
        ]


@functools.cache
def static_places(key: str) -> tuple[int, ...]:
    """Which operands of an operation its row wants as numbers.

    >>> static_places("Slice")
    (1, 2)
    """
    row = rows.get(key)
    static = rows.static(key) if row is not None else ()
    return tuple(place for place, name in enumerate(_parameters(row)) if name in static) if static else ()


@functools.cache
def _parameters(row: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a row after the builder."""
    return tuple(inspect.signature(row).parameters)[1:]


def _as_arrays(b: TensorFlowBuilder, operand: Any, dtype: Any) -> Any:
    """An operand that is no static one: arrays, numbers, or a tuple of these where it is a list of operands (whose types are a tuple)."""
    if isinstance(dtype, tuple):
        return tuple(b.array(_as_arrays(b, item, one), one) for item, one in zip(operand, dtype))
    return array_of(b, operand, dtype) if isinstance(operand, tuple) or is_read(operand) else operand


def array_of(b: TensorFlowBuilder, rows: Any, dtype: str) -> Value:
    """Nested tuples of numbers and sizes as an array."""
    if not isinstance(rows, tuple):
        return b.array(rows, dtype)
    if _has_sizes(rows):
        made: Value = b.stack(*(array_of(b, row, dtype) for row in rows), axis=0)
        return made
    array = np.asarray(rows, dtype)
    return b.constant("constant", ArraySpec(array.shape, dtype), array)


def _has_sizes(rows: Any) -> bool:
    return any(map(_has_sizes, rows)) if isinstance(rows, tuple) else isinstance(rows, Size)


__all__ = ["lift_graph", "operations", "rows"]
