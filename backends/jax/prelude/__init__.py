"""Helpers that generated JAX source uses; each is copied into the source that needs it, one file a section
here.

They are ordinary functions over arrays: no import of this package, only ``jax``, ``jnp``, ``lax``, ``np`` and
``math``.
"""

import jax.numpy as jnp

from ... import array_code
from ...common import positions, preludes
from ...common import special_functions as airy
from ...common import special_functions as temme

preludes.hand_out(
    __name__, airy, positions, temme, *array_code.FILES, xp=jnp, spelled={"xp": "jnp", "Array": "jax.Array"}
)
