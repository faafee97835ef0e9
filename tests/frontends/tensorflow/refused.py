"""Calls of raw operations that are refused during conversion, with words of the message."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from graph_compiler.errors import UnsupportedOperation
from tests.support.samples import ErrorSample, array, ints

from .samples.table import raw


def _refused(name: str, args: tuple[Any, ...], message: str, **fixed: Any) -> ErrorSample:
    return ErrorSample(raw(name, **fixed), args, {}, UnsupportedOperation, message)


def _of_seed(**options: Any) -> Any:
    def call(seed: Any) -> Any:
        key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
        return tf.raw_ops.StatelessRandomUniformV2(shape=[3], key=key, counter=counter, **options)

    return call


_SEED = np.array([1, 2], np.int32)
_POOLED = {"strides": [1, 1, 1, 2], "padding": "VALID"}

ERRORS: list[ErrorSample] = [
    _refused("IgammaGradA", (array(3, kind="positive"), array(3, kind="positive")), "is a special function that no target has"),
    _refused("MaxPool", (array(1, 2, 2, 4),), "pooling over the batch or the channels", ksize=[1, 1, 1, 2], **_POOLED),
    _refused("Round", (ints(3, dtype="int32"),), "Round of integers, of which TensorFlow itself makes zeros"),
    _refused(
        "FusedPadConv2D", (array(2, 4, 4, 3),), "of which TensorFlow pads the first one only", paddings=[[0, 0], [1, 1], [1, 1], [0, 0]],
        filter=np.ones((3, 3, 3, 2), np.float32), mode="REFLECT", strides=[1, 1, 1, 1], padding="VALID",
    ),
    _refused("StatelessTruncatedNormal", (_SEED,), "random numbers of float64 of a seed", shape=[3], dtype="float64"),
    ErrorSample(_of_seed(alg=1, dtype="float64"), (_SEED,), {}, UnsupportedOperation, "random numbers of float64 of a seed"),
]  # fmt: skip
