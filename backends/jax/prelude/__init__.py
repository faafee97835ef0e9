"""Helpers that generated JAX source uses, one file for each section of the vocabulary.

Each is copied into the source that needs it, so it imports nothing from this package except
``GradientRefused``: it uses only ``jax``, ``jnp``, ``lax``, ``np`` and ``math``.
"""

import jax.numpy as jnp

from ...common import array_code, positions, preludes
from ...common import special_functions as airy
from ...common import special_functions as temme

preludes.collect_helpers(
    __name__, airy, positions, temme, array_code, xp=jnp, spelled={"xp": "jnp", "Array": "jax.Array"}
)
