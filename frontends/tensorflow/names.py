"""What the operations of TensorFlow's graphs are called, and what they take."""

from __future__ import annotations

import functools
from typing import Any

from tensorflow.python.framework import op_def_registry

RAW = "tf.raw_ops."
CONVERT = "tf.convert_to_tensor"  # numbers and sizes as an array

REFUSE_GRADIENT = "tf.refuse_gradient"  # the array, of which no gradient may be taken
WITH_GRADIENT = "tf.with_gradient"  # the first array, whose gradient is that of the second one
READ = "tf.Tensor.item"  # the only element as a number of Python
OWN = frozenset(
    {CONVERT, REFUSE_GRADIENT, WITH_GRADIENT, READ}
)  # operations of this project's own, written as helpers


def row_key(op: str) -> str:
    """The bare name of an operation.

    >>> row_key("tf.raw_ops.AddV2")
    'AddV2'
    """
    return op.rpartition(".")[2]


@functools.cache
def definition(key: str) -> Any:
    """What TensorFlow declares of an operation (an ``OpDef``), or None where it has none of this name.

    >>> [argument.name for argument in definition("AddV2").input_arg]
    ['x', 'y']
    """
    return op_def_registry.get(key)


@functools.cache
def types_of_operands(key: str) -> frozenset[str]:
    """The attributes that the operands tell: their data types, and how many they are.

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
