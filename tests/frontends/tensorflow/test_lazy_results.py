"""Tests of lazily computed results of operations, whose shapes are known before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_compiler

tf = pytest.importorskip("tensorflow")

from graph_compiler.frontends.tensorflow.known_numbers import as_known_array  # noqa: E402
from graph_compiler.frontends.tensorflow.lazy_results import lazy_result  # noqa: E402
from graph_compiler.frontends.tensorflow.outside import LazyArray  # noqa: E402
from graph_compiler.frontends.tensorflow.variables import TensorValue  # noqa: E402

IMAGE, KERNEL = (2, 9, 8, 3), (3, 2, 3, 4)
RAW = tf.raw_ops


def _conv(**options: Any) -> Callable[..., Any]:
    return lambda x, kernel: tf.nn.conv2d(x, kernel, **options)


def _pool(window: int, stride: int, padding: str) -> Callable[..., Any]:
    return lambda x: tf.nn.max_pool2d(x, window, stride, padding)


# What is called, the shapes of its operands, all sizes of which the traced graph does not know.
SAMPLES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "conv, valid": (_conv(strides=2, padding="VALID"), (IMAGE, KERNEL)),
    "conv, same": (_conv(strides=[1, 3, 2, 1], padding="SAME"), (IMAGE, KERNEL)),
    "conv, dilated": (_conv(strides=1, padding="VALID", dilations=[1, 2, 3, 1]), (IMAGE, KERNEL)),
    "conv, explicit padding": (_conv(strides=1, padding=[[0, 0], [1, 2], [0, 1], [0, 0]]), (IMAGE, KERNEL)),
    "depthwise": (
        lambda x, k: RAW.DepthwiseConv2dNative(input=x, filter=k, strides=[1, 2, 2, 1], padding="SAME"),
        (IMAGE, KERNEL),
    ),
    "conv of three axes": (
        lambda x, k: tf.nn.conv3d(x, k, [1, 1, 2, 1, 1], "VALID"),
        ((2, 5, 6, 7, 3), (2, 3, 2, 3, 4)),
    ),
    "pool, valid": (_pool(3, 2, "VALID"), (IMAGE,)),
    "pool, same": (_pool(2, 3, "SAME"), (IMAGE,)),
    "average": (lambda x: tf.nn.avg_pool2d(x, [2, 4], [2, 1], "VALID"), (IMAGE,)),
    "bias": (lambda x, b: RAW.BiasAdd(value=x, bias=b), (IMAGE, (3,))),
    "product": (lambda x, y: RAW.MatMul(a=x, b=y), ((2, 3), (3, 4))),
    "product, both turned": (
        lambda x, y: RAW.MatMul(a=x, b=y, transpose_a=True, transpose_b=True),
        ((3, 2), (4, 3)),
    ),
    "sum": (lambda x: tf.reduce_sum(x, [0, -1]), (IMAGE,)),
    "mean, axes kept": (lambda x: tf.reduce_mean(x, 2, keepdims=True), (IMAGE,)),
    "largest of all": (tf.reduce_max, (IMAGE,)),
    "padded": (lambda x: tf.pad(x, [[0, 1], [2, 0], [1, 1], [0, 3]]), (IMAGE,)),
    "broadcast": (lambda x, y: x * y, ((1, 3, 1), (5, 1, 4))),
    "softmax": (tf.nn.softmax, ((2, 5),)),
}


def _of_constant(operation: Any) -> TensorValue:
    elements = tf.get_static_value(operation.outputs[0])
    return TensorValue(as_known_array(elements.tolist()).reshape(elements.shape), tf.constant(elements))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("is_open", [False, True])
def test_shape(name: str, is_open: bool) -> None:
    """A shape rule may return None; otherwise its shape is that of the array."""
    function, shapes = SAMPLES[name]
    arrays = [tf.constant(np.random.default_rng(0).random(shape, "float32")) for shape in shapes]
    open_sizes = [
        tf.TensorSpec(([None] * (len(shape) - 1) + [shape[-1]]) if is_open else shape, "float32")
        for shape in shapes
    ]
    graph = tf.function(function).get_concrete_function(*open_sizes).graph
    held = {id(tensor): TensorValue(None, array) for tensor, array in zip(graph.inputs, arrays)}
    for operation in graph.get_operations():
        if operation.type == "Const":
            held[id(operation.outputs[0])] = _of_constant(operation)
        elif operation.type not in ("Placeholder", "Identity", "NoOp", "Range", "Rank"):
            made = lazy_result(operation, [held[id(tensor)] for tensor in operation.inputs])
            assert made is not None or "explicit" in name or "all" in name, operation.type
            if made is not None:
                assert tuple(made.shape) == tuple(made.computed().shape)
                held[id(operation.outputs[0])] = TensorValue(None, made)


def test_what_is_asked_for_late() -> None:
    """A long chain must be computed without recursion, and each array only once."""
    runs: list[int] = []

    def run(arrays: list[Any]) -> Any:
        runs.append(1)
        return arrays[0] + 1.0

    made: Any = tf.zeros(2)
    for _ in range(sys.getrecursionlimit() + 10):
        made = LazyArray((2,), tf.float32, run, [made])
    assert made.computed().numpy().tolist() == [len(runs)] * 2 == made.computed().numpy().tolist()


def test_elements_that_python_reads() -> None:
    """The array is computed only when Python reads it."""

    def function(x: Any) -> Any:
        return x * 2.0 if tf.reduce_sum(x * x) > 5.0 else x

    graph = graph_compiler.compile(function, to="numpy", args=(tf.ones(3),))
    for number in (1.0, 2.0):
        given = np.full(3, number, "float32")
        np.testing.assert_allclose(graph(given), function(tf.constant(given)))


def test_what_does_not_fit_fails_as_it_does_in_tensorflow() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Ii]ncompatible shapes|must be broadcastable"):
        graph_compiler.transpile(lambda x, y: x + y, to="numpy", args=(tf.ones(3), tf.ones(4)))
