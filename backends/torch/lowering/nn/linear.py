"""Linear layers in torch."""

from __future__ import annotations

from ....calls import call
from ....rows import Operand
from ..table import rows

rows.table({"grouped_matmul": "grouped_matmul({x}, {weight}, {offsets})"})


rows.table({"linear": lambda x, weight, bias=None: call("F.linear", x, weight, bias)})


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    """``F.bilinear`` broadcasts nothing."""
    if x1.shape[:-1] == x2.shape[:-1]:
        return call("F.bilinear", x1, x2, weight, bias)
    product = f'torch.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2})'
    return product if bias is None else f"{product} + {bias}"
