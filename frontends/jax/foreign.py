"""Arrays of other frameworks as JAX's, for a function that is recorded with them."""

from __future__ import annotations

from typing import Any

import jax

from .dtypes import narrowed


def as_jax(array: Any) -> Any:
    """An array of any framework as one of JAX, in the type that JAX has for its own; a tensor without its history.

    >>> as_jax(jax.numpy.arange(2)).tolist()
    [0, 1]
    """
    if isinstance(array, jax.Array):
        return array
    dtype = narrowed(dtype_name_of(array))
    if hasattr(array, "detach"):
        plain = array.detach().cpu().resolve_conj().resolve_neg()
        array = (plain.float() if dtype == "bfloat16" else plain).numpy()  # which numpy does not have
    return jax.numpy.asarray(array, dtype)


def dtype_name_of(array: Any) -> str:
    """The name of the dtype of an array of any framework."""
    return str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]
