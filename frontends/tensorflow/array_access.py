"""How calls of a graph in another framework read and write the user's tensors and variables."""

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
        return isinstance(array, tf.Tensor)


def is_own(item: Any) -> bool:
    return isinstance(item, (tf.Tensor, tf.Variable))


def own(elements: np.ndarray[Any, Any], dtype: str) -> tf.Tensor:
    return tf.constant(elements, dtype)


def write(array: Any, elements: np.ndarray[Any, Any]) -> None:
    array.assign(tf.constant(elements, array.dtype))
