"""Operations without a node of their own: constants, shapes, and reads and writes of variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import tensor_util

from ...errors import UnsupportedOperation
from ...sizes import Size, apply, hint_of
from .dtypes import dtype_name
from .evaluation import ASSIGNS, constant_of, handle_number
from .known_numbers import is_few, known
from .made_later import constant
from .names import RAW, WITH_GRADIENT
from .reader import GraphReader, Handler, as_operand
from .variables import TensorValue, sizes_of


def _const(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    proto = operation.get_attr("value")
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if not is_few(dtype_name(proto.dtype), math.prod(shape), len(shape)):
        return [reader.constant(constant_of(operation))]
    return [
        TensorValue(known(tensor_util.MakeNdarray(proto).tolist()).reshape(shape), constant(operation, shape))
    ]


def _shape(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    sizes = [sizes_of(operand, tensor) for operand, tensor in zip(operands, operation.inputs)]
    return [
        TensorValue(known(shape), tf.shape(operand.seen, operation.get_attr("out_type")))
        for shape, operand in zip(sizes, operands)
    ]


def _size(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    sizes = sizes_of(operands[0], operation.inputs[0])
    return [
        TensorValue(
            known(np.prod(np.array(sizes, object)) if sizes else 1),
            tf.size(operands[0].seen, operation.get_attr("out_type")),
        )
    ]


def _rank(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    return [TensorValue(known(int(operands[0].made.shape.rank)), tf.rank(operands[0].seen))]


def _read_variable(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    return [read_of(reader, operation, operands[0])]


def read_of(reader: GraphReader, operation: Any, handle: TensorValue) -> TensorValue:
    """Return what a variable holds, with the gradient that a read of the variable has.

    A gradient tape sees each read as a read of the variable, so no gradient flows to the value that was
    assigned before. The gradient of a trained variable goes to the parameter instead.
    """
    found, name = variable_of(reader, operation, handle), reader.assigned.get(handle_number(handle.seen))
    if name is None or not (found.made.dtype.is_floating or found.made.dtype.is_complex):
        return found
    value, origin = reader.value(found), reader.origin(operation)
    if reader.weights.is_trained(name):
        source = reader.recorder.graph.parameters[name]
        return reader.call(WITH_GRADIENT, (value, source), {}, [found.seen], origin)[0]
    return reader.call(
        f"{RAW}StopGradient", (value,), {"T": dtype_name(found.made.dtype)}, [found.seen], origin
    )[0]


def variable_of(reader: GraphReader, operation: Any, handle: TensorValue) -> TensorValue:
    """Return what the variable with this handle holds. Raise ``UnsupportedOperation`` if it is unknown."""
    found = reader.variables.get(handle_number(handle.seen))
    if found is None:
        raise UnsupportedOperation(
            f"{operation.type} reads what is no variable that is known (a hash table, an iterator, a "
            "variable made inside)\n    "
            f"{reader.origin(operation)}"
        )
    return found


def _assign_variable(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> list[TensorValue]:
    handle, new = operands
    before, number = variable_of(reader, operation, handle), handle_number(handle.seen)
    if (combined := ASSIGNS[operation.type]) is not None:
        seen = getattr(tf.raw_ops, combined)(x=before.seen, y=new.seen)
        inputs = (reader.value(before), as_operand(new.item))
        (new,) = reader.call(
            f"{RAW}{combined}", inputs, {"T": dtype_name(seen.dtype)}, [seen], reader.origin(operation)
        )
    reader.variables[number] = new
    reader.assigned[number] = str(reader.weights.name_of(handle.seen, ()))
    return []


def _gather_variable(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> list[TensorValue]:
    table, indices = read_of(reader, operation, operands[0]), operands[1]
    batch, dtype = operation.get_attr("batch_dims"), dtype_name(table.made.dtype)
    seen = tf.gather(table.seen, indices.seen, axis=batch, batch_dims=batch)
    attributes = {
        "batch_dims": batch,
        "Tparams": dtype,
        "Tindices": dtype_name(indices.made.dtype),
        "Taxis": "int32",
    }
    return reader.call(
        f"{RAW}GatherV2",
        (reader.value(table), as_operand(indices.item), batch),
        attributes,
        [seen],
        reader.origin(operation),
    )


def sizes_of_variable(reader: GraphReader, operation: Any, handle: TensorValue) -> tuple[Any, ...]:
    held = variable_of(reader, operation, handle)
    return sizes_of(held, reader.weights.variables[str(reader.weights.name_of(handle.seen, ()))])


def _variable_shape(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> list[TensorValue]:
    sizes, held = (
        sizes_of_variable(reader, operation, operands[0]),
        variable_of(reader, operation, operands[0]),
    )
    return [TensorValue(known(sizes), tf.shape(held.seen, operation.get_attr("out_type")))]


def _broadcast_axes(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> list[TensorValue]:
    """Lift ``BroadcastGradientArgs``: return the axes to sum the gradients of two broadcast operands over."""
    if not all(isinstance(operand.item, np.ndarray) for operand in operands):
        raise UnsupportedOperation(
            f"{operation.type}: the shapes are not known\n    {reader.origin(operation)}"
        )
    shapes = [list(operand.item) for operand in operands]
    rank = max(map(len, shapes))
    first, second = ([None] * (rank - len(shape)) + shape for shape in shapes)
    pairs = list(enumerate(zip(first, second)))
    seen = reader.seen(operation, operands)
    axes = [
        [axis for axis, (one, other) in pairs if _is_broadcast(reader, operation, one, other)],
        [axis for axis, (one, other) in pairs if _is_broadcast(reader, operation, other, one)],
    ]
    return [
        TensorValue(known(tuple(found)).reshape(len(found)), tf.constant(found, array.dtype))
        for found, array in zip(axes, seen)
    ]


def _is_broadcast(reader: GraphReader, operation: Any, size: Any, other: Any) -> bool:
    """Return True if an axis of this ``size`` (None if it is missing) was broadcast to the size ``other``.

    If that depends on symbolic sizes, the answer becomes a guard.
    """
    # Whether a symbolic size is 1 decides if its axis was broadcast, so another size of 1 needs another
    # recording.
    is_open = isinstance(size, Size) and size != other and hint_of(other) not in (1, None)
    if is_open or isinstance(size, Size) and size.hint == 1:
        condition = apply("eq", size, 1)
        return bool(
            reader.recorder.decide_size(condition, reader.origin(operation))
            if isinstance(condition, Size)
            else condition
        )
    return size is None or hint_of(size) == 1


def _ensure_shape(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    """Lift ``EnsureShape``: return the operand, and guard on the sizes that the operation states."""
    if not reader.is_hypothetical:
        reader.seen(operation, operands)
    wanted = tf.TensorShape(operation.get_attr("shape"))
    pairs = zip(
        sizes_of(operands[0], operation.inputs[0]), wanted.as_list() if wanted.rank is not None else ()
    )
    for size, number in pairs:
        if number is not None and isinstance(condition := apply("eq", size, number), Size):
            reader.recorder.decide_size(condition, reader.origin(operation))
    return [operands[0]]


def _no_results(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    return []


def _refuse_callback(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> list[TensorValue]:
    raise UnsupportedOperation(
        f"{operation.type}: a call back into Python cannot be recorded; write it with operations of "
        "TensorFlow, or call it before\n"
        f"    {reader.origin(operation)}"
    )


def _empty_string(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    return [TensorValue(None, tf.constant(""))]


READ: dict[str, Handler] = {
    "Const": _const,
    "Shape": _shape,
    "ShapeN": _shape,
    "Size": _size,
    "Rank": _rank,
    "EnsureShape": _ensure_shape,
    "BroadcastGradientArgs": _broadcast_axes,
    "ReadVariableOp": _read_variable,
    "ResourceGather": _gather_variable,
    "VariableShape": _variable_shape,
    **dict.fromkeys(ASSIGNS, _assign_variable),
    **dict.fromkeys(("NoOp", "PrintV2"), _no_results),
    **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc"), _refuse_callback),
    **dict.fromkeys(("StringFormat",), _empty_string),
}
