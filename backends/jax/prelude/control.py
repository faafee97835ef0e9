"""Loops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def varying_as(sequences: Any, start: Any) -> Any:
    """``start``. In shard_map, where steps over ``sequences`` differ between devices, it is marked as different as well: loops begin with
    the type they go on with."""
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return start
    differs = jnp.stack([jnp.zeros_like(array, dtype=bool).any() for array in jax.tree.leaves(sequences)]).any()
    return jax.tree.map(lambda array: jnp.where(differs, jnp.zeros_like(array), array), start)
