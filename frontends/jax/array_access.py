"""Access to the user's JAX arrays. They are immutable, so they cannot be written to."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class ImmutableStamp:
    """Stamp by which writes to a JAX array would be detected. It always fits, as the array is immutable."""

    __slots__ = ()

    def __init__(self, array: jax.Array) -> None:
        pass

    def fits(self, array: jax.Array) -> bool:
        return True


Stamp = ImmutableStamp


def is_own(item: Any) -> bool:
    return isinstance(item, jax.Array)


def own(elements: np.ndarray[Any, Any], dtype: str) -> jax.Array:
    return jnp.array(elements, dtype)


def write(array: jax.Array, elements: np.ndarray[Any, Any]) -> None:
    raise NotImplementedError
