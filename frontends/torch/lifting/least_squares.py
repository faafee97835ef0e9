"""torch.linalg.lstsq, whose drivers give different things beside the solution."""

from __future__ import annotations

from typing import Any

from ....ops.dtypes import real_of
from ....sizes import apply, hint_of
from .table import TorchBuilder, rows

_DRIVERS = (None, "gelsy", "gels", "gelsd", "gelss")
_WITH_SINGULAR_VALUES = ("gelsd", "gelss")


@rows.row("linalg_lstsq")
def linalg_lstsq(build: TorchBuilder, A: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    """torch.linalg.lstsq: the solution, residuals (not by ``gelsy``), rank (not by ``gels``) and singular values (by ``gelsd`` and
    ``gelss``)."""
    if driver not in _DRIVERS:
        raise NotImplementedError(f"linalg.lstsq with driver={driver!r}")
    vectors = b.ndim == A.ndim - 1
    columns = build.reshape(b, shape=(*b.shape, 1)) if vectors else b
    solution, rank = build.lstsq(A, columns, rcond=rcond)
    nothing = build.zeros(shape=(0,), dtype=real_of(A.dtype))
    residuals = _residuals(build, A, columns, solution, None if driver == "gels" else rank) if driver not in (None, "gelsy") else None
    singular = build.svdvals(A) if driver in _WITH_SINGULAR_VALUES else nothing
    rank = build.zeros(shape=(0,), dtype="int64") if driver == "gels" else rank
    solution = build.reshape(solution, shape=solution.shape[:-1]) if vectors else solution
    return solution, nothing if residuals is None else residuals, rank, singular


def _residuals(b: TorchBuilder, A: Any, right: Any, solution: Any, rank: Any) -> Any:
    """The squared residual of every column; None where torch gives none: without more rows than columns, or a rank (if known) below the
    columns."""
    rows_count, columns = A.shape[-2:]
    tall = hint_of(rows_count) > hint_of(columns)
    b.guard(apply("gt" if tall else "le", rows_count, columns))
    if not tall:
        return None
    if rank is not None:
        whole = b.recorded[1].hints != (0,)
        b.expect(b.all(b.equal(rank, b.operand(columns, rank.dtype))), whole)
        if not whole:
            return None
    return b.sum(b.square(b.abs(b.subtract(b.matmul(A, solution), right))), axis=-2)
