"""Lifting table of JAX, and the builder of its rows.

Rows of public functions are registered by dotted name (``jax.nn.softmax``, ``jax.Array.__getitem__``),
rows of primitives by name with ``_p`` (``dot_general_p``). A row gets Python numbers for the scalar
operands of a primitive. If no operand is an array, the first is converted to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....ir import Graph, Value
from ....ir.node import Node
from ....ops.registry import ArraySpec
from ...common.builder import RaisingBuilder
from ...common.lifter import LiftingTable
from ..dtypes import dtype_name
from .ranges import Range, note_scan_inputs

rows = LiftingTable("jax")


class JaxBuilder(RaisingBuilder):
    """Builder with JAX's dtype rules: operands of a primitive have equal dtypes, and result specs are known.

    ranges: cached ranges of integer values.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.ranges: dict[Value, Range | None] = {}

    def enter(self, node: Node, operands: Sequence[Any], inputs: Sequence[Value]) -> None:
        note_scan_inputs(self, node, operands, inputs)

    def result_type(self, *operands: Any) -> str:
        found = [item.dtype for item in operands if isinstance(item, Value)]
        return found[0] if found else dtype_name(type(operands[0]))

    def left(self, index: Any, size: Any) -> None:
        raise NotImplementedError(f"index {index} of an axis of size {size}")

    @property
    def result(self) -> ArraySpec:
        return self.recorded[0]

    def without_elements(self, *operands: Value) -> Value:
        for size in (size for operand in operands for size in operand.shape):
            self.fix(size)
        return self.zeros(shape=self.result.hints, dtype=self.result.dtype)

    def as_result(self, x: Any) -> Any:
        return self.array(x, self.result.dtype)


def int_tuple(axes: Any) -> tuple[int, ...]:
    return tuple(int(axis) for axis in axes)
