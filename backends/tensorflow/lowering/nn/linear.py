"""Linear layers in TensorFlow."""

from __future__ import annotations

from ....rows import Operand
from ..linear_algebra import one_product
from ..table import rows

rows.table({"grouped_matmul": "grouped_matmul({x}, {weight}, {offsets})"})


@rows.row("linear")
def _linear(x: Operand, weight: Operand, bias: Operand | None = None) -> str:
    if weight.ndim == 1:
        product = f"tf.reduce_sum({x} * {weight}, -1)"
    elif x.ndim == 1:
        product = f"tf.linalg.matvec({weight}, {x})"
    elif x.ndim == 4:
        product = one_product(x, weight, 1)
    else:
        product = f"tf.matmul({x}, {weight}, transpose_b=True)"
    return product if bias is None else f"{product} + {bias}"


@rows.row("bilinear")
def _bilinear(x1: Operand, x2: Operand, weight: Operand, bias: Operand | None = None) -> str:
    product = f'tf.einsum("...i,oij,...j->...o", {x1}, {weight}, {x2})'
    return product if bias is None else f"{product} + {bias}"
