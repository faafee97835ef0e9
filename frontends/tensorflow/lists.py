"""Lifts tensor lists, on which ``tf.TensorArray`` is built, to arrays with an additional first axis."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.node import CallRecord, Value
from ...sizes import Size, Symbol, apply, hint_of
from .known_numbers import as_known_array, nested
from .names import RAW, dtype_name
from .reader import GraphReader, Handler, as_operand
from .variables import TensorValue

_PLAIN = CallRecord()


def all_sizes(value: Value) -> tuple[Any, ...]:
    return tuple(Size.of(Symbol(value, axis, hint)) for axis, hint in enumerate(value.spec.hints))


@dataclass(frozen=True)
class Arrays:
    """Builder of raw operations on arrays that replace ``operation`` of a traced graph."""

    reader: GraphReader
    operation: Any

    def call(
        self,
        name: str,
        operands: Sequence[Any],
        attributes: dict[str, Any],
        seen: Any,
        record: CallRecord = _PLAIN,
    ) -> TensorValue:
        """Append a call of the raw operation ``name`` and return its result.

        ``seen`` is the concrete array of the result. A list in ``operands`` is one list argument.
        """
        inputs = tuple(
            tuple(map(self._operand, item)) if isinstance(item, list) else self._operand(item)
            for item in operands
        )
        return self.reader.call(
            f"{RAW}{name}", inputs, attributes, [seen], self.reader.origin(self.operation), record
        )[0]

    def _operand(self, item: Any) -> Any:
        return as_operand(item.item) if isinstance(item, TensorValue) else item

    def array(self, held: TensorValue) -> TensorValue:
        return TensorValue(self.reader.value(held), held.seen)

    def zeros(self, shape: Sequence[Any], dtype: str) -> TensorValue:
        seen = tf.zeros([hint_of(size) for size in shape], dtype)
        zero = self.reader.value(TensorValue(as_known_array(_ZEROS.get(dtype, 0.0)), tf.zeros((), dtype)))
        return self.call("Fill", [tuple(shape), zero], {"T": dtype, "index_type": "int32"}, seen)

    def stack(self, rows: Sequence[TensorValue]) -> TensorValue:
        arrays = [self.array(row) for row in rows]
        dtype = dtype_name(arrays[0].made.dtype)
        return self.call(
            "Pack", [arrays], {"N": len(rows), "T": dtype, "axis": 0}, tf.stack([row.seen for row in rows])
        )

    def concat(self, parts: Sequence[TensorValue]) -> TensorValue:
        if len(parts) == 1:
            return parts[0]
        attributes = {"N": len(parts), "T": dtype_name(parts[0].made.dtype), "Tidx": "int32"}
        return self.call(
            "ConcatV2", [list(parts), 0], attributes, tf.concat([part.seen for part in parts], 0)
        )

    def row(self, array: TensorValue, index: TensorValue, seen: Any) -> TensorValue:
        dtypes = {
            "Tparams": dtype_name(seen.dtype),
            "Tindices": dtype_name(index.made.dtype),
            "Taxis": "int32",
        }
        return self.call("GatherV2", [array, index, 0], {"batch_dims": 0, **dtypes}, seen)

    def write_rows(
        self, array: TensorValue, places: TensorValue, rows: TensorValue, seen: Any
    ) -> TensorValue:
        dtype = dtype_name(rows.made.dtype)
        attributes = {"T": dtype, "Tindices": dtype_name(places.made.dtype), "bad_indices_policy": ""}
        is_one = places.made.shape.rank == 0
        places, rows = (
            (self.expand(places, 2), self.expand(self.array(rows), 1))
            if is_one
            else (self.expand(places, -1), self.array(rows))
        )
        return self.call("TensorScatterUpdate", [array, places, rows], attributes, seen)

    def expand(self, held: TensorValue, axes: int) -> TensorValue:
        """Return ``held`` with ``axes`` leading axes of size 1, or one trailing axis if ``axes`` is -1."""
        for _ in range(abs(axes)):
            axis = -1 if axes < 0 else 0
            seen = tf.expand_dims(held.seen, axis)
            if isinstance(held.item, np.ndarray):
                held = TensorValue(np.expand_dims(held.item, axis), seen)
            else:
                held = self.call(
                    "ExpandDims", [held, axis], {"T": dtype_name(seen.dtype), "Tdim": "int32"}, seen
                )
        return held

    def reverse(self, array: TensorValue) -> TensorValue:
        if array.made.dtype == tf.variant:
            origin = self.reader.origin(self.operation)
            raise UnsupportedOperation(
                f"{self.operation.type}: a list of lists, as the second derivative of a loop that "
                f"Python has read keeps\n    {origin}"
            )
        attributes = {"T": dtype_name(array.made.dtype), "Tidx": "int32"}
        return self.call("ReverseV2", [array, (0,)], attributes, tf.reverse(array.seen, [0]))

    def slice_rows(self, array: TensorValue, first: Any, length: Any) -> TensorValue:
        rank = array.made.shape.rank
        begin, size = (first, *[0] * (rank - 1)), (length, *[-1] * (rank - 1))
        seen = tf.slice(array.seen, [hint_of(item) for item in begin], [hint_of(item) for item in size])
        return self.call("Slice", [array, begin, size], {"T": dtype_name(seen.dtype), "Index": "int32"}, seen)

    def reshape(self, array: TensorValue, shape: Sequence[Any]) -> TensorValue:
        seen = tf.reshape(array.seen, [hint_of(size) for size in shape])
        return self.call(
            "Reshape", [array, tuple(shape)], {"T": dtype_name(seen.dtype), "Tshape": "int32"}, seen
        )


_ZEROS: dict[str, Any] = {
    "bool": False,
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), 0),
}


def number_in(held: TensorValue) -> Any:
    return nested(held.item) if isinstance(held.item, np.ndarray) else None


@dataclass(frozen=True)
class PartialList:
    """List of tensors of TensorFlow (of a ``tf.TensorArray``, say) whose written rows have known indices.

    shape: the sizes of a row, with None for an unknown one, or None if nothing is known of them.
    rows: the rows written, by their index.
    """

    length: Any
    dtype: str
    shape: tuple[Any, ...] | None = None
    rows: Mapping[int, TensorValue] = field(default_factory=dict)

    def row_shape(self) -> tuple[Any, ...] | None:
        row = next(iter(self.rows.values()), None)
        if row is not None:
            return all_sizes(row.item) if isinstance(row.item, Value) else tuple(row.made.shape)
        return self.shape if self.shape is not None and None not in self.shape else None


@dataclass(frozen=True)
class OutputList:
    """List in a loop body into which each iteration writes one row. It has not been written yet."""


@dataclass(frozen=True)
class WrittenRow:
    """List in a loop body into which the iteration has written ``row``; an :class:`OutputList` before."""

    row: TensorValue


@dataclass(frozen=True)
class InputRow:
    """List in a loop body of which each iteration reads or pops one row; ``row`` is the current one."""

    row: TensorValue


@dataclass(frozen=True)
class RepeatedRow:
    """List whose rows are all equal to ``row``."""

    row: TensorValue


# ------------------------------------------------------------------------------------- conversion to arrays
def list_to_array(arrays: Arrays, held: TensorValue, shape: Sequence[Any] | None = None) -> TensorValue:
    """Return a list as an array, with zeros for rows that were not written.

    ``shape`` is the row shape to use if the list has none. Raise ``UnsupportedOperation`` for a list that
    cannot become an array.
    """
    item = held.item
    if isinstance(item, Value):
        return TensorValue(item, held.seen)
    if not isinstance(item, PartialList):
        raise UnsupportedOperation(
            f"{arrays.operation.type}: a list of tensors is used otherwise than row by row\n    "
            f"{_origin(arrays)}"
        )
    # All rows are known, so they are stacked instead of written into zeros.
    if isinstance(item.length, int) and item.rows.keys() == set(range(item.length)) and item.rows:
        return TensorValue(arrays.stack([item.rows[place] for place in range(item.length)]).item, held.seen)
    found = shape if (own := item.row_shape()) is None else own
    if found is None:
        raise UnsupportedOperation(
            f"{arrays.operation.type}: the shape of the rows of a TensorArray is not known before they "
            "are written; say it with "
            f"tf.TensorArray(..., element_shape=...)\n    {_origin(arrays)}"
        )
    array = arrays.zeros((item.length, *found), item.dtype)
    for place, row in item.rows.items():
        array = arrays.write_rows(
            array, TensorValue(as_known_array(place), tf.constant(place)), row, array.seen
        )
    return TensorValue(array.item, held.seen)


def stack_of(tensors: Any, shape: Sequence[int], dtype: Any) -> Any:
    return tf.raw_ops.TensorListStack(input_handle=tensors, element_shape=list(shape), element_dtype=dtype)


def stacked_list(held: TensorValue) -> TensorValue:
    spec = held.item.spec
    return TensorValue(held.item, stack_of(held.seen, spec.hints[1:], tf.as_dtype(spec.dtype)))


def _origin(arrays: Arrays) -> Any:
    return arrays.reader.origin(arrays.operation)


def _array(arrays: Arrays, held: TensorValue, shape: Sequence[Any] | None = None) -> TensorValue:
    return stacked_list(list_to_array(arrays, held, shape))


def _shape_in(held: TensorValue) -> tuple[Any, ...] | None:
    if not isinstance(held.item, np.ndarray) or held.item.ndim == 0:
        return None
    return tuple(None if isinstance(size, int) and size < 0 else size for size in held.item.tolist())


def _length_in(reader: GraphReader, operation: Any, held: TensorValue) -> Any:
    number, recorder = number_in(held), reader.recorder
    if (
        number is None
        and isinstance(held.item, Value)
        and not recorder.in_block
        and not recorder.is_random(held.item)
    ):
        number = int(held.seen)
        recorder.decide_value(held.item, number, reader.origin(operation))
    if number is None:
        raise UnsupportedOperation(
            f"{operation.type}: how many tensors a TensorArray has is computed from elements of arrays "
            "inside of a loop or "
            f"branch\n    {reader.origin(operation)}"
        )
    return number


def _sizes_in_list(held: TensorValue) -> tuple[Any, ...] | None:
    if isinstance(held.item, Value):
        return all_sizes(held.item)
    shape = held.item.row_shape() if isinstance(held.item, PartialList) else None
    return None if shape is None else (held.item.length, *shape)


# ------------------------------------------------------------------------------------- new lists
def from_array(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    return [TensorValue(reader.value(operands[0]), reader.concrete_results(operation, operands)[0])]


def reserve(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    shape, length = operands
    dtype = dtype_name(operation.get_attr("element_dtype"))
    item = PartialList(_length_in(reader, operation, length), dtype, _shape_in(shape))
    return [TensorValue(item, reader.concrete_results(operation, operands)[0])]


def empty(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    dtype = operation.get_attr("element_dtype")
    name = "float32" if dtype == tf.variant else dtype_name(dtype)
    return [
        TensorValue(
            PartialList(0, name, _shape_in(operands[0])), reader.concrete_results(operation, operands)[0]
        )
    ]


def scatter(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    arrays = Arrays(reader, operation)
    if operation.type == "TensorListScatterV2":
        (seen,) = reader.concrete_results(operation, operands)
        rows, places, _, length = operands
        size = _length_in(reader, operation, length)
        size = _length_for(arrays, places) if hint_of(size) < 0 else size
        before = TensorValue(PartialList(size, dtype_name(rows.made.dtype)), seen)
    else:
        before, rows, places = operands
        before = _lengthened(arrays, before, places, rows.made.shape[1:])
        (seen,) = reader.concrete_results(operation, [before, rows, places])
    rows = arrays.array(rows)
    array = list_to_array(arrays, before, all_sizes(rows.item)[1:])
    return [
        TensorValue(
            arrays.write_rows(array, places, rows, stack_of(seen, rows.made.shape[1:], rows.made.dtype)).item,
            seen,
        )
    ]


def _length_for(arrays: Arrays, places: TensorValue) -> Any:
    if not isinstance(places.item, np.ndarray):
        raise UnsupportedOperation(
            f"{arrays.operation.type}: the length of a TensorArray depends on elements of arrays\n    "
            f"{_origin(arrays)}"
        )
    ends = [place + 1 for place in nested(places.item)]
    return functools.reduce(functools.partial(apply, "max"), ends) if ends else 0


def _lengthened(arrays: Arrays, held: TensorValue, places: TensorValue, shape: Any) -> TensorValue:
    """Return ``held``, made longer with rows of zeros if it is too short for ``places`` while recording."""
    sizes = all_sizes(held.item) if isinstance(held.item, Value) else ()
    length = sizes[0] if sizes else getattr(held.item, "length", None)
    is_known = isinstance(places.item, np.ndarray)
    if length is None or not is_known and max(places.seen.numpy(), default=-1) < hint_of(length):
        return held
    end = _length_for(arrays, places)
    seen = _with_zeros(held.seen, hint_of(end) - hint_of(length), shape, held.item.dtype)
    if not sizes:
        return TensorValue(replace(held.item, length=apply("max", length, end)), seen)
    condition = apply("ge", length, end)
    if isinstance(condition, Size):
        condition = arrays.reader.recorder.decide_size(condition, _origin(arrays))
    if condition:
        return held
    added = arrays.zeros((end - length, *sizes[1:]), held.item.dtype)
    return TensorValue(arrays.concat([_array(arrays, held), added]).item, seen)


def _with_zeros(tensors: Any, count: int, shape: Any, dtype: str) -> Any:
    if count <= 0:
        return tensors
    # TensorFlow does not initialize the rows of a list that it makes longer.
    rows = tf.concat([stack_of(tensors, shape, tf.as_dtype(dtype)), tf.zeros([count, *shape], dtype)], 0)
    return tf.raw_ops.TensorListFromTensor(tensor=rows, element_shape=list(shape))


def split(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    array, _, lengths = operands
    if not isinstance(lengths.item, np.ndarray):
        raise UnsupportedOperation(
            f"{operation.type}: the lengths are computed from elements of arrays\n    "
            f"{reader.origin(operation)}"
        )
    arrays, first, rows = Arrays(reader, operation), 0, dict[int, TensorValue]()
    for place, length in enumerate(lengths.item.tolist()):
        rows[place] = arrays.slice_rows(arrays.array(array), first, length)
        first += length
    item = PartialList(len(rows), dtype_name(array.made.dtype), None, rows)
    return [TensorValue(item, reader.concrete_results(operation, operands)[0])]


# ------------------------------------------------------------------------------------- reads
def get_item(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    held, index, _ = operands
    if isinstance(held.item, (InputRow, RepeatedRow)):
        return [held.item.row]
    if isinstance(held.item, PartialList) and number_in(index) in held.item.rows:
        return [held.item.rows[number_in(index)]]
    arrays = Arrays(reader, operation)
    return [arrays.row(_array(arrays, held), index, reader.concrete_results(operation, operands)[0])]


def gather(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    arrays = Arrays(reader, operation)
    return [
        arrays.row(_array(arrays, operands[0]), operands[1], reader.concrete_results(operation, operands)[0])
    ]


def pop_back(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    held, shape = operands
    if isinstance(held.item, (InputRow, RepeatedRow)):
        return [held, held.item.row]
    seen = reader.concrete_results(operation, operands)
    if isinstance(held.item, PartialList) and (last := held.item.length - 1) in held.item.rows:
        rest = {place: row for place, row in held.item.rows.items() if place != last}
        return [
            TensorValue(replace(held.item, length=last, rows=rest), seen[0]),
            TensorValue(held.item.rows[last].item, seen[1]),
        ]
    arrays = Arrays(reader, operation)
    array = _array(arrays, held, _shape_in(shape))
    last = all_sizes(array.item)[0] - 1
    row = arrays.row(array, TensorValue(as_known_array(last), tf.constant(hint_of(last))), seen[1])
    return [TensorValue(arrays.slice_rows(array, 0, last).item, seen[0]), row]


def stack_list(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    # TensorFlow stacks no rows only if their shape is stated, and a loop knows the shape of what it writes.
    if isinstance(operands[0].item, Value) and not operands[0].item.spec.hints[0]:
        return [stacked_list(operands[0])]
    (seen,), arrays = reader.concrete_results(operation, operands), Arrays(reader, operation)
    return [TensorValue(list_to_array(arrays, operands[0], _shape_in(operands[1])).item, seen)]


def concat_list(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    held, arrays, seen = operands[0], Arrays(reader, operation), reader.concrete_results(operation, operands)
    if (
        isinstance(held.item, PartialList)
        and isinstance(held.item.length, int)
        and held.item.rows.keys() == set(range(held.item.length))
    ):
        rows = [arrays.array(held.item.rows[place]) for place in range(held.item.length)]
        lengths = as_known_array(tuple(all_sizes(row.item)[0] for row in rows))
        return [arrays.concat(rows), TensorValue(lengths, seen[1])]
    array = _array(arrays, held)
    count, length, *rest = all_sizes(array.item)
    each = as_known_array((length,) * count) if isinstance(count, int) else None
    return [arrays.reshape(array, (count * length, *rest)), TensorValue(each, seen[1])]


def length_of(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    (seen,), held = reader.concrete_results(operation, operands), operands[0]
    length = all_sizes(held.item)[0] if isinstance(held.item, Value) else getattr(held.item, "length", None)
    if length is None:
        raise UnsupportedOperation(
            f"{operation.type}: a list that a loop fills is asked for its length\n    "
            f"{reader.origin(operation)}"
        )
    return [TensorValue(as_known_array(length), seen)]


def element_shape(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    (seen,), sizes = reader.concrete_results(operation, operands), _sizes_in_list(operands[0])
    return [
        TensorValue(
            as_known_array(
                tuple(seen.numpy().tolist()) if sizes is None or seen.shape.rank == 0 else sizes[1:]
            ),
            seen,
        )
    ]


# ------------------------------------------------------------------------------------- writes
def set_item(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    held, index, row = operands
    (seen,), place = reader.concrete_results(operation, operands), number_in(index)
    if isinstance(held.item, OutputList):
        return [TensorValue(WrittenRow(row), seen)]
    if isinstance(held.item, PartialList) and isinstance(place, int):
        length = (
            apply("max", held.item.length, place + 1)
            if operation.get_attr("resize_if_index_out_of_bounds")
            else held.item.length
        )
        return [TensorValue(replace(held.item, length=length, rows={**held.item.rows, place: row}), seen)]
    arrays, sizes = (
        Arrays(reader, operation),
        all_sizes(row.item) if isinstance(row.item, Value) else tuple(row.made.shape),
    )
    array = list_to_array(arrays, held, sizes)
    # The rows of an array have one shape, so the sizes of the new row must equal it.
    for size, wanted in zip(sizes, all_sizes(array.item)[1:]):
        if isinstance(condition := apply("eq", size, wanted), Size):
            reader.recorder.decide_size(condition, reader.origin(operation))
    return [
        TensorValue(
            arrays.write_rows(array, index, row, stack_of(seen, row.made.shape, row.made.dtype)).item, seen
        )
    ]


def push_back(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    held, row = operands
    (seen,) = reader.concrete_results(operation, operands)
    if isinstance(held.item, OutputList):
        return [TensorValue(WrittenRow(_outer_numbers(reader, operation, row)), seen)]
    # Nothing reads this list.
    if held.item is None:
        return [TensorValue(None, seen)]
    if isinstance(held.item, PartialList) and isinstance(held.item.length, int):
        length = held.item.length
        return [
            TensorValue(replace(held.item, length=length + 1, rows={**held.item.rows, length: row}), seen)
        ]
    arrays = Arrays(reader, operation)
    return [
        TensorValue(arrays.concat([_array(arrays, held), arrays.expand(arrays.array(row), 1)]).item, seen)
    ]


def _outer_numbers(reader: GraphReader, operation: Any, row: TensorValue) -> TensorValue:
    if not isinstance(row.item, np.ndarray):
        return row
    # Such sizes have no meaning outside of the iteration.
    recorder, origin = reader.recorder, reader.origin(operation)

    def outside(item: Any) -> Any:
        is_inner = isinstance(item, Size) and any(
            recorder.is_inside(symbol.source) for symbol in item.symbols()
        )
        return recorder.decide_size(item, origin) if is_inner else item

    return TensorValue(as_known_array([*map(outside, row.item.ravel())]).reshape(row.item.shape), row.seen)


def resize(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    held, length = operands
    if not isinstance(held.item, PartialList):
        raise UnsupportedOperation(
            f"{operation.type}: a list that is filled is made longer\n    {reader.origin(operation)}"
        )
    size, origin = _length_in(reader, operation, length), reader.origin(operation)

    def is_inside(place: int) -> bool:
        condition = apply("lt", place, size)
        return bool(
            reader.recorder.decide_size(condition, origin) if isinstance(condition, Size) else condition
        )

    rows = {place: row for place, row in held.item.rows.items() if is_inside(place)}
    return [
        TensorValue(
            replace(held.item, length=size, rows=rows), reader.concrete_results(operation, operands)[0]
        )
    ]


def _list_or_array(name: str) -> Handler:
    def handler(
        reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
    ) -> Sequence[TensorValue]:
        if operation.inputs[0].dtype != tf.variant:
            return reader.compute(operation, operands)
        (seen,), arrays = reader.concrete_results(operation, operands), Arrays(reader, operation)
        if not any(isinstance(operand.item, (Value, PartialList)) for operand in operands):
            return [TensorValue(None, seen)]
        if name == "ZerosLike":
            return [TensorValue(_zeros_like(arrays, operands[0]), seen)]
        lists = [list_to_array(arrays, operand, _common_shape(operands)) for operand in operands]
        whole = [stacked_list(one) for one in lists]
        attributes = {"N": len(lists), "T": whole[0].item.dtype}
        return [
            TensorValue(
                arrays.call("AddN", [whole], attributes, tf.add_n([one.seen for one in whole])).item, seen
            )
        ]

    return handler


def _zeros_like(arrays: Arrays, held: TensorValue) -> Any:
    sizes = _sizes_in_list(held)
    return (
        replace(held.item, rows={})
        if isinstance(held.item, PartialList)
        else arrays.zeros(sizes or (), held.item.dtype).item
    )


def _common_shape(operands: Sequence[TensorValue]) -> Any:
    return next((sizes[1:] for sizes in map(_sizes_in_list, operands) if sizes is not None), None)


READ: dict[str, Handler] = {
    "TensorListFromTensor": from_array,
    "TensorListReserve": reserve,
    "EmptyTensorList": empty,
    "TensorListScatterV2": scatter,
    "TensorListScatterIntoExistingList": scatter,
    "TensorListSplit": split,
    "TensorListGetItem": get_item,
    "TensorListGather": gather,
    "TensorListPopBack": pop_back,
    "TensorListStack": stack_list,
    "TensorListConcatV2": concat_list,
    "TensorListLength": length_of,
    "TensorListElementShape": element_shape,
    "TensorListSetItem": set_item,
    "TensorListPushBack": push_back,
    "TensorListResize": resize,
    "AddN": _list_or_array("AddN"),
    "ZerosLike": _list_or_array("ZerosLike"),
}
