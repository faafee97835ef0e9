"""Names and declarations of TensorFlow's operations."""

from __future__ import annotations

import functools
from typing import Any

from tensorflow.python.framework import op_def_registry

RAW = "tf.raw_ops."
# Converts numbers and sizes to an array.
CONVERT = "tf.convert_to_tensor"
# Returns the array, and raises if a gradient is taken.
REFUSE_GRADIENT = "tf.refuse_gradient"
# Returns the first array; its gradient goes to the second one.
WITH_GRADIENT = "tf.with_gradient"
# Returns the only element as a Python number.
READ = "tf.Tensor.item"
# These are no raw operations of TensorFlow. Generated code calls helpers for them.
OWN = frozenset({CONVERT, REFUSE_GRADIENT, WITH_GRADIENT, READ})


def row_key(op: str) -> str:
    """Return the name of an operation without its namespace.

    >>> row_key("tf.raw_ops.AddV2")
    'AddV2'
    """
    return op.rpartition(".")[2]


@functools.cache
def definition(key: str) -> Any:
    """Return TensorFlow's declaration of an operation (an ``OpDef``), or None if there is none.

    >>> [argument.name for argument in definition("AddV2").input_arg]
    ['x', 'y']
    """
    return op_def_registry.get(key)


@functools.cache
def types_of_operands(key: str) -> frozenset[str]:
    """Return the attributes that the operands determine: dtypes, and lengths of lists.

    >>> sorted(types_of_operands("ConcatV2"))
    ['N', 'T', 'Tidx']
    """
    fields = ("type_attr", "number_attr", "type_list_attr")
    return frozenset(
        name
        for argument in definition(key).input_arg
        for field in fields
        if (name := getattr(argument, field))
    )
