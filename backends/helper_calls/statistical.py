"""Statistics."""

from __future__ import annotations

from ..rows import Operand
from .table import rows

rows.table(
    {
        "std": "standard_deviation({x}, {axis=}, {correction=}, {keepdims=})",
        "lower_median": "lower_median({x}, {axis=}, {keepdims=}, {skip_nan=})",
        "mode": "most_frequent({x}, {axis=}, {keepdims=})",
        "cummax": "cummax({x}, {axis=})",
        "cummin": "cummin({x}, {axis=})",
        "histc": "histc({x}, {bins=}, {min=}, {max=})",
        "cosine_similarity": "cosine_similarity({x1}, {x2}, {axis=}, {epsilon=})",
        "cdist": "cdist({x1}, {x2}, {p=})",
        "pdist": "pdist({x}, {p=})",
    }
)


@rows.row("histogram")
def _histogram(x: Operand, bin_edges: Operand, weights: Operand | None = None, *, density: bool) -> str:
    return f"histogram_counts({x}, {bin_edges}{f', {weights}' if weights is not None else ''}{', density=True' if density else ''})"
