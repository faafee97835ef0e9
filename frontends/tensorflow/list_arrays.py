"""Arrays that lists of tensors are made of: calls of TensorFlow that put rows together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.node import Value
from ...sizes import Size, Symbol, hint_of
from .dtypes import dtype_name
from .held import Held
from .known_numbers import known, nested
from .names import RAW
from .reader import Reader, as_operand


def all_sizes(value: Value) -> tuple[Any, ...]:
    """The sizes of an array, each as a symbol."""
    return tuple(Size.of(Symbol(value, axis, hint)) for axis, hint in enumerate(value.spec.hints))


@dataclass(frozen=True)
class Arrays:
    """Writes calls for one operation of a traced graph, whose origin they have."""

    reader: Reader
    operation: Any

    def call(self, name: str, operands: Sequence[Any], attributes: dict[str, Any], seen: Any) -> Held:
        """One call that gives an array like ``seen``."""
        inputs = tuple(tuple(map(self._operand, item)) if isinstance(item, list) else self._operand(item) for item in operands)
        return self.reader.call(f"{RAW}{name}", inputs, attributes, [seen], self.reader.origin(self.operation))[0]

    def _operand(self, item: Any) -> Any:
        return as_operand(item.item) if isinstance(item, Held) else item

    def array(self, held: Held) -> Held:
        """What is held as an array of a value."""
        return Held(self.reader.value(held), held.seen)

    def zeros(self, shape: Sequence[Any], dtype: str) -> Held:
        """Zeros of sizes that are known."""
        seen = tf.zeros([hint_of(size) for size in shape], dtype)
        zero = self.reader.value(Held(known(_ZEROS.get(dtype, 0.0)), tf.zeros((), dtype)))
        return self.call("Fill", [tuple(shape), zero], {"T": dtype, "index_type": "int32"}, seen)

    def stack(self, rows: Sequence[Held]) -> Held:
        """Rows as one array."""
        arrays = [self.array(row) for row in rows]
        dtype = dtype_name(arrays[0].made.dtype)
        return self.call("Pack", [arrays], {"N": len(rows), "T": dtype, "axis": 0}, tf.stack([row.seen for row in rows]))

    def joined(self, parts: Sequence[Held]) -> Held:
        """Arrays one behind the other."""
        if len(parts) == 1:
            return parts[0]
        attributes = {"N": len(parts), "T": dtype_name(parts[0].made.dtype), "Tidx": "int32"}
        return self.call("ConcatV2", [list(parts), 0], attributes, tf.concat([part.seen for part in parts], 0))

    def row(self, array: Held, index: Held, seen: Any) -> Held:
        """One row, or several."""
        dtypes = {"Tparams": dtype_name(seen.dtype), "Tindices": dtype_name(index.made.dtype), "Taxis": "int32"}
        return self.call("GatherV2", [array, index, 0], {"batch_dims": 0, **dtypes}, seen)

    def written(self, array: Held, places: Held, rows: Held, seen: Any) -> Held:
        """The array with other rows at these places, one or several."""
        dtype = dtype_name(rows.made.dtype)
        attributes = {"T": dtype, "Tindices": dtype_name(places.made.dtype), "bad_indices_policy": ""}
        is_one = places.made.shape.rank == 0
        places, rows = (self.deeper(places, 2), self.deeper(self.array(rows), 1)) if is_one else (self.deeper(places, -1), self.array(rows))
        return self.call("TensorScatterUpdate", [array, places, rows], attributes, seen)

    def deeper(self, held: Held, axes: int) -> Held:
        """An array with more axes of length 1 in front, or with one at the end (-1)."""
        for _ in range(abs(axes)):
            axis = -1 if axes < 0 else 0
            seen = tf.expand_dims(held.seen, axis)
            if isinstance(held.item, np.ndarray):
                held = Held(np.expand_dims(held.item, axis), seen)
            else:
                held = self.call("ExpandDims", [held, axis], {"T": dtype_name(seen.dtype), "Tdim": "int32"}, seen)
        return held

    def reversed(self, array: Held) -> Held:
        """The last row first."""
        if array.made.dtype == tf.variant:
            origin = self.reader.origin(self.operation)
            raise UnsupportedOperation(
                f"{self.operation.type}: a list of lists, as the second derivative of a loop that Python has read keeps\n    {origin}"
            )
        attributes = {"T": dtype_name(array.made.dtype), "Tidx": "int32"}
        return self.call("ReverseV2", [array, (0,)], attributes, tf.reverse(array.seen, [0]))

    def part(self, array: Held, first: Any, length: Any) -> Held:
        """So many rows."""
        rank = array.made.shape.rank
        begin, size = (first, *[0] * (rank - 1)), (length, *[-1] * (rank - 1))
        seen = tf.slice(array.seen, [hint_of(item) for item in begin], [hint_of(item) for item in size])
        return self.call("Slice", [array, begin, size], {"T": dtype_name(seen.dtype), "Index": "int32"}, seen)

    def reshaped(self, array: Held, shape: Sequence[Any]) -> Held:
        """In another shape."""
        seen = tf.reshape(array.seen, [hint_of(size) for size in shape])
        return self.call("Reshape", [array, tuple(shape)], {"T": dtype_name(seen.dtype), "Tshape": "int32"}, seen)


_ZEROS: dict[str, Any] = {"bool": False, **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), 0)}


def number_in(held: Held) -> Any:
    """The number or size that is held, None where it is computed from elements."""
    return nested(held.item) if isinstance(held.item, np.ndarray) else None
