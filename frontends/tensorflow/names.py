"""Names of TensorFlow's dtypes, operations and folders."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from ... import errors

# ----------------------------------------------------------------------------------------------------- dtypes
# Names of TensorFlow's dtypes, which the canonical vocabulary shares.


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, which may be anything that ``tf.as_dtype`` accepts.

    >>> import numpy as np
    >>> dtype_name(tf.float32), dtype_name(1), dtype_name(np.dtype("float16"))
    ('float32', 'float32', 'float16')
    """
    return str(tf.as_dtype(dtype).name)


def dtype_of_array(array: Any) -> str:
    """Return the name of the dtype of an array.

    >>> import numpy as np
    >>> dtype_of_array(np.ones(2)), dtype_of_array(tf.ones(2))
    ('float64', 'float32')
    """
    return str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]


# ---------------------------------------------------------------------------------------------------- folders
# Whether a file is the user's, or belongs to TensorFlow or a library built on it.

_PYTHONS = frozenset({"contextlib.py", "functools.py"})
_LIBRARIES = tuple(
    f"{os.sep}site-packages{os.sep}{name}{os.sep}"
    for name in ("keras", "keras_hub", "tensorflow_probability", "wrapt")
)
# Packages whose code must see that a function is traced. All other code believes that it runs eagerly.
BELOW = ("tensorflow.", "numpy.", "wrapt.", "graph_compiler.", "functools.", "contextlib.")
PACKAGES = (*BELOW, "keras.", "keras_hub.")


def _folders_of(*files: str | None) -> Iterator[str]:
    for file in (Path(file) for file in files if file):
        yield from (f"{folder}{os.sep}" for folder in (file.absolute().parent, file.resolve().parent))


_INTERNAL = tuple(_folders_of(tf.__file__, keras.__file__, errors.__file__, str(Path(__file__).parent)))


@functools.lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Return True if the code in ``file`` counts as the user's.

    >>> is_users(tf.__file__), is_users("model.py")
    (False, True)
    """
    inside = file.startswith((*_INTERNAL, "<frozen", "<__autograph")) or any(
        library in file for library in _LIBRARIES
    )
    return not (inside or Path(file).name in _PYTHONS)


# ------------------------------------------------------------------------------------------------------ names
RAW = "tf.raw_ops."
# Converts numbers and sizes to an array.
CONVERT = "tf.convert_to_tensor"
# Returns the array, and raises if a gradient is taken.
REFUSE_GRADIENT = "tf.refuse_gradient"
# Returns the first array; its gradient goes to the second one.
WITH_GRADIENT = "tf.with_gradient"
# Returns the only element as a Python number.
READ = "tf.Tensor.item"
# These are no raw operations of TensorFlow. Generated code calls helpers for them.
OWN = frozenset({CONVERT, REFUSE_GRADIENT, WITH_GRADIENT, READ})


def row_key(op: str) -> str:
    """Return the name of an operation without its namespace.

    >>> row_key("tf.raw_ops.AddV2")
    'AddV2'
    """
    return op.rpartition(".")[2]


@functools.cache
def definition(key: str) -> Any:
    """Return TensorFlow's declaration of an operation (an ``OpDef``), or None for an unknown operation.

    >>> [argument.name for argument in definition("AddV2").input_arg]
    ['x', 'y']
    """
    return op_def_registry.get(key)


@functools.cache
def types_of_operands(key: str) -> frozenset[str]:
    """Return the names of the attributes that the operands of an operation determine.

    >>> sorted(types_of_operands("ConcatV2"))
    ['N', 'T', 'Tidx']
    """
    fields = ("type_attr", "number_attr", "type_list_attr")
    return frozenset(
        name
        for argument in definition(key).input_arg
        for field in fields
        if (name := getattr(argument, field))
    )
