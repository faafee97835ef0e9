"""Reads and writes of the user's tensors and variables by a graph that runs in another framework."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


class TensorVersion:
    """Stamp of a ``tf.Tensor``, which is immutable. It fits no variable."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        pass

    def fits(self, array: Any) -> bool:
        # The elements of a tensor cannot change.
        return isinstance(array, tf.Tensor)


Stamp = TensorVersion


def is_own(item: Any) -> bool:
    return isinstance(item, (tf.Tensor, tf.Variable))


def own(elements: np.ndarray[Any, Any], dtype: str) -> tf.Tensor:
    return tf.constant(elements, dtype)


def write(array: Any, elements: np.ndarray[Any, Any]) -> None:
    array.assign(tf.constant(elements, array.dtype))
