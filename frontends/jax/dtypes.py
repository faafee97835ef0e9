"""Names of JAX dtypes in the canonical vocabulary, and specs of JAX types."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...errors import UnsupportedOperation
from ...ops.dtypes import NARROWED
from ...ops.registry import ArraySpec
from ...sizes import expression_of, hint_of


def dtype_name(dtype: Any) -> str:
    """Return the name of ``dtype``, narrowed if JAX runs without 64-bit types.

    The dtype of random keys has the name that JAX gives it (``key<fry>``).

    >>> dtype_name(np.dtype("int32")), dtype_name(float), dtype_name("complex64")
    ('int32', 'float32', 'complex64')
    """
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return str(dtype)
    return narrow_dtype(str(np.dtype(dtype)))


def narrow_dtype(name: str) -> str:
    return name if jax.config.jax_enable_x64 else NARROWED.get(name, name)


def is_key(array: Any) -> bool:
    return bool(jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key))


def words_type(array: Any) -> Any:
    """Return the type of ``array``, with random keys as uint32 words along a new last axis."""
    if not is_key(array):
        return jax.ShapeDtypeStruct(
            array.shape, array.dtype, weak_type=bool(getattr(array, "weak_type", False))
        )
    if str(array.dtype) != "key<fry>":
        raise UnsupportedOperation(
            f"{array.dtype}: of the keys of jax.random only those of threefry2x32 give the same numbers in "
            "other frameworks"
        )
    return jax.ShapeDtypeStruct((*array.shape, 2), np.dtype("uint32"))


def spec_of(aval: Any) -> ArraySpec:
    return ArraySpec(tuple(int(hint_of(expression_of(dim))) for dim in aval.shape), dtype_name(aval.dtype))
