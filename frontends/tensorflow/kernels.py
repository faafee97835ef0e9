"""Operations that TensorFlow has no kernel for on this processor (channels first, dilated gradients), which XLA compiles.

Which kernels there are depends on the processor and on oneDNN, so TensorFlow is asked: the operation is run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import record
from tensorflow.python.framework import ops

from ...ir.node import Node, Value
from ...sizes import hint_of
from ...trees import map_structure
from .names import definition, row_key

MISSING = (tf.errors.UnimplementedError, tf.errors.InvalidArgumentError, tf.errors.NotFoundError)
_WORDS = re.compile(r"\bCPU\b(?!:)|only supports N\w+|Could not find device for node|does not support dilations")
_LAYOUTS = ("NCHW", "NCDHW")
_KERNELS = frozenset({
    "AvgPool", "AvgPool3D", "AvgPool3DGrad", "AvgPoolGrad", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D",
    "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2", "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput", "MaxPool", "MaxPool3D", "MaxPool3DGrad", "MaxPoolGrad",
})  # fmt: skip


def is_missing(problem: Exception) -> bool:
    """Return True if TensorFlow says that it has no kernel for this processor, rather than that the operands are wrong."""
    return isinstance(problem, MISSING) and _WORDS.search(str(problem)) is not None


def run_by_xla(operation: Any, operands: Sequence[Any]) -> list[Any]:
    """Return what an operation of a traced graph gives for these arrays, compiled by XLA.

    Integers are constants of the compiled program: XLA has to know sizes and axes.
    """
    fixed = [place for place, array in enumerate(operands) if array.dtype.is_integer]
    arrays = [array for place, array in enumerate(operands) if place not in fixed]
    attributes = {attribute.name: operation.node_def.attr[attribute.name] for attribute in definition(operation.type).attr}

    @tf.function(jit_compile=True, autograph=False)
    def compiled(*arrays: Any) -> list[Any]:
        rest = iter(arrays)
        given = [tf.constant(array.numpy(), array.dtype) if place in fixed else next(rest) for place, array in enumerate(operands)]
        graph: Any = ops.get_default_graph()
        return list(graph._create_op_internal(operation.type, given, attrs=attributes).outputs)

    return list(compiled(*arrays))


def has_kernel(node: Node, names: Sequence[str]) -> bool:
    """Return False if TensorFlow itself cannot run a recorded call, whose operands have these names, on this processor.

    One call of each kind is tried. Those with the channels last and without dilation are not: every processor has kernels for them.
    """
    key, params = row_key(node.op), node.params
    layout, dilation = str(params.get("data_format")), max(params.get("dilations", ()), default=1)
    if key not in _KERNELS or layout not in _LAYOUTS and dilation == 1:
        return True
    kind = (key, layout, dilation > 1, *(item.dtype for item in node.inputs if isinstance(item, Value)))
    if kind not in _tried:
        given = dict(zip(names, map(_zeros, node.inputs)))
        _tried[kind] = _runs(key, {**given, **{name: params[name] for name in names if name in params}})
    return _tried[kind]


_tried: dict[tuple[Any, ...], bool] = {}


def _zeros(item: Any) -> Any:
    return tf.zeros(item.spec.hints, item.dtype) if isinstance(item, Value) else map_structure(hint_of, item)


@functools.cache
def has_grouped_gradient(dtype: str) -> bool:
    """Return True if TensorFlow has a kernel for the gradient of a convolution in groups on this processor."""
    given = {"filter": tf.zeros((1, 1, 1, 2), dtype), "out_backprop": tf.zeros((1, 1, 1, 2), dtype)}
    return _runs("Conv2DBackpropInput", {"input_sizes": [1, 1, 1, 2], **given, "strides": [1, 1, 1, 1], "padding": "VALID"})


def _runs(key: str, given: dict[str, Any]) -> bool:
    try:
        with tf.init_scope(), record.stop_recording():
            getattr(tf.raw_ops, key)(**given)
    except MISSING as problem:
        if not is_missing(problem):
            raise
        return False
    return True
