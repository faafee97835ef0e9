"""Tests of calls for which TensorFlow has no kernel on some processors: they are recorded and run with XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow as tf

import graph_compiler
from graph_compiler.frontends.tensorflow import evaluation as kernels
from tests.support.compare import assert_same
from tests.support.kernels import run

KERNEL, GROUPED = (
    np.random.default_rng(1).standard_normal(shape).astype("float32")
    for shape in ((3, 3, 4, 5), (3, 3, 2, 6))
)
VOLUME = np.random.default_rng(2).standard_normal((2, 2, 2, 4, 3)).astype("float32")


def _first(x: Any, *, kernel: Any = KERNEL, **options: Any) -> Any:
    return tf.nn.conv2d(x, kernel, padding="SAME", data_format="NCHW", **{"strides": 1, **options})


def _transposed(x: Any) -> Any:
    sizes = tf.stack([tf.shape(x)[0], 7, tf.shape(x)[2] + 4, tf.shape(x)[3] + 4])
    kernel = tf.transpose(KERNEL, [0, 1, 3, 2])[:, :, :, :4]
    return tf.nn.conv2d_transpose(
        x, tf.concat([kernel, kernel[:, :, :2]], 2), sizes, 1, "VALID", "NCHW", dilations=2
    )


CALLS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], tuple[int, ...]]] = {
    "channels first": (_first, (2, 4, 7, 8), (3, 4, 9, 6)),
    "channels first, strides": (lambda x: _first(x, strides=2), (2, 4, 7, 8), (3, 4, 9, 6)),
    "channels first, dilated": (lambda x: _first(x, dilations=2), (2, 4, 7, 8), (3, 4, 9, 6)),
    "channels first, groups": (lambda x: _first(x, kernel=GROUPED), (2, 4, 7, 8), (3, 4, 9, 6)),
    "pooled": (
        lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID", "NCHW") + tf.nn.avg_pool2d(x, 2, 2, "VALID", "NCHW"),
        (2, 4, 7, 8),
        (3, 4, 9, 6),
    ),
    "volumes": (
        lambda x: tf.nn.conv3d(x, VOLUME, [1] * 5, "VALID", "NCDHW"),
        (1, 4, 5, 4, 6),
        (2, 4, 4, 5, 3),
    ),
    "transposed, dilated": (_transposed, (2, 4, 7, 8), (3, 4, 9, 6)),
    "halves of volumes": (
        lambda x: tf.nn.avg_pool3d(tf.cast(x, tf.float16), 2, 2, "VALID"),
        (1, 4, 5, 4, 6),
        (2, 4, 4, 5, 3),
    ),
}


def _arrays(name: str) -> list[Any]:
    return [
        tf.constant(np.random.default_rng(3).standard_normal(shape).astype("float32"))
        for shape in CALLS[name][1:]
    ]


@pytest.mark.parametrize("to", ["torch", "numpy"])
@pytest.mark.parametrize("name", CALLS)
def test_recorded_on_every_processor(name: str, to: str) -> None:
    function, (first, other) = CALLS[name][0], _arrays(name)
    graph = graph_compiler.compile(function, to=to, args=(first,), source="tensorflow")
    for array in (first, other):
        assert_same(graph(array.numpy()), run(function, array))
    assert len(graph.variants) == 1


@pytest.mark.parametrize("name", [name for name in CALLS if name != "halves of volumes"])
def test_compiled_where_there_is_no_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check for kernels is patched to find none. Results and gradients must stay the same."""
    monkeypatch.setattr(kernels, "_runs", lambda key, given: False)
    monkeypatch.setattr(kernels, "_tried", {})
    function, (first, other) = CALLS[name][0], _arrays(name)
    graph = graph_compiler.compile(function, to="tensorflow", args=(first,))
    assert "compiled_by_xla(" in graph.source
    compiled = tf.function(function, jit_compile=True)
    for array in (first, other):
        found, right = (_with_gradient(one, array) for one in (graph, compiled))
        assert_same(found, right)


def _with_gradient(function: Callable[[Any], Any], array: Any) -> tuple[Any, Any]:
    with tf.GradientTape() as tape:
        tape.watch(array)
        result = function(array)
        total = tf.reduce_sum(result * result)
    return result, tape.gradient(total, array)


def test_wrong_operands_stay_errors() -> None:
    """Only a missing kernel is a reason to use XLA."""
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.raw_ops.Conv2D(
            input=tf.zeros((1, 4, 4, 3)), filter=tf.zeros((2, 2, 5, 1)), strides=[1] * 4, padding="VALID"
        )
    assert not kernels.is_missing(caught.value)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_groups_are_asked_for(dtype: str) -> None:
    """The graph must have the gradient even if TensorFlow's kernel has none."""
    kernel, array = (
        tf.cast(GROUPED, dtype),
        tf.cast(np.random.default_rng(3).standard_normal((2, 7, 8, 4)), dtype),
    )

    def function(x: Any) -> Any:
        return tf.nn.conv2d(x, kernel, 1, "SAME")

    graph = graph_compiler.compile(function, to="tensorflow", args=(array,))
    found, right = (_with_gradient(one, array) for one in (graph, tf.function(function, jit_compile=True)))
    assert_same(found, right)
