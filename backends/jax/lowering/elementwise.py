"""Element-wise functions and data types in JAX."""

from .table import rows

rows.table({"add": "{x1} + {x2}", "astype": "{x}.astype({dtype})"})
