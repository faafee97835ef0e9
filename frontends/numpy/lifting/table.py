"""The one table that the files beside this one fill, and the builder its rows write with.

A row has the signature of numpy's function, after the builder; a method shares the row of the function of its
name, unless there is one for ``ndarray.<name>``. ``out``, and ``where`` of ufuncs, are dealt with before a
row is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ir import Value
from ....ops.bounds import nonnegative
from ....ops.dtypes import is_inexact
from ....sizes import Size, apply, hint_of
from ...common.builder import RaisingBuilder
from ...common.lifter import Rows
from .value_ranges import ends_of

rows = Rows("numpy")


class NumpyBuilder(RaisingBuilder):
    """A builder with the type rules of NumPy 2 at hand (NEP 50): Python's numbers take the type of the arrays
    beside them.

    ``weak`` are the values among the arguments of the call that are numbers of Python in the user's code.
    """

    weak: frozenset[Value] = frozenset()

    def type_of(self, item: Any) -> Any:
        """What numpy's promotion takes: the dtype of an array, a number of the class of a number."""
        if isinstance(item, Value):
            return np.dtype(item.dtype).type(0).item() if item in self.weak else np.dtype(item.dtype)
        number = hint_of(item)
        return np.dtype(bool) if isinstance(number, bool) else number

    def result_type(self, *operands: Any) -> str:
        return str(np.result_type(*map(self.type_of, operands)).name)

    def refuse_outside(self, index: Value, size: Any) -> None:
        """An index beyond the end is an error that the user's code may handle. One that cannot be there, as
        the place of an extremum or ``x & 255`` of a long enough axis, is none.
        """
        ends = ends_of(self, index)
        if ends is None or not self._are_inside(*ends, size):
            place = self.cast(index, "int64")  # -size and size are numbers of few types
            self.expect(self.logical_and(self.greater_equal(place, -size), self.less(place, size)), True)

    def _are_inside(self, low: Any, high: Any, size: Any) -> bool:
        """Whether both ends are indices of an axis; where they are numbers, from here on under a guard on its
        size.
        """
        spare = [each for each in (low + size, size - 1 - high) if not nonnegative(each)]
        if any(hint_of(each) < 0 for each in spare) or (
            spare and not (isinstance(low, int) and isinstance(high, int))
        ):
            return False
        for each in spare:
            self.guard(apply("ge", each, 0))
        return True

    def array(self, x: Any, dtype: str | None = None) -> Value:
        """``x`` as an array: nested lists of numbers and arrays too."""
        if isinstance(x, (list, tuple)):
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
