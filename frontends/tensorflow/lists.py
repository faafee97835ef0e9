"""Lists of tensors, which ``tf.TensorArray`` is made of, as arrays: a list of equal tensors is one array with an axis more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.node import Value
from .dtypes import dtype_name
from .held import Held
from .known import known, nested
from .names import RAW
from .reader import Handler, Reader


@dataclass(frozen=True)
class Unfilled:
    """A list of which single tensors were written, at known places, or none yet."""

    rows: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A list after a step of a loop has written one row into it, at an index that the loop computes."""

    row: Any


@dataclass(frozen=True)
class Rows:
    """A list that step n of a loop reads at n: the row of the step."""

    row: Any


def from_array(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``TensorListFromTensor``: the array itself."""
    return [Held(reader.value(operands[0]), reader.seen(operation, operands)[0])]


def reserved(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``TensorListReserve``: nothing is in it yet."""
    return [Held(Unfilled(), reader.seen(operation, operands)[0])]


def item_of(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``TensorListGetItem``: a row."""
    held, index, _ = operands
    if isinstance(held.item, Rows):
        return [held.item.row]
    (seen,) = reader.seen(operation, operands)
    if isinstance(held.item, Unfilled) and isinstance(index.item, np.ndarray) and nested(index.item) in held.item.rows:
        return [held.item.rows[nested(index.item)]]
    attributes = {"batch_dims": 0, "Tparams": dtype_name(seen.dtype), "Tindices": "int32", "Taxis": "int32"}
    operand = nested(index.item) if isinstance(index.item, np.ndarray) else index.item
    return reader.call(f"{RAW}GatherV2", (_array(reader, operation, held), operand, 0), attributes, [seen], reader.origin(operation))


def with_item(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``TensorListSetItem``: another row in its place."""
    held, index, row = operands
    (seen,) = reader.seen(operation, operands)
    is_known = isinstance(index.item, np.ndarray)
    if isinstance(held.item, Unfilled):
        place = nested(index.item) if is_known else index.item
        item: Any = Unfilled({**held.item.rows, place: row}) if is_known else Written(row)
        return [Held(item, seen)]
    attributes = {"T": dtype_name(row.seen.dtype), "Tindices": "int32", "bad_indices_policy": ""}
    dtype = dtype_name(row.seen.dtype)
    array = _array(reader, operation, held)
    place = ((nested(index.item),),) if is_known else _as_row(reader, operation, index, 2, "int32")
    rows = _as_row(reader, operation, row, 1, dtype)
    whole = stack(seen, row.seen)
    (made,) = reader.call(f"{RAW}TensorScatterUpdate", (array, place, rows), attributes, [whole], reader.origin(operation))
    return [Held(made.item, seen)]


def stacked(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``TensorListStack``: the array of all rows."""
    held = operands[0]
    (seen,) = reader.seen(operation, operands)
    if not isinstance(held.item, Unfilled):
        return [Held(_array(reader, operation, held), seen)]
    rows = [reader.value(held.item.rows[place]) for place in sorted(held.item.rows)]
    if not rows or len(rows) != seen.shape[0]:
        raise UnsupportedOperation(f"{operation.type}: rows of a TensorArray that were never written\n    {reader.origin(operation)}")
    attributes = {"N": len(rows), "T": rows[0].dtype, "axis": 0}
    return reader.call(f"{RAW}Pack", (tuple(rows),), attributes, [seen], reader.origin(operation))


def stack(tensors: Any, row: Any) -> Any:
    """The array of all rows of a list of TensorFlow's, one of which is given."""
    return tf.raw_ops.TensorListStack(input_handle=tensors, element_shape=row.shape, element_dtype=row.dtype)


def length_of(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``TensorListLength``."""
    (seen,) = reader.seen(operation, operands)
    return [Held(known(int(seen)), seen)]


def _as_row(reader: Reader, operation: Any, held: Held, axes: int, dtype: str) -> Value:
    """An array with more axes of length 1 in front."""
    value, seen = reader.value(held), held.seen
    for _ in range(axes):
        seen = tf.expand_dims(seen, 0)
        (made,) = reader.call(f"{RAW}ExpandDims", (value, 0), {"T": dtype, "Tdim": "int32"}, [seen], reader.origin(operation))
        value = made.item
    return value


def _array(reader: Reader, operation: Any, held: Held) -> Value:
    if isinstance(held.item, Value):
        return held.item
    raise UnsupportedOperation(
        f"{operation.type}: a list of tensors that is read before it is filled, or grows\n    {reader.origin(operation)}"
    )


READ: dict[str, Handler] = {
    "TensorListFromTensor": from_array,
    "TensorListReserve": reserved,
    "TensorListGetItem": item_of,
    "TensorListSetItem": with_item,
    "TensorListStack": stacked,
    "TensorListLength": length_of,
}
