"""Operations that assign a part of a variable, or read one, as operations on what it holds: the variable holds their result afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import UnsupportedOperation
from .bookkeeping import variable_of
from .dtypes import dtype_name
from .evaluation import handle_number
from .held import Held
from .names import RAW, definition
from .operations import attributes_of
from .reader import Handler, Reader, as_operand

_SCATTERS = ("Update", "Add", "Sub", "Min", "Max")


def _scattered(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``ResourceScatterNdAdd`` and the like: ``TensorScatterAdd`` of what the variable holds."""
    handle, places, rows = operands
    name = f"TensorScatter{operation.type.removeprefix('ResourceScatter').removeprefix('Nd')}"
    _leave(reader, operation, handle, name, {"indices": places, "updates": rows})
    return []


def _scattered_rows(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``ResourceScatterAdd`` and the like, whose places are numbers of rows."""
    handle, places, rows = operands
    if rows.made.shape.rank == 0 and places.made.shape.rank != 0 or variable_of(reader, operation, handle).made.shape.rank == 0:
        raise UnsupportedOperation(f"{operation.type} of one number for many rows\n    {reader.origin(operation)}")
    return _scattered(reader, operation, (handle, _with_axis(reader, operation, places), rows))


def _with_axis(reader: Reader, operation: Any, places: Held) -> Held:
    seen = tf.expand_dims(places.seen, -1)
    if isinstance(places.item, np.ndarray):
        return Held(np.expand_dims(places.item, -1), seen)
    attributes = {"T": dtype_name(seen.dtype), "Tdim": "int32"}
    return reader.call(f"{RAW}ExpandDims", (places.item, -1), attributes, [seen], reader.origin(operation))[0]


def _slice_assigned(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``ResourceStridedSliceAssign``: ``TensorStridedSliceUpdate`` of what the variable holds."""
    handle, begin, end, strides, value = operands
    parts = {"begin": begin, "end": end, "strides": strides, "value": value}
    _leave(reader, operation, handle, "TensorStridedSliceUpdate", parts)
    return []


def _leave(reader: Reader, operation: Any, handle: Held, name: str, operands: dict[str, Held]) -> None:
    """The variable holds what an operation on its elements gives."""
    number = handle_number(handle.seen)
    reader.variables[number] = _made(reader, operation, variable_of(reader, operation, handle), name, operands)
    reader.assigned[number] = str(reader.weights.name_of(handle.seen, ()))


def _made(reader: Reader, operation: Any, array: Held, name: str, operands: dict[str, Held]) -> Held:
    declared = definition(name)
    own = {"T": dtype_name(array.made.dtype), "Tparams": dtype_name(array.made.dtype), "bad_indices_policy": "", **attributes_of(operation)}
    attributes = {attribute.name: own[attribute.name] for attribute in declared.attr}
    masks = {attribute: value for attribute, value in attributes.items() if attribute.endswith("_mask")}
    first = declared.input_arg[0].name
    seen = getattr(tf.raw_ops, name)(**{first: array.seen}, **{key: held.seen for key, held in operands.items()}, **masks)
    inputs = (reader.value(array), *(as_operand(held.item) for held in operands.values()))
    return reader.call(f"{RAW}{name}", inputs, attributes, [seen], reader.origin(operation))[0]


def _gathered(reader: Reader, operation: Any, operands: Sequence[Held]) -> list[Held]:
    """``ResourceGatherNd``: ``GatherNd`` of what the variable holds."""
    handle, places = operands
    return [_made(reader, operation, variable_of(reader, operation, handle), "GatherNd", {"indices": places})]


READ: dict[str, Handler] = {
    **{f"ResourceScatterNd{kind}": _scattered for kind in _SCATTERS},
    **{f"ResourceScatter{kind}": _scattered_rows for kind in _SCATTERS},
    "ResourceStridedSliceAssign": _slice_assigned,
    "ResourceGatherNd": _gathered,
}
