"""Helper functions that generated JAX source uses, one file for each section of the operations.

Generated source contains a copy of each helper that it calls. So a helper uses other helpers, and imported
names only if the source may import them, too (``jax``, ``jnp``, ``lax``, ``np``, ``math``).
"""

import jax.numpy as jnp

from ...common import array_code, positions, preludes
from ...common import special_functions as airy
from ...common import special_functions as temme

preludes.collect_helpers(
    __name__, airy, positions, temme, array_code, xp=jnp, spelled={"xp": "jnp", "Array": "jax.Array"}
)
