"""Helper functions that generated JAX source uses.

Generated source contains a copy of each helper that it calls. Helpers may use each other, and imported names
that the source may import, too, such as ``jax``, ``jnp``, ``lax`` and ``math``.
"""

import jax.numpy as jnp

from ...common import array_code, positions, preludes
from ...common import special_functions as airy
from ...common import special_functions as temme

preludes.collect_helpers(
    __name__, airy, positions, temme, array_code, xp=jnp, spelled={"xp": "jnp", "Array": "jax.Array"}
)
