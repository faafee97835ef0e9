"""The table of rows that the other modules of this package fill, and the builder that rows write with.

A function or method of torch has its bare name (``add`` is the row of ``torch.add``, ``Tensor.add``,
``Tensor.__add__``, ``aten.add.Tensor``, and of ``Tensor.add_`` in place). A Python function of
``torch.nn.functional`` is looked up as ``nn.functional.<name>`` first and by its bare name next, a method
as ``Tensor.<name>``, a kernel as ``aten.<name>``. Reflected operators (``__rsub__(self, other)``) have
rows of their own. ``axis``, ``keepdims`` and ``out`` are handled before a row is called.
"""

from __future__ import annotations

from typing import Any

from ....ir import Graph, Value
from ....ops.dtypes import UNSIGNED
from ....ops.registry import get
from ...common.builder import RaisingBuilder
from ...common.lifter import LiftingTable
from ...common.read_numbers import is_read
from ..basics.tensors import dtype_name, result_type

rows = LiftingTable("torch")


class TorchBuilder(RaisingBuilder):
    """Builder with torch's dtype promotion.

    has_floats: True if calls take floats that are computed from sizes.
    states: the random stream that each result of ``get_rng_state`` represents.
    """

    masks = ("bool", "uint8")
    lists_are_tuples = True

    def __init__(self, graph: Graph, has_floats: bool = False) -> None:
        super().__init__(graph)
        # True if calls take floats that are computed from sizes.
        self.has_floats = has_floats
        # Maps results of ``get_rng_state`` to the stream of that moment.
        self.states: dict[Value, Any] = {}

    def result_type(self, *operands: Any) -> str:
        return result_type(*operands)

    def cast(self, x: Any, dtype: Any) -> Any:
        return super().cast(x, dtype_name(dtype)) if isinstance(x, Value) else x

    def promote(self, *operands: Any, dtype: Any = None) -> tuple[Any, ...]:
        """Cast the operands to the dtype that torch computes in, or to `dtype`.

        Numbers next to an array stay numbers. If all operands are numbers, they become 0-d arrays.
        """
        name = dtype_name(dtype) if dtype is not None else result_type(*operands)
        if not any(isinstance(item, Value) or is_read(item) for item in operands):
            return tuple(self.array(item, name) for item in operands)
        return tuple(self.operand(item, name) for item in operands)

    def combined(self, name: str, x: Any, y: Any) -> Any:
        return getattr(self, name)(*self.promote(x, y))

    def sum(self, x: Any, **params: Any) -> Value:
        """Emit a sum. Without a dtype, unsigned integers are summed as int64."""
        if x.dtype in UNSIGNED:
            params["dtype"] = params.get("dtype") or "int64"
        total: Value = self.apply(get("sum"), (x,), params)
        return total

    def floating(self, x: Any) -> Any:
        kind = result_type(x, 1.0) if isinstance(x, Value) else dtype_name(None)
        return self.array(x, kind)


def axes(dim: Any, rank: int) -> tuple[int, ...] | None:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return None
    return tuple(axis(d, rank) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))


def axis(dim: int, rank: int) -> int:
    return int(dim) % max(rank, 1)
