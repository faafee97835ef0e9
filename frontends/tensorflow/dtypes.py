"""Names of TensorFlow's dtypes, which the canonical vocabulary shares."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def dtype_name(dtype: Any) -> str:
    """Return the name of anything that ``tf.as_dtype`` accepts.

    >>> import numpy as np
    >>> dtype_name(tf.float32), dtype_name(1), dtype_name(np.dtype("float16"))
    ('float32', 'float32', 'float16')
    """
    return str(tf.as_dtype(dtype).name)


def dtype_of_array(array: Any) -> str:
    """Return the name of the dtype of an array of any framework.

    >>> import numpy as np
    >>> dtype_of_array(np.ones(2)), dtype_of_array(tf.ones(2))
    ('float64', 'float32')
    """
    return str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]
