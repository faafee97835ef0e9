"""Operands of TensorFlow's operations that are computed from sizes: a call with another number must not get
the result of the recorded one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graph_compiler
from tests.support.compare import assert_same

X = tf.constant(np.arange(24.0, dtype=np.float32).reshape(2, 3, 4))
IMAGE = tf.constant(np.arange(48.0, dtype=np.float32).reshape(1, 4, 6, 2))
BOXES = tf.constant([[0.0, 0.1, 0.9, 0.8]])
raw = tf.raw_ops


def in_half(x: Any, number: Any) -> Any:
    return tf.cast(tf.cast(x, "bfloat16") * tf.cast(number, "bfloat16"), x.dtype)


# name: (function of an array and a size, array, recorded size, other sizes)
SIZES: dict[str, tuple[Callable[[Any, Any], Any], Any, int, tuple[int, ...]]] = {
    "axis": (lambda x, n: tf.reduce_sum(x, n - 1), X, 2, (1, 3)),
    "lower diagonals": (lambda x, n: tf.linalg.band_part(x, n - 2, 0), X, 1, (2, 3)),
    "upper diagonals": (lambda x, n: tf.linalg.band_part(x, 0, n - 2), X, 2, (1, 3)),
    "rows of a diagonal": (lambda x, n: tf.linalg.diag(x, num_rows=n - 5, num_cols=4), X, 4, (9, 10)),
    "inferred size": (lambda x, n: tf.reshape(x, [n - 4, 4]), X, 3, (10,)),
    "inferred part": (lambda x, n: tf.split(x, [1, n - 3], axis=1), X, 2, (5,)),
    "slice to the end": (lambda x, n: tf.slice(x, [0, 1, 0], [1, n - 3, 2]), X, 2, (4, 5)),
    "step": (lambda x, n: x[:, :: n - 2], X, 1, (3, 4)),
    "mirrored": (lambda x, n: tf.pad(x, [[0, 0], [n - 2, 1], [0, n - 2]], "SYMMETRIC"), X, 2, (3, 4)),
    "aligned corners": (
        lambda x, n: raw.ResizeBicubic(images=x, size=[n, 3], align_corners=True),
        IMAGE,
        1,
        (2, 5),
    ),
    "rounded number": (lambda x, n: in_half(x, n * 143), X, 1, (7,)),
    "rounded number below 0": (lambda x, n: in_half(x, n * -143), X, 1, (7,)),
    "size of a crop": (lambda x, n: tf.image.crop_and_resize(x, BOXES, [0], [n, 2]), IMAGE, 1, (2, 3)),
}


@pytest.mark.parametrize("to", ["numpy", "torch"])
@pytest.mark.parametrize("name", SIZES)
def test_numbers_that_are_sizes(name: str, to: str) -> None:
    function, x, recorded, others = SIZES[name]

    def of_size(x: Any, like: Any) -> Any:
        return function(x, tf.shape(like)[0])

    graph = graph_compiler.compile(of_size, to=to, source="tensorflow", args=(x, tf.zeros(recorded)))
    for count in (recorded, *others):
        found = graph(x.numpy(), np.zeros(count, np.float32))
        assert_same(found, of_size(x, tf.zeros(count)))


def test_the_truth_of_an_array_is_whether_it_has_elements() -> None:
    def truth(x: Any) -> Any:
        return raw.ToBool(input=x)

    graph = graph_compiler.compile(truth, to="torch", source="tensorflow", args=(tf.zeros(3),))
    for count in (3, 0, 2):
        assert_same(graph(np.zeros(count, np.float32)), truth(tf.zeros(count)))
