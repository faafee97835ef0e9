"""TensorFlow's data types and their names in the vocabulary, which are the same."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def dtype_name(dtype: Any) -> str:
    """The name of a data type.

    >>> import numpy as np
    >>> dtype_name(tf.float32), dtype_name(1), dtype_name(np.dtype("float16"))
    ('float32', 'float32', 'float16')
    """
    return str(tf.as_dtype(dtype).name)


def dtype_of_array(array: Any) -> str:
    """The name of the data type of an array of any framework.

    >>> import numpy as np
    >>> dtype_of_array(np.ones(2)), dtype_of_array(tf.ones(2))
    ('float64', 'float32')
    """
    return str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]
