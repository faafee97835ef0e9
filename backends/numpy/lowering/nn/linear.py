"""Linear layers in numpy, by matrix products."""

from __future__ import annotations

from ....rows import Operand
from ..table import rows

rows.table({"grouped_matmul": "grouped_matmul({x}, {weight}, {offsets})"})


@rows.row("linear")
def _linear(x: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f"{x} @ {weight}.T" if weight.ndim == 2 else f"{x} @ {weight}"
    return product if bias is None else f"{product} + {bias}"


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f'np.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2}, optimize=True)'
    return product if bias is None else f"{product} + {bias}"
