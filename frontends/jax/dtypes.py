"""JAX data types and their names in the vocabulary."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...errors import UnsupportedOperation
from ...ops.dtypes import NARROWED


def dtype_name(dtype: Any) -> str:
    """``jnp.float32`` -> ``"float32"``; as JAX has it without 64-bit types where they are off.

    >>> dtype_name(np.dtype("int32")), dtype_name(float), dtype_name("complex64")
    ('int32', 'float32', 'complex64')
    """
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return str(dtype)
    return narrowed(str(np.dtype(dtype)))


def narrowed(name: str) -> str:
    return name if jax.config.jax_enable_x64 else NARROWED.get(name, name)


def is_key(array: Any) -> bool:
    return bool(jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key))


def words_type(array: Any) -> Any:
    """The type of an array as other frameworks have it: keys are their words of 32 bits, along a last axis."""
    if not is_key(array):
        return jax.ShapeDtypeStruct(
            array.shape, array.dtype, weak_type=bool(getattr(array, "weak_type", False))
        )
    if str(array.dtype) != "key<fry>":
        raise UnsupportedOperation(
            f"{array.dtype}: of the keys of jax.random only those of threefry2x32 give the same numbers in other frameworks"
        )
    return jax.ShapeDtypeStruct((*array.shape, 2), np.dtype("uint32"))
