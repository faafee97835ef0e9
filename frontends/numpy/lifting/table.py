"""Lifting table of NumPy, the builder of its rows, and ranges of integers.

A row gets the builder, and then the arguments of the NumPy function. A method uses the row of the function
with its name, unless ``ndarray.<name>`` has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir import Node, Value
from ....ir.builder import Builder
from ....ops.dtypes import UNSIGNED, is_bool, is_inexact, is_integer
from ....ops.rules import nonnegative
from ....sizes import Size, apply, hint_of, product
from ...common.builder import LiftingBuilder
from ...common.lifter import LiftingTable

# ----------------------------------------------------------------------------------------------- value ranges
# Ranges of integers that follow from the operation that computed them (``x & 255``, ``i % n``).

# Lower and upper bound, as ints or sizes.
Ends = tuple[Any, Any]


def bounds_of(b: Builder, x: Any) -> Ends | None:
    """Return inclusive bounds of an integer, or of the elements of an integer array; None if unknown."""
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
    # The range of a wider dtype is no useful bound of an index.
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


def _counted(b: Builder, node: Node) -> Ends | None:
    start, stop, step = node.params.get("start", 0), node.params["stop"], node.params.get("step", 1)
    is_whole = isinstance(start, (int, Size)) and isinstance(stop, (int, Size))
    return (start, stop - 1) if is_whole and step == 1 else None


def _known(b: Builder, node: Node) -> Ends | None:
    numbers = _flat([node.params["data"]])
    return (min(numbers), max(numbers)) if numbers and all(type(item) is int for item in numbers) else None


_ROWS: dict[str, Callable[[Builder, Node], Ends | None]] = {
    "argmax": _place,
    "argmin": _place,
    "arange": _counted,
    "asarray": _known,
    "bitwise_and": _masked,
    "remainder": _remainder,
    "astype": _cast,
}


# ------------------------------------------------------------------------------------------------------ table
rows = LiftingTable("numpy")


class NumpyBuilder(LiftingBuilder):
    """Builder with the type promotion of NumPy 2 (NEP 50), in which Python numbers are weakly typed.

    weak: values among the arguments of the call that are Python numbers in the user's code.
    chosen: argument ``where`` of the call if its function is element-wise, otherwise True.
    """

    weak: frozenset[Value] = frozenset()
    chosen: Any = True

    def type_of(self, item: Any) -> Any:
        """Return the argument of ``np.result_type`` for ``item``: a dtype, or a weakly typed number."""
        if isinstance(item, Value):
            return np.dtype(item.dtype).type(0).item() if item in self.weak else np.dtype(item.dtype)
        number = hint_of(item)
        return np.dtype(bool) if isinstance(number, bool) else number

    def result_type(self, *operands: Any) -> str:
        return str(np.result_type(*map(self.type_of, operands)).name)

    def refuse_outside(self, index: Value, size: Any) -> None:
        ends = bounds_of(self, index)
        if ends is None or not self._are_inside(*ends, size):
            # Narrow dtypes may not hold the size.
            place = self.cast(index, "int64")
            inside = self.logical_and(self.greater_equal(place, -size), self.less(place, size))
            self.expect(self.all(inside) if inside.ndim else inside, True)

    def refuse_negative(self, x: Value) -> None:
        """Guard that the ``chosen`` integers in ``x`` are not negative, unless known bounds show this."""
        ends = bounds_of(self, x)
        if x.dtype not in UNSIGNED and (ends is None or not nonnegative(ends[0])):
            inside = self.greater_equal(x, 0)
            if self.chosen is not True:
                inside = self.logical_or(inside, self.logical_not(self.array(self.chosen, "bool")))
            self.expect(self.all(inside) if inside.ndim else inside, True)

    def _are_inside(self, low: Any, high: Any, size: Any) -> bool:
        """Return True if ``low`` to ``high`` are found to be valid indices, maybe by a guard on ``size``."""
        spare = [each for each in (low + size, size - 1 - high) if not nonnegative(each)]
        if any(hint_of(each) < 0 for each in spare) or (
            spare and not (isinstance(low, int) and isinstance(high, int))
        ):
            return False
        for each in spare:
            self.guard(apply("ge", each, 0))
        return True

    def array(self, x: Any, dtype: str | None = None) -> Value:
        """Convert ``x``, a number, a value, or a nested list or tuple of these, to a value."""
        if isinstance(x, (list, tuple)):
            if not _flat(x):
                return self.zeros(shape=np.shape(x), dtype=dtype or "float64")
            dtype = dtype or self.result_type(*_flat(x))
            if any(isinstance(part, Value) for part in _flat(x)):
                return self.stack(*(self.array(part, dtype) for part in x), axis=0)
            return self.asarray(data=_tuples(x), dtype=dtype)
        return super().array(x, dtype)

    def cast(self, x: Any, dtype: Any) -> Any:
        return super().cast(x, dtype_name(dtype)) if isinstance(x, Value) else x

    def promote(self, *operands: Any) -> tuple[Value, ...]:
        arrays = [self.array(item) for item in operands]
        name = str(np.result_type(*(np.dtype(array.dtype) for array in arrays)).name)
        return tuple(self.array(item, name) for item in operands)

    def floating(self, x: Any) -> Value:
        x = self.array(x)
        return x if is_inexact(x.dtype) else self.astype(x, dtype="float64")

    def recorded_dtype(self, place: int = 0) -> str:
        return self.recorded[place].dtype


def dtype_name(dtype: Any) -> str:
    return str(np.dtype(dtype).name)


def _flat(items: Any) -> list[Any]:
    return [part for item in items for part in (_flat(item) if isinstance(item, (list, tuple)) else [item])]


def _tuples(item: Any) -> Any:
    return tuple(map(_tuples, item)) if isinstance(item, (list, tuple)) else item


def axis_of(axis: Any, rank: int) -> int:
    return int(axis) % max(rank, 1)


def axes_of(axis: Any, rank: int) -> tuple[int, ...] | None:
    if axis is None:
        return None
    return tuple(axis_of(one, rank) for one in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def shape_of(shape: Any) -> tuple[Any, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


__all__ = ["NumpyBuilder", "Size", "axes_of", "axis_of", "dtype_name", "rows", "shape_of"]
