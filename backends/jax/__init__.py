"""JAX as a target: canonical operations written in ``jax.numpy``, ``jax.nn`` and ``jax.lax``."""

from ..dialect import CanonicalDialect
from . import prelude as prelude
from .lowering import rows as rows

name = "jax"
imports = {
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "lax": "from jax import lax",
    "np": "import numpy as np",
    "special": "from jax.scipy import special",
}
dialect = CanonicalDialect(rows, imports, prelude, "jnp.{}".format)
