"""Loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp


def stacked_weights(parameters: Mapping[str, jax.Array], name: str, layers: Iterable[int]) -> jax.Array:
    """The weights of layers as one array, ``*`` in the name for the number of a layer: stacked before, under the name with all numbers
    in it (``"layer.0,1,2.weight"``), or now."""
    together = name.replace("*", ",".join(map(str, layers)))
    if together in parameters:
        return parameters[together]
    return jnp.stack([parameters[name.replace("*", str(layer))] for layer in layers])


def varying_as(sequences: Any, start: Any) -> Any:
    """``start``. In shard_map, where steps over ``sequences`` differ between devices, it is marked as different as well: loops begin with
    the type they go on with."""
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return start
    differs = jnp.stack([jnp.zeros_like(array, dtype=bool).any() for array in jax.tree.leaves(sequences)]).any()
    return jax.tree.map(lambda array: jnp.where(differs, jnp.zeros_like(array), array), start)
