"""Reads grouped 3D convolutions as one convolution per group.

TensorFlow has a kernel for grouped 3D convolutions only under XLA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from ..reader import GraphReader, Handler
from ..variables import TensorValue


def _convolution(
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


READ: dict[str, Handler] = {"Conv3D": _convolution}
