"""Results that are computed on demand, because the recording needs only the shapes of most arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np
import tensorflow as tf

from .evaluation import constant_of, run_operation
from .outside import LazyArray
from .variables import TensorValue

Shape = tuple[int, ...]
Rule = Callable[[Any, Sequence[TensorValue], list[Shape]], Union[Shape, None]]
# The original property: while recording, ``Tensor.shape`` is patched for the user's code.
_SHAPE = tf.Tensor.shape.fget


def constant(operation: Any, shape: Shape) -> LazyArray:
    return LazyArray(shape, operation.outputs[0].dtype, lambda _: constant_of(operation))


def lazy_result(operation: Any, operands: Sequence[TensorValue]) -> LazyArray | None:
    rule = _RULES.get(operation.type)
    shape = None if rule is None else _shape_of(rule, operation, operands)
    if shape is None:
        return None
    return LazyArray(
        shape,
        operation.outputs[0].dtype,
        lambda arrays: run_operation(operation, arrays)[0],
        [each.made for each in operands],
    )


def _shape_of(rule: Rule, operation: Any, operands: Sequence[TensorValue]) -> Shape | None:
    traced = _SHAPE(operation.outputs[0])
    if traced.rank is None:
        return None
    dims = traced.as_list()
    if None not in dims and all(_SHAPE(tensor).is_fully_defined() for tensor in operation.inputs):
        return tuple(dims)
    shape = rule(operation, operands, [tuple(held.made.shape) for held in operands])
    return (
        shape
        if shape is not None
        and len(shape) == len(dims)
        and all(dim in (None, size) for dim, size in zip(dims, shape))
        else None
    )


# ------------------------------------------------------------------------------------- rules
def _unknown_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    return None


def _first_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    return shapes[0]


def _broadcast_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _bias_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    return shapes[0] if shapes[0][-1:] == shapes[1] and operation.get_attr("data_format") == b"NHWC" else None


def _matmul_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    rows, inner = shapes[0][:: -1 if operation.get_attr("transpose_a") else 1]
    others, columns = shapes[1][:: -1 if operation.get_attr("transpose_b") else 1]
    return (rows, columns) if inner == others else None


def _pad_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    paddings = _known_ints(operands[1])
    return None if paddings is None else tuple(size + sum(pair) for size, pair in zip(shapes[0], paddings))


def _reduction_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    axes = _known_ints(operands[1])
    if axes is None:
        return None
    gone = {axis % len(shapes[0]) for axis in np.ravel(axes)}
    kept = [(1,), ()][not operation.get_attr("keep_dims")]
    return tuple(part for axis, size in enumerate(shapes[0]) for part in (kept if axis in gone else (size,)))


def _convolution_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    channels = _SHAPE(operation.outputs[0]).as_list()[-1]
    return _window_shape(
        operation, shapes[0], [1, *shapes[1][:-2], 1], operation.get_attr("dilations"), channels
    )


def _pooling_shape(operation: Any, operands: Sequence[TensorValue], shapes: list[Shape]) -> Shape | None:
    window = operation.get_attr("ksize")
    return _window_shape(operation, shapes[0], window, [1] * len(window), shapes[0][-1])


def _window_shape(
    operation: Any, given: Shape, window: Sequence[int], dilations: Sequence[int], channels: Any
) -> Shape | None:
    padding, strides = operation.get_attr("padding"), operation.get_attr("strides")
    is_usual = operation.get_attr("data_format") in (b"NHWC", b"NDHWC") and padding in (b"SAME", b"VALID")
    if not is_usual or channels is None or len(given) != len(window):
        return None
    lost = [(size - 1) * step if padding == b"VALID" else 0 for size, step in zip(window, dilations)]
    found = [-(-(size - less) // stride) for size, less, stride in zip(given, lost, strides)]
    return (*found[:-1], channels) if min(found[1:-1]) > 0 else None


def _known_ints(held: TensorValue) -> Any:
    item = held.item
    return (
        item.tolist()
        if isinstance(item, np.ndarray) and all(isinstance(one, int) for one in item.ravel())
        else None
    )


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("Conv2D", "Conv3D", "DepthwiseConv2dNative"), _convolution_shape),
    **dict.fromkeys(("MaxPool", "MaxPool3D", "AvgPool", "AvgPool3D"), _pooling_shape),
    **dict.fromkeys(("Mean", "Sum", "Max", "Min", "Prod"), _reduction_shape),
    **dict.fromkeys(("Pad", "PadV2"), _pad_shape),
    **dict.fromkeys(
        ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"), _broadcast_shape
    ),
    **dict.fromkeys(
        ("Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign"),
        _first_shape,
    ),
    **dict.fromkeys(
        ("Neg", "Abs", "Exp", "Log", "Square", "Sqrt", "Rsqrt", "Softmax", "LogSoftmax"), _first_shape
    ),
    **dict.fromkeys(("Reshape", "Squeeze", "ExpandDims", "Transpose"), _unknown_shape),
    "BiasAdd": _bias_shape,
    "MatMul": _matmul_shape,
}
