"""What a call of a graph in another framework leaves in the user's objects: tensors, which never change, and variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


class Stamp:
    """Nothing: the elements of a tensor are its own for ever."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        pass

    def fits(self, array: Any) -> bool:
        """Always of a tensor; never of a variable."""
        return isinstance(array, tf.Tensor)


def is_own(item: Any) -> bool:
    """Whether this is an array of TensorFlow."""
    return isinstance(item, (tf.Tensor, tf.Variable))


def own(elements: np.ndarray[Any, Any], dtype: str) -> tf.Tensor:
    """A tensor of these elements."""
    return tf.constant(elements, dtype)


def write(array: Any, elements: np.ndarray[Any, Any]) -> None:
    """Assigns a variable."""
    array.assign(tf.constant(elements, array.dtype))
