"""Dtypes of the operands of a recorded operation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ...ir.node import Node
from .names import definition, row_key


def dtypes_of_operands(node: Node) -> tuple[Any, ...]:
    """Return the dtype of each operand of a recorded node; for a list of operands, a tuple of dtypes."""
    return tuple(
        _dtype(argument, node.params, item)
        for argument, item in zip(definition(row_key(node.op)).input_arg, node.inputs)
    )


def _dtype(argument: Any, attributes: dict[str, Any], operand: Any) -> Any:
    if argument.type_list_attr:
        return tuple(attributes[argument.type_list_attr])
    dtype = attributes[argument.type_attr] if argument.type_attr else tf.as_dtype(argument.type).name
    return (dtype,) * len(operand) if argument.number_attr else dtype
