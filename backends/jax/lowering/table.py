"""The one table that the files beside this one fill."""

from ...rows import Rows

UNSUPPORTED: dict[str, str] = {}
"""Operation -> why JAX cannot have it; strict, see docs/support.md."""

rows = Rows("jax", UNSUPPORTED)
