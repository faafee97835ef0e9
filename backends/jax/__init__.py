"""JAX as a target: canonical operations written in ``jax.numpy``, ``jax.nn`` and ``jax.lax``."""

from __future__ import annotations

from ...contracts.modules import at_first_use, calls_at_first_use
from . import prelude as prelude
from .dialect import JaxDialect
from .lowering import rows as rows
from .native import jax_dtype
from .native import target as target

name = "jax"
# JAX arrays are immutable, so aliases cannot be observed.
copy_overwritable_values = None
imports = {
    "parallel": "from graph_compiler import parallel",
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "Mapping": "from collections.abc import Mapping",
    "Primitive": "from jax.extend.core import Primitive",
    "Sequence": "from collections.abc import Sequence",
    "interpreters": "from jax import interpreters",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "lax": "from jax import lax",
    "np": "import numpy as np",
    "special": "from jax.scipy import special",
}


def dtype_text(dtype: str) -> str:
    return "jnp.bool_" if dtype == "bool" else f"jnp.{jax_dtype(dtype)}"


dialect = JaxDialect(rows, imports, prelude, dtype_text)
derivatives = at_first_use(__name__, "transforms:derivatives")
parallelism = at_first_use(__name__, "parallel:parallelism")
training_engine = at_first_use(__name__, "training:training")
as_module = calls_at_first_use(__name__, "module:as_module")
