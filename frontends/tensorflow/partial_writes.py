"""Lifts operations that assign or read a part of a variable to operations on its whole value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import UnsupportedOperation
from ...ir.node import CallRecord
from .bookkeeping import read_of, sizes_of_variable, variable_of
from .dtypes import dtype_name
from .evaluation import handle_number
from .known_numbers import elements_of
from .lifting.driver import static_places
from .lists import Arrays
from .names import RAW, definition
from .operations import attributes_of
from .partial_operations import FACTORS, READS, WRITES, factors
from .reader import GraphReader, Handler, as_operand
from .variables import TensorValue


def _scatter(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, places, rows = operands
    _write(reader, operation, handle, {"indices": places, "updates": rows})
    return []


def _scatter_rows(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, places, rows = operands
    _refuse_one_for_many(reader, operation, operands)
    return _scatter(reader, operation, (handle, _with_axis(reader, operation, places), rows))


def _scale_rows(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    """Lift ``ResourceScatterMul`` and ``ResourceScatterDiv``, where an index may occur several times.

    Raise ``UnsupportedOperation`` if one number scales several rows, or if the variable is a scalar.
    """
    handle, places, rows = operands
    _refuse_one_for_many(reader, operation, operands)
    before, arrays, dtype = (
        variable_of(reader, operation, handle),
        Arrays(reader, operation),
        dtype_name(rows.seen.dtype),
    )
    count, seen, kind = (
        sizes_of_variable(reader, operation, handle)[0],
        factors(before.seen, places.seen, rows.seen),
        dtype_name(places.seen.dtype),
    )
    attributes = {"T": dtype, "Tindices": kind, "Tnumsegments": "int32"}
    product = arrays.call("UnsortedSegmentProd", [arrays.array(rows), places, count], attributes, seen)
    of_rows = {"batch_dims": 0, "Tparams": dtype, "Tindices": kind, "Taxis": "int32"}
    old, factor = (
        arrays.call("GatherV2", [arrays.array(whole), places, 0], of_rows, tf.gather(whole.seen, places.seen))
        for whole in (before, product)
    )
    name = FACTORS[operation.type]
    new = arrays.call(name, [old, factor], {"T": dtype}, getattr(tf.raw_ops, name)(x=old.seen, y=factor.seen))
    wide = _with_axis(reader, operation, places)
    after = tf.tensor_scatter_nd_update(before.seen, wide.seen, new.seen)
    attributes = {"T": dtype, "Tindices": kind, "bad_indices_policy": ""}
    _store(
        reader,
        handle,
        arrays.call("TensorScatterUpdate", [arrays.array(before), wide, new], attributes, after),
    )
    return []


def _refuse_one_for_many(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> None:
    handle, places, rows = operands
    if (
        rows.seen.shape.rank == 0
        and places.seen.shape.rank != 0
        or variable_of(reader, operation, handle).seen.shape.rank == 0
    ):
        raise UnsupportedOperation(
            f"{operation.type} of one number for many rows; give it a row for each (tf.fill)\n    "
            f"{reader.origin(operation)}"
        )


def _with_axis(reader: GraphReader, operation: Any, places: TensorValue) -> TensorValue:
    seen = tf.expand_dims(places.seen, -1)
    if isinstance(places.item, np.ndarray):
        return TensorValue(np.expand_dims(places.item, -1), seen)
    attributes = {"T": dtype_name(seen.dtype), "Tdim": "int32"}
    return reader.call(f"{RAW}ExpandDims", (places.item, -1), attributes, [seen], reader.origin(operation))[0]


def _assign_slice(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, begin, end, strides, value = operands
    _write(reader, operation, handle, {"begin": begin, "end": end, "strides": strides, "value": value})
    return []


def _write(
    reader: GraphReader, operation: Any, handle: TensorValue, operands: dict[str, TensorValue]
) -> None:
    _store(reader, handle, _compute(reader, operation, variable_of(reader, operation, handle), operands))


def _store(reader: GraphReader, handle: TensorValue, array: TensorValue) -> None:
    number = handle_number(handle.seen)
    reader.variables[number], reader.assigned[number] = array, str(reader.weights.name_of(handle.seen, ()))


def _compute(
    reader: GraphReader, operation: Any, array: TensorValue, operands: dict[str, TensorValue]
) -> TensorValue:
    name = (WRITES | READS)[operation.type]
    declared = definition(name)
    own = {
        "T": dtype_name(array.made.dtype),
        "Tparams": dtype_name(array.made.dtype),
        "bad_indices_policy": "",
        **attributes_of(operation),
    }
    attributes = {attribute.name: own[attribute.name] for attribute in declared.attr}
    masks = {attribute: value for attribute, value in attributes.items() if attribute.endswith("_mask")}
    first = declared.input_arg[0].name
    seen = getattr(tf.raw_ops, name)(
        **{first: array.seen}, **{key: held.seen for key, held in operands.items()}, **masks
    )
    inputs = (reader.value(array), *(as_operand(held.item) for held in operands.values()))
    record = CallRecord(extra=elements_of(reader.recorder, [array, *operands.values()], static_places(name)))
    return reader.call(f"{RAW}{name}", inputs, attributes, [seen], reader.origin(operation), record)[0]


def _gather(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, places = operands
    return [_compute(reader, operation, read_of(reader, operation, handle), {"indices": places})]


READ: dict[str, Handler] = {
    **{kind: _scatter if "ScatterNd" in kind else _scatter_rows for kind in WRITES},
    **dict.fromkeys(FACTORS, _scale_rows),
    "ResourceStridedSliceAssign": _assign_slice,
    "ResourceGatherNd": _gather,
}
