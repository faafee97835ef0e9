"""A backend that writes canonical operations as calls of toy_lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import toy_lists

from graph_compiler import contracts
from graph_compiler.backends.common.native import as_numpy
from graph_compiler.backends.common.rows import CanonicalDialect, Operand, Rows
from graph_compiler.errors import UnsupportedOperation

rows = Rows("toy_lists")
rows.table({
    "add": "tl.add({x1}, {x2})",
    "subtract": "tl.subtract({x1}, {x2})",
    "multiply": "tl.multiply({x1}, {x2})",
    "matmul": "tl.matmul({x1}, {x2})",
    "tanh": "tl.tanh({x})",
    "exp": "tl.exp({x})",
})  # fmt: skip


@rows.row("permute_dims")
def permute_dims(x: Operand, axes: Any) -> str:
    if axes != (1, 0):
        raise UnsupportedOperation("toy_lists exchanges the axes of matrices, and no others")
    return f"tl.transpose({x})"


@rows.row("sum")
def sum_(x: Operand, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> str:
    if axis is not None or keepdims:
        raise UnsupportedOperation("toy_lists sums all elements, and not along an axis")
    return f"tl.total({x})"


class Target(contracts.Target):
    """Graphs run as they are written, one function after the other."""

    name = "toy_lists"
    array_types = (toy_lists.Lists,)

    def convert(self, array: Any) -> Any:
        if isinstance(array, toy_lists.Lists):
            return array
        elements = as_numpy(array)  # of any framework
        return (
            None
            if elements is None
            else toy_lists.Lists(elements.ravel().tolist(), elements.shape, elements.dtype.name)
        )

    def dtype(self, name: str) -> Any:
        return name

    def to_numpy(self, array: Any) -> Any:
        return np.array(array.items, array.dtype).reshape(array.shape)

    def from_bytes(self, data: Any, dtype: str, shape: tuple[int, ...]) -> Any:
        return self.convert(data.view(dtype).reshape(shape))


class Backend(contracts.Backend):
    name = "toy_lists"
    rows = rows
    dialect = CanonicalDialect(rows, {"tl": "import toy_lists as tl"}, None, repr)
    target = Target()


backend = Backend()
