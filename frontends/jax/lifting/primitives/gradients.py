"""Calls whose derivative rule could not be traced."""

from __future__ import annotations

from ..table import rows

# a value of which no gradient may be taken
rows.table({"refuse_gradient_p": lambda b, value, *sources, message: b.refuse_gradient(b.as_result(value), *sources, message=message)})
