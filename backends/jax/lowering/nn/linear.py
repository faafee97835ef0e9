"""Linear layers in JAX."""

from __future__ import annotations

from ....rows import Operand
from ..table import rows

rows.table({"grouped_matmul": "lax.ragged_dot({x}, {weight}, jnp.diff({offsets}, prepend=0))"})


@rows.row("linear")
def _linear(x: Operand, weight: Operand, bias: Operand | None = None) -> str:
    """``jnp.inner``: for a single row of ``x @ weight.T``, XLA for CPU copies the weight to transpose it."""
    product = f"jnp.inner({x}, {weight})"
    return product if bias is None else f"{product} + {bias}"


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f'jnp.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2})'
    return product if bias is None else f"{product} + {bias}"
