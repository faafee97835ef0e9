"""Arrays in the arguments of a recorded function, of whatever framework they are."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.trackable import data_structures

from ...sizes import is_symbolic
from .dtypes import dtype_of_array


def is_array(item: Any) -> bool:
    """Whether this is an array of any framework; numpy's scalars count as Python's."""
    if isinstance(item, (tf.Tensor, tf.Variable, np.ndarray)):
        return True
    if isinstance(item, (np.generic, type)) or is_symbolic(item):
        return False
    return hasattr(item, "dtype") and hasattr(item, "shape") and (hasattr(item, "__dlpack__") or hasattr(item, "__array__"))


def opens(item: Any) -> bool:
    """Whether a plain object may be taken apart into its attributes: not models, whose arrays are parameters."""
    return not isinstance(item, (tf.Module, keras.Layer)) and not type(item).__module__.startswith(("tensorflow.", "keras."))


def unwrapped(structure: Any) -> Any:
    """Lists, tuples and dicts that a ``tf.Module`` keeps, which TensorFlow wraps, as plain ones: ``tape.gradient`` gives such."""
    if isinstance(structure, data_structures.TrackableDataStructure):
        structure = data_structures.wrap_or_unwrap(structure)
        structure = list(structure) if isinstance(structure, data_structures.ListWrapper) else structure
    if type(structure) in (list, tuple):
        return type(structure)(map(unwrapped, structure))
    return {key: unwrapped(item) for key, item in structure.items()} if type(structure) is dict else structure


def as_tensor(array: Any) -> Any:
    """An array of any framework as a tensor.

    >>> as_tensor(np.arange(2)).numpy().tolist()
    [0, 1]
    """
    if isinstance(array, (tf.Tensor, tf.Variable)):
        return tf.convert_to_tensor(array)
    if hasattr(array, "detach"):
        plain = array.detach().cpu().resolve_conj().resolve_neg()
        is_half = dtype_of_array(array) == "bfloat16"  # which numpy lacks
        return tf.cast(plain.float().numpy(), tf.bfloat16) if is_half else tf.constant(plain.numpy())
    return tf.constant(np.asarray(array))
