"""Creation functions in JAX."""

from __future__ import annotations

from typing import Any

from ....ops import ArraySpec
from .table import rows

Out = tuple[ArraySpec, ...]

rows.table({
    "asarray": "jnp.array({data}, {dtype})",
    "copy": "jnp.copy({x})",
    "linspace": "linspace({start}, {stop}, {num}, {dtype})",
    "ones": "jnp.ones({shape}, {dtype})",
    "tril": "jnp.tril({x}, {k=})",
    "tril_indices": "jnp.array(np.tril_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "triu": "jnp.triu({x}, {k=})",
    "triu_indices": "jnp.array(np.triu_indices({n_rows}, {k}, {n_cols}), {dtype})",
    "zeros": "jnp.zeros({shape}, {dtype})",
})  # fmt: skip


@rows.row("full")
def full(*, shape: Any, fill_value: Any, dtype: str) -> str:
    """``jnp.full``, or ``jnp.array`` of a number."""
    return f"jnp.full({shape!r}, {fill_value!r}, {dtype})" if shape else f"jnp.array({fill_value!r}, {dtype})"


@rows.row("arange")
def arange(*, start: Any, stop: Any, step: Any, dtype: str, out: Out = ()) -> str:
    """``jnp.arange``; half precision is counted in single, so that large numbers are rounded once."""
    bounds = [start, stop, step] if step != 1 or type(step) is float else [start, stop] if start != 0 or type(start) is float else [stop]
    text = ", ".join(map(repr, bounds))
    if out[0].dtype in ("float16", "bfloat16"):
        return f"jnp.arange({text}, dtype=jnp.float32).astype({dtype})"
    return f"jnp.arange({text}, dtype={dtype})"


@rows.row("eye")
def eye(*, n_rows: Any, n_cols: Any, k: Any, dtype: str) -> str:
    """``jnp.eye``, with what is not the default."""
    columns = "" if repr(n_rows) == repr(n_cols) else f", {n_cols!r}"
    return f"jnp.eye({n_rows!r}{columns}{f', k={k!r}' if k != 0 else ''}, dtype={dtype})"
