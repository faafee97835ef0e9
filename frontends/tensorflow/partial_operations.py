"""Operations that read or write a part of a variable, and the array operations that compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

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

    ``array`` is what the variable holds.
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
