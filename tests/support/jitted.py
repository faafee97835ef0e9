"""What tests compare with in JAX, without a program of XLA for each operation at each shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def by_jit(function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)`` as one program, which takes a third of the time of one for each operation.

    For a function of JAX that gives arrays alone: numbers of Python come out as arrays.
    """
    return jax.jit(function)(*args)


def jax_array(item: Any, dtype: Any = None) -> jax.Array:
    """A copy as ``jnp.asarray`` gives it, converted by numpy: JAX compiles a conversion for each new shape."""
    return jax.device_put(np.array(item, dtype and jax.numpy.dtype(dtype)))
