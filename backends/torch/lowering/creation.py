"""Creation functions in torch."""

from __future__ import annotations

from typing import Any

from .table import rows

rows.table({
    "asarray": "torch.tensor({data}, {dtype=})",
    "copy": "{x}.clone()",
    "linspace": "torch.linspace({start}, {stop}, {num}, {dtype=})",
    "ones": "torch.ones({shape}, {dtype=})",
    "tril": "torch.tril({x}, {diagonal=k})",
    "tril_indices": "torch.tril_indices({n_rows}, {n_cols}, {k}, {dtype=})",
    "triu": "torch.triu({x}, {diagonal=k})",
    "triu_indices": "torch.triu_indices({n_rows}, {n_cols}, {k}, {dtype=})",
    "zeros": "torch.zeros({shape}, {dtype=})",
})  # fmt: skip


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    """``torch.full``, or ``torch.tensor`` of a number."""
    return f"torch.full({shape!r}, {fill_value!r}, dtype={dtype})" if shape else f"torch.tensor({fill_value!r}, dtype={dtype})"


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str) -> str:
    """``torch.arange`` with the bounds that are not the default."""
    bounds = [start, stop, step] if step != 1 or type(step) is float else [start, stop] if start != 0 or type(start) is float else [stop]
    return f"torch.arange({', '.join(map(repr, bounds))}, dtype={dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    """``torch.eye``; another diagonal is cut out of ones."""
    if k != 0:
        return f"torch.ones({n_rows!r}, {n_cols!r}, dtype={dtype}).triu({k!r}).tril({k!r})"
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"torch.eye({n_rows!r}{columns}, dtype={dtype})"
