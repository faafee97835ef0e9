"""Creation functions that ``jax.numpy`` computes otherwise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def linspace(start: jax.Array | float, stop: jax.Array | float, num: int, dtype: jnp.dtype) -> jax.Array:
    """``num`` numbers from ``start`` to ``stop``, counted from the nearer end."""
    index = np.arange(num)
    step = (stop - start) / max(num - 1, 1)
    counted = (start + step * index, stop - step * (num - 1 - index))
    if isinstance(step, jax.Array):
        return jnp.where((index < num // 2) | (num == 1), *counted).astype(dtype)
    return jnp.array(np.where((index < num // 2) | (num == 1), *counted), dtype)
