"""Ranges of integers that follow from the operation that computed them (``x & 255``, ``i % n``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir import Node, Value
from ....ir.builder import Builder
from ....ops.bounds import nonnegative
from ....ops.dtypes import is_bool, is_integer
from ....sizes import Size, product

# Lower and upper bound, as ints or sizes.
Ends = tuple[Any, Any]


def bounds_of(b: Builder, x: Any) -> Ends | None:
    """Return inclusive lower and upper bounds of an integer, or of all elements of an integer array.

    Booleans count as integers. The bounds need not be tight. Return None if none are known.
    """
    if not isinstance(x, Value):
        return (x, x) if isinstance(x, (int, Size)) else None
    made = b.maker(x)
    row = _ROWS.get(made.op) if made is not None else None
    found = row(b, made) if row is not None and made is not None else _of_constant(b, x)
    return _of_type(x.dtype) if found is None else found


def _of_constant(b: Builder, x: Value) -> Ends | None:
    array = next((array for value, array in b.graph.constants.values() if value is x), None)
    return (int(array), int(array)) if isinstance(array, np.integer) else None


def _of_type(dtype: str) -> Ends | None:
    if is_bool(dtype):
        return 0, 1
    # The range of a wider dtype exceeds the size of any axis, so it is no useful bound.
    if not is_integer(dtype) or np.dtype(dtype).itemsize > 2:
        return None
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _place(b: Builder, node: Node) -> Ends | None:
    shape, axis = node.inputs[0].shape, node.params["axis"]
    return 0, (product(shape) if axis is None else shape[axis]) - 1


def _masked(b: Builder, node: Node) -> Ends | None:
    # A bitwise and has only bits that both operands have.
    ends = [
        found for item in node.inputs if (found := bounds_of(b, item)) is not None and nonnegative(found[0])
    ]
    return (0, ends[-1][1]) if ends else None


def _remainder(b: Builder, node: Node) -> Ends | None:
    ends = bounds_of(b, node.inputs[1])
    return (0, ends[1] - 1) if ends is not None and nonnegative(ends[0] - 1) else None


def _cast(b: Builder, node: Node) -> Ends | None:
    source, own = node.inputs[0].dtype, node.outputs[0].dtype
    holds_all = (is_bool(source) or is_integer(source)) and np.can_cast(source, own)
    return bounds_of(b, node.inputs[0]) if holds_all else None


_ROWS: dict[str, Callable[[Builder, Node], Ends | None]] = {
    "argmax": _place,
    "argmin": _place,
    "bitwise_and": _masked,
    "remainder": _remainder,
    "astype": _cast,
}
