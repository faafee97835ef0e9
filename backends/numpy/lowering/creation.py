"""Creation functions in numpy."""

from __future__ import annotations

from typing import Any

from ....ops import ArraySpec
from .table import rows

rows.table({
    "asarray": "np.array({data}, {dtype})",
    "linspace": "linspace({start}, {stop}, {num}, {dtype})",
    "ones": "np.ones({shape}, {dtype})",
    "tril": "np.tril({x}, {k=})",
    "tril_indices": "np.array(np.tril_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "triu": "np.triu({x}, {k=})",
    "triu_indices": "np.array(np.triu_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "zeros": "np.zeros({shape}, {dtype})",
    # ``x.copy()``; numpy computes with scalars where there are no axes, and an array is made of one
    "copy": lambda x: f"{x}.copy()" if x.ndim else f"np.array({x})",
})  # fmt: skip


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    """``np.full``, or ``np.array`` of a number."""
    return f"np.full({shape!r}, {fill_value!r}, {dtype})" if shape else f"np.array({fill_value!r}, {dtype})"


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str, out: tuple[ArraySpec, ...] = ()) -> str:
    """``np.arange``, with what is not the default."""
    bounds = [start, stop, step] if step != 1 or type(step) is float else [start, stop] if start != 0 or type(start) is float else [stop]
    return f"np.arange({', '.join(map(repr, bounds))}, dtype={dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    """``np.eye``, with what is not the default."""
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"np.eye({n_rows!r}{columns}{f', k={k!r}' if k != 0 else ''}, dtype={dtype})"
