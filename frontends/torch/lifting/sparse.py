"""Sparse tensors that a function makes: elsewhere they are the arrays that they stand for, with a 0 wherever they have no element.

What looks at their indices and values, or takes a missing element for something else than 0 (``torch.sparse.softmax``), has no row.
"""

from __future__ import annotations

from typing import Any

from ....errors import UnsupportedOperation
from ...indexing import write_arrays
from .table import TorchBuilder, rows


@rows.row("sparse_coo_tensor")
def sparse_coo_tensor(
    b: TorchBuilder, indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, check_invariants: Any = None, **_: Any
) -> Any:
    """torch.sparse_coo_tensor of a size that is given; values at the same place are added up."""
    if values is None or size is None:
        raise UnsupportedOperation("sparse_coo_tensor without a size, which depends on the greatest indices then, has no row; pass size=")
    values = b.array(values) if dtype is None else b.cast(b.array(values), dtype)
    places = b.array(indices, "int64")
    lines = b.unstack(places, axis=0, count=b.fix(places.shape[0]))
    ends = [b.array(dim, "int64") for _, dim in zip(lines, size)]
    for line, end in zip(lines, ends):
        b.expect(b.all(b.logical_and(b.greater_equal(line, 0), b.less(line, end))), True)
    whole = b.zeros(shape=tuple(size), dtype=values.dtype)
    return write_arrays(b, whole, list(enumerate(lines)), values, "sum")


rows.table({
    ("coalesce", "to_sparse", "to_sparse_coo"): lambda b, self, *_options, **_named: self,  # other forms of the same elements
    "_sparse_mm": lambda b, sparse, dense: b.matmul(*b.promote(sparse, dense)),
})  # fmt: skip


@rows.row("_sparse_sum")
def sparse_sum(b: TorchBuilder, input: Any, dim: Any = None, *, dtype: Any = None) -> Any:
    """torch.sparse.sum, which gives truth values for truth values where it leaves an axis."""
    row = rows.get("sum")
    assert row is not None
    found = row(b, input, dim, dtype=dtype)
    return b.cast(found, "bool") if input.dtype == "bool" and dtype is None and found.ndim else found
