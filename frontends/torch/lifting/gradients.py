"""Rules of the user's own for gradients that could not be recorded."""

from __future__ import annotations

from .table import rows

# a value of which no gradient may be taken
rows.table({"refuse_gradient": lambda b, value, sources, message: b.refuse_gradient(value, *sources, message=message)})
