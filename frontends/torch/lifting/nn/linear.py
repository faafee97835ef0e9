"""Linear layers of torch."""

from __future__ import annotations

from typing import Any

from ..table import TorchBuilder, rows


def optional(*arrays: Any) -> tuple[Any, ...]:
    """The arrays without trailing Nones."""
    given = list(arrays)
    while given and given[-1] is None:
        given.pop()
    return tuple(given)


@rows.row("linear")
def linear(b: TorchBuilder, input: Any, weight: Any, bias: Any = None) -> Any:
    """torch.nn.functional.linear: ``input @ weight.T + bias``."""
    return b.linear(*optional(input, weight, bias))


rows.table({"bilinear": lambda b, input1, input2, weight, bias=None: b.bilinear(*optional(input1, input2, weight, bias))})


@rows.row("grouped_mm", "_grouped_mm", "grouped_mm_fallback")
def grouped_mm(b: TorchBuilder, mat_a: Any, mat_b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """torch.nn.functional.grouped_mm: batches of products, or products of groups of rows (of columns) that ``offs`` ends."""
    if mat_a.ndim == 3 and mat_b.ndim == 3:
        product = b.matmul(mat_a, mat_b)
    elif mat_b.ndim == 3:
        product = b.grouped_matmul(mat_a, mat_b, offs)
    elif mat_a.ndim == 3:
        turned = b.grouped_matmul(b.permute_dims(mat_b, axes=(1, 0)), b.permute_dims(mat_a, axes=(0, 2, 1)), offs)
        product = b.permute_dims(turned, axes=(1, 0))
    else:
        raise NotImplementedError("grouped_mm of two matrices (groups along the summed axis)")
    product = product if bias is None else b.add(product, bias)
    return product if out_dtype is None else b.cast(product, out_dtype)
