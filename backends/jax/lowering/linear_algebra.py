"""Linear algebra in JAX."""

from .table import rows

rows.table({"matmul": "{x1} @ {x2}"})
