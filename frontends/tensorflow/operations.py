"""Operations of a traced graph: attributes, order, dtypes of operands, and origin in the user's code.

``WRITES`` and ``READS`` have the operations that write or read a part of a variable, or read its shape.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, tensor_shape_pb2

from ...ir.node import Node, Origin
from .names import RAW, definition, dtype_name, is_users, row_key

# --------------------------------------------------------------------------------------------------- operands
# Dtypes of the operands of a recorded operation.


def dtypes_of_operands(node: Node) -> tuple[Any, ...]:
    return tuple(
        _dtype(argument, node.params, item)
        for argument, item in zip(definition(row_key(node.op)).input_arg, node.inputs)
    )


def _dtype(argument: Any, attributes: dict[str, Any], operand: Any) -> Any:
    if argument.type_list_attr:
        return tuple(attributes[argument.type_list_attr])
    dtype = attributes[argument.type_attr] if argument.type_attr else tf.as_dtype(argument.type).name
    return (dtype,) * len(operand) if argument.number_attr else dtype


# ----------------------------------------------------------------------------------------- partial operations
# Operations that read or write a part of a variable, and the array operations that compute the same.

_SCATTERS = ("Update", "Add", "Sub", "Min", "Max")
# The indices of these are row numbers, without an axis of index vectors.
_BY_ROWS = {f"ResourceScatter{kind}": f"TensorScatter{kind}" for kind in _SCATTERS}
# There is no ``TensorScatterMul``, so all rows are multiplied or divided by the product of their updates.
FACTORS = {"ResourceScatterMul": "Mul", "ResourceScatterDiv": "RealDiv"}

WRITES = {
    **{f"ResourceScatterNd{kind}": f"TensorScatter{kind}" for kind in _SCATTERS},
    **_BY_ROWS,
    **FACTORS,
    "ResourceStridedSliceAssign": "TensorStridedSliceUpdate",
}
READS = {"ResourceGather": "GatherV2", "ResourceGatherNd": "GatherNd", "VariableShape": "Shape"}


def result_of(operation: Any, array: Any, operands: Sequence[Any]) -> Any:
    """Return the new value of a variable for an operation in ``WRITES``, or the result of one in ``READS``.

    ``array`` is the current value of the variable, and ``operands`` are those after its handle.
    """
    kind = operation.type
    if kind == "ResourceGather":
        batch = operation.get_attr("batch_dims")
        return tf.gather(array, operands[0], axis=batch, batch_dims=batch)
    if kind == "VariableShape":
        return tf.shape(array, operation.get_attr("out_type"))
    if kind in FACTORS:
        return getattr(tf.raw_ops, FACTORS[kind])(x=array, y=factors(array, *operands))
    if kind in _BY_ROWS:
        operands = [tf.expand_dims(operands[0], -1), *operands[1:]]
    masks = {
        one.name: operation.get_attr(one.name) for one in operation.op_def.attr if one.name.endswith("_mask")
    }
    return getattr(tf.raw_ops, (WRITES | READS)[kind])(
        **dict(zip(_PARAMETERS[kind], [array, *operands])), **masks
    )


def factors(array: Any, places: Any, rows: Any) -> Any:
    return tf.math.unsorted_segment_prod(rows, places, tf.shape(array)[0])


_PARAMETERS = {
    **dict.fromkeys(WRITES, ("tensor", "indices", "updates")),
    "ResourceStridedSliceAssign": ("input", "begin", "end", "strides", "value"),
    "ResourceGatherNd": ("params", "indices"),
}


# ------------------------------------------------------------------------------------------------- operations
def declaration_of(operation: Any) -> Any:
    return definition(operation.type) or operation.op_def


def attributes_of(operation: Any) -> dict[str, Any]:
    plain_ones = (
        attribute
        for attribute in declaration_of(operation).attr
        if attribute.type not in ("func", "list(func)", "tensor")
    )
    return {attribute.name: plain(operation.get_attr(attribute.name)) for attribute in plain_ones}


def plain(item: Any) -> Any:
    """Convert an attribute to plain data: a dtype to its name, bytes to ``str``, a list to a tuple.

    >>> plain(tf.float32), plain(b"SAME"), plain([1, 2]), plain(tf.TensorShape([None, 2]).as_proto())
    ('float32', 'SAME', (1, 2), (None, 2))
    """
    if isinstance(item, tf.DType):
        return dtype_name(item)
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    if isinstance(item, tensor_shape_pb2.TensorShapeProto):
        return None if item.unknown_rank else tuple(None if dim.size < 0 else dim.size for dim in item.dim)
    return tuple(map(plain, item)) if isinstance(item, (list, tuple)) else item


def execution_attributes(operation: Any) -> tuple[Any, ...]:
    pairs = (
        (attribute.name, operation.get_attr(attribute.name)) for attribute in declaration_of(operation).attr
    )
    return tuple(item for name, value in pairs for item in (name, _execution_value(value)))


def _execution_value(value: Any) -> Any:
    if isinstance(value, tf.DType):
        return value.as_datatype_enum
    if isinstance(value, tensor_shape_pb2.TensorShapeProto):
        return None if value.unknown_rank else [dim.size for dim in value.dim]
    if isinstance(value, attr_value_pb2.NameAttrList):
        return value.name.encode()
    return list(map(_execution_value, value)) if isinstance(value, (list, tuple)) else value


def in_order(operations: Iterable[Any], done: set[int]) -> Iterator[Any]:
    """Yield ``operations`` and those that compute their inputs, each after the ones that compute its inputs.

    Operations whose ids are in ``done`` are left out, and the ids of the others are added to it.
    """
    # TensorFlow may append an operation for the gradient of a loop after the loop that reads it.
    for operation in operations:
        waiting = [operation]
        while waiting:
            last = waiting[-1]
            missing = (
                [tensor.op for tensor in last.inputs if id(tensor.op) not in done]
                if id(last) not in done
                else []
            )
            waiting += missing
            if not missing:
                waiting.pop()
                if id(last) not in done:
                    done.add(id(last))
                    yield last


def origin_of(operation: Any, around: Origin) -> Origin:
    """Return the origin of ``operation``: the innermost line of the user's code, or that of ``around``."""
    call = f"{RAW}{operation.type}"
    # A ``LineNotingGraph`` has noted the line.
    line = getattr(operation.graph, "lines", {}).get(id(operation))
    if line is not None:
        return Origin(line[0], line[1], _scope_of(operation), call, instruction=line[2])
    # Listing all frames would create hundreds of TensorFlow's own.
    frames = operation.traceback.get_user_frames() if operation.traceback else ()
    for frame in reversed(frames):
        if is_users(frame.filename):
            return Origin(frame.filename, frame.lineno, _scope_of(operation), call)
    return Origin(around.file, around.line, around.module, call, instruction=around.instruction)


def _scope_of(operation: Any) -> str:
    return str(operation.name).rpartition("/")[0]


def layer_path(scope: str, layers: Container[str], known: Mapping[str, str]) -> str:
    """Return ``scope`` without the numbers that TensorFlow appends when the scope of a layer is opened again.

    ``layers`` has the names of layers. ``known`` maps scopes to paths: the longest leading scope in it is
    replaced, and the rest of ``scope`` then keeps its numbers.

    >>> layer_path("model_1/conv1_1/batchnorm", {"model", "conv1"}, {})
    'model/conv1/batchnorm'
    >>> layer_path("model_1/conv_1/batchnorm", {"model", "conv", "conv_1"}, {"model_1/conv_1": "model/conv"})
    'model/conv/batchnorm'
    """
    parts = scope.split("/")
    for count in range(len(parts), 0, -1):
        if (path := known.get("/".join(parts[:count]))) is not None:
            return "/".join([path, *parts[count:]])
    return "/".join(_without_number(part, layers) for part in parts)


def layer_of_parameter(operation: str, parameter: str) -> tuple[str, str] | None:
    """Return the scope and the path of the layer of ``parameter``, which ``operation`` reads, or None.

    Both arguments are names.

    >>> layer_of_parameter("model_1/conv_1/convolution/ReadVariableOp", "model/conv/kernel")
    ('model_1/conv_1', 'model/conv')
    """
    layer = parameter.split("/")[:-1]
    scope = operation.split("/")[: len(layer)]
    is_scope = len(scope) == len(layer) and all(
        part == name or re.fullmatch(rf"{re.escape(name)}_\d+", part) for part, name in zip(scope, layer)
    )
    return ("/".join(scope), "/".join(layer)) if layer and is_scope else None


def _without_number(part: str, layers: Container[str]) -> str:
    base, _, number = part.rpartition("_")
    return base if part not in layers and number.isdigit() and base in layers else part
