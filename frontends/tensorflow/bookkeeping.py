"""Handlers of operations that are not recorded one to one, such as constants, shapes and variables.

``READ`` maps types of operations to handlers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import tensor_util

from ...errors import UnsupportedOperation
from ...ir.node import CallRecord, Node, Origin, Value
from ...passes.lowering.region_checks import TRUTH
from ...sizes import Size, apply, hint_of
from .evaluation import (
    ASSIGNS,
    PHILOX,
    STATELESS_DRAWS,
    advance_state,
    constant_of,
    draw_from,
    handle_number,
)
from .known_numbers import as_known_array, is_few, nested, recorded_elements
from .lazy_results import constant
from .lifting.driver import static_places
from .lists import Arrays
from .names import CONVERT, RAW, WITH_GRADIENT, definition, dtype_name, row_key
from .operations import FACTORS, READS, WRITES, attributes_of, factors
from .reader import GraphReader, Handler, as_operand
from .variables import TensorValue, sizes_of

# ------------------------------------------------------------------------------------------------- assertions
# Lifts ``tf.Assert`` and the ``tf.debugging`` functions built on it to guards.

_NAMES = {"full": CONVERT, "logical_and": f"{RAW}LogicalAnd", "logical_not": f"{RAW}LogicalNot"}


def record_operation(op: str, inputs: tuple[Any, ...], params: dict[str, Any], origin: Origin) -> Node:
    name, made = _NAMES[op], Value("held", TRUTH)
    given, named = ((params["fill_value"],), {"dtype": params["dtype"]}) if op == "full" else (inputs, {})
    return Node(name, given, named, origin, (made,), CallRecord(row_key(name), result=made))


_INERT = frozenset({"Const", "Placeholder", "Identity", "NoOp"})


def only_asserts(graphs: Sequence[Any]) -> bool:
    """Return True for two branches of which the first only asserts and the second computes nothing."""
    # ``tf.Assert`` is traced as an ``If``, and its assertion can be recorded without a branch.
    kinds = [{operation.type for operation in graph.get_operations()} for graph in graphs]
    return len(kinds) == 2 and kinds[0] - _INERT == {"Assert"} and kinds[1] <= _INERT


def lift_assert(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    condition, *data = operands
    if not reader.is_hypothetical:
        reader.concrete_results(operation, operands)
    origin = _with_message(reader.origin(operation), data)
    if isinstance(condition.item, Value):
        # An assertion in a branch is checked only if the branch runs, so its guard stays there.
        reader.recorder.decide_value(condition.item, True, origin, in_place=True)
    elif hasattr(nested(condition.item), "hint"):
        reader.recorder.decide_size(nested(condition.item), origin)
    return []


def _with_message(origin: Origin, data: Sequence[TensorValue]) -> Origin:
    texts = [str(one.seen.numpy().decode(errors="replace")) for one in data if _is_string(one)]
    message = " ".join(" ".join(texts).split())
    return dataclasses.replace(origin, call=f"tf.Assert ({message})" if message else "tf.Assert")


def _is_string(held: TensorValue) -> bool:
    return isinstance(held.seen, tf.Tensor) and held.made.dtype == tf.string and held.made.shape.rank == 0


_ASSERTIONS: dict[str, Handler] = {"Assert": lift_assert}


# ------------------------------------------------------------------------------------------------ bookkeeping
def _const(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    proto = operation.get_attr("value")
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if not is_few(dtype_name(proto.dtype), math.prod(shape), len(shape)):
        return [reader.constant(constant_of(operation))]
    return [
        TensorValue(
            as_known_array(tensor_util.MakeNdarray(proto).tolist()).reshape(shape), constant(operation, shape)
        )
    ]


def _shape(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    sizes = [sizes_of(operand, tensor) for operand, tensor in zip(operands, operation.inputs)]
    return [
        TensorValue(as_known_array(shape), tf.shape(operand.seen, operation.get_attr("out_type")))
        for shape, operand in zip(sizes, operands)
    ]


def _size(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    sizes = sizes_of(operands[0], operation.inputs[0])
    return [
        TensorValue(
            as_known_array(np.prod(np.array(sizes, object)) if sizes else 1),
            tf.size(operands[0].seen, operation.get_attr("out_type")),
        )
    ]


def _rank(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    return [TensorValue(as_known_array(int(operands[0].made.shape.rank)), tf.rank(operands[0].seen))]


def _read_variable(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    return [read_of(reader, operation, operands[0])]


def read_of(reader: GraphReader, operation: Any, handle: TensorValue) -> TensorValue:
    """Return the current value of the variable with this ``handle``.

    Its gradient goes to the variable if that is trained, and not to what was assigned to it.
    """
    found, name = variable_of(reader, operation, handle), reader.assigned.get(handle_number(handle.seen))
    if name is None or not (found.made.dtype.is_floating or found.made.dtype.is_complex):
        return found
    # To a gradient tape, each read is a new source.
    value, origin = reader.value(found), reader.origin(operation)
    if reader.weights.is_trained(name):
        source = reader.recorder.graph.parameters[name]
        return reader.call(WITH_GRADIENT, (value, source), {}, [found.seen], origin)[0]
    return reader.call(
        f"{RAW}StopGradient", (value,), {"T": dtype_name(found.made.dtype)}, [found.seen], origin
    )[0]


def variable_of(reader: GraphReader, operation: Any, handle: TensorValue) -> TensorValue:
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
    return [TensorValue(as_known_array(sizes), tf.shape(held.seen, operation.get_attr("out_type")))]


def _broadcast_axes(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> list[TensorValue]:
    if not all(isinstance(operand.item, np.ndarray) for operand in operands):
        raise UnsupportedOperation(
            f"{operation.type}: the shapes are not known\n    {reader.origin(operation)}"
        )
    shapes = [list(operand.item) for operand in operands]
    rank = max(map(len, shapes))
    first, second = ([None] * (rank - len(shape)) + shape for shape in shapes)
    pairs = list(enumerate(zip(first, second)))
    seen = reader.concrete_results(operation, operands)
    axes = [
        [axis for axis, (one, other) in pairs if _is_broadcast(reader, operation, one, other)],
        [axis for axis, (one, other) in pairs if _is_broadcast(reader, operation, other, one)],
    ]
    return [
        TensorValue(as_known_array(tuple(found)).reshape(len(found)), tf.constant(found, array.dtype))
        for found, array in zip(axes, seen)
    ]


def _is_broadcast(reader: GraphReader, operation: Any, size: Any, other: Any) -> bool:
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
    if not reader.is_hypothetical:
        reader.concrete_results(operation, operands)
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


# ------------------------------------------------------------------------------------------------- generators
# Random number generators with their state, a 128-bit counter and a 64-bit key, in a variable.


def _read_and_skip(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, algorithm, delta = operands
    return [_advance(reader, operation, handle, algorithm, delta)]


def _skip(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    _read_and_skip(reader, operation, operands)
    return []


def _advance(
    reader: GraphReader, operation: Any, handle: TensorValue, algorithm: TensorValue, delta: TensorValue
) -> TensorValue:
    if not isinstance(algorithm.item, np.ndarray) or algorithm.item.item() != PHILOX:
        raise UnsupportedOperation(
            f"a generator by another algorithm than Philox\n    {reader.origin(operation)}"
        )
    arrays, before = Arrays(reader, operation), variable_of(reader, operation, handle)
    kind = dtype_name(delta.made.dtype)
    wide = arrays.call(
        "Cast", [delta], {"SrcT": kind, "DstT": "int64", "Truncate": False}, tf.cast(delta.seen, tf.int64)
    )
    steps = arrays.call("Mul", [wide, 256], {"T": "int64"}, wide.seen * 256)
    row = arrays.call(
        "Reshape", [steps, (1,)], {"T": "int64", "Tshape": "int32"}, tf.reshape(steps.seen, [1])
    )
    # The state has three words: the lower and the upper half of the counter, and the key.
    whole = arrays.call(
        "Pad", [row, ((0, 2),)], {"T": "int64", "Tpaddings": "int32"}, tf.pad(row.seen, [[0, 2]])
    )
    after = arrays.call("AddV2", [before, whole], {"T": "int64"}, advance_state(before.seen, delta.seen))
    number = handle_number(handle.seen)
    reader.variables[number], reader.assigned[number] = after, str(reader.weights.name_of(handle.seen, ()))
    return before


def _draw(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, algorithm, shape, *bounds = operands
    arrays = Arrays(reader, operation)
    state = _advance(reader, operation, handle, algorithm, _count_of(arrays, shape))
    counter, key = (_state_words(arrays, state, first, size) for first, size in ((0, 2), (2, 1)))
    name, dtype = STATELESS_DRAWS[operation.type], operation.get_attr("dtype")
    seen = draw_from(operation, counter.seen, key.seen, shape.seen, [bound.seen for bound in bounds])
    attributes = {"dtype": dtype_name(dtype), "Tshape": dtype_name(shape.made.dtype)}
    inputs: list[Any] = [shape, key, counter, PHILOX, *bounds]
    record = CallRecord(extra=recorded_elements(reader.recorder, inputs, static_places(name)))
    return [arrays.call(name, inputs, attributes, seen, record)]


def _count_of(arrays: Arrays, shape: TensorValue) -> TensorValue:
    seen = tf.reduce_prod(shape.seen)
    if isinstance(shape.item, np.ndarray):
        return TensorValue(
            as_known_array(np.prod(shape.item) if shape.item.size else 1), tf.cast(seen, tf.int64)
        )
    attributes = {"T": dtype_name(shape.made.dtype), "Tidx": "int32", "keep_dims": False}
    return arrays.call("Prod", [shape, (0,)], attributes, seen)


def _state_words(arrays: Arrays, state: TensorValue, first: int, size: int) -> TensorValue:
    part = arrays.call(
        "Slice",
        [state, (first,), (size,)],
        {"T": "int64", "Index": "int32"},
        state.seen[first : first + size],
    )
    return arrays.call("Bitcast", [part], {"T": "int64", "type": "uint64"}, tf.bitcast(part.seen, tf.uint64))


_OWN: dict[str, Callable[..., list[TensorValue]]] = {"RngReadAndSkip": _read_and_skip, "RngSkip": _skip}
_GENERATORS: dict[str, Handler] = {**_OWN, **dict.fromkeys(STATELESS_DRAWS, _draw)}


# --------------------------------------------------------------------------------------------- partial writes
# Lifts operations that assign or read a part of a variable to operations on its whole value.


def _scatter(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, places, rows = operands
    _write(reader, operation, handle, {"indices": places, "updates": rows})
    return []


def _scatter_rows(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, places, rows = operands
    _refuse_one_for_many(reader, operation, operands)
    return _scatter(reader, operation, (handle, _with_axis(reader, operation, places), rows))


def _scale_rows(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
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
    record = CallRecord(
        extra=recorded_elements(reader.recorder, [array, *operands.values()], static_places(name))
    )
    return reader.call(f"{RAW}{name}", inputs, attributes, [seen], reader.origin(operation), record)[0]


def _gather(reader: GraphReader, operation: Any, operands: Sequence[TensorValue]) -> list[TensorValue]:
    handle, places = operands
    return [_compute(reader, operation, read_of(reader, operation, handle), {"indices": places})]


_PARTS: dict[str, Handler] = {
    **{kind: _scatter if "ScatterNd" in kind else _scatter_rows for kind in WRITES},
    **dict.fromkeys(FACTORS, _scale_rows),
    "ResourceStridedSliceAssign": _assign_slice,
    "ResourceGatherNd": _gather,
}


# -------------------------------------------------------------------------------------------- grouped volumes
# TensorFlow has a kernel for grouped 3D convolutions only under XLA, so they become one convolution per
# group.


def _convolve_by_groups(
    reader: GraphReader, operation: Any, operands: Sequence[TensorValue]
) -> Sequence[TensorValue]:
    channels = operation.get_attr("data_format").index(b"C")
    groups = operands[0].made.shape[channels] // operands[1].made.shape[3]
    if groups == 1:
        return reader.compute(operation, operands)
    places = [place for place in range(1, 5) if place != channels]
    strides, dilations = (
        [operation.get_attr(name)[place] for place in places] for name in ("strides", "dilations")
    )
    padding, layout = operation.get_attr("padding").decode(), operation.get_attr("data_format").decode()

    def by_groups(x: Any, kernel: Any) -> Any:
        parts = zip(tf.split(x, groups, channels), tf.split(kernel, groups, 4))
        return tf.concat(
            [tf.nn.convolution(*part, strides, padding, layout, dilations) for part in parts], channels
        )

    given = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in operation.inputs]
    return reader.results(
        tf.function(by_groups, autograph=False).get_concrete_function(*given).graph, operands
    )


# ------------------------------------------------------------------------------------------------------ table
READ: dict[str, Handler] = {
    "Const": _const,
    "Conv3D": _convolve_by_groups,
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
    **_ASSERTIONS,
    **_GENERATORS,
    **_PARTS,
}
