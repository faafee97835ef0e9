"""Manipulation functions in JAX."""

from .table import rows

rows.table({"permute_dims": "jnp.permute_dims({x}, {axes})", "reshape": "{x}.reshape({shape})"})
