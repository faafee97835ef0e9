"""Linear algebra."""

from __future__ import annotations

from typing import Any

from ..rows import Operand
from .table import rows

rows.table(
    {
        "vector_norm": "vector_norm({x}, {axis=}, {ord=}, {keepdims=})",
        "matrix_norm": "matrix_norm({x}, {ord=}, {keepdims=})",
        "cond": "condition_number({x}, {ord=})",
        "geqrf": "geqrf({x})",
        "ormqr": "ormqr({x}, {tau}, {x2}, {left=}, {transpose=})",
        "solve_triangular": "solve_triangular({x1}, {x2}, {upper=}, {left=}, {transpose=}, {unit_diagonal=})",
        "cholesky_ex": "cholesky_ex({x}, {upper=})",
        "cholesky_solve": "cholesky_solve({x1}, {x2}, {upper=})",
        "cholesky_inverse": "cholesky_inverse({x}, {upper=})",
        "lstsq": "lstsq({x1}, {x2}, {rcond=})",
        "tensorsolve": "tensor_solve({x1}, {x2})",
        "lu": "lu_decomposition({x})",
        "lu_factor": "lu_factor({x})",
        "lu_unpack": "lu_unpack({lu}, {pivots})",
    }
)


@rows.row("matrix_rank", "pinv")
def _by_singular_values(x: Operand, rtol: Any = None, atol: Any = None, *, hermitian: bool, out: Any) -> str:
    function = "matrix_rank" if out[0].dtype == "int64" else "pinv"
    given = "".join(f", {name}={value}" for name, value in (("rtol", rtol), ("atol", atol)) if value is not None)
    return f"{function}({x}{given}{', hermitian=True' if hermitian else ''})"


@rows.row("lu_solve")
def _lu_solve(lu: Operand, pivots: Operand, x2: Operand, *, left: bool, adjoint: bool) -> str:
    return f"lu_solve({lu}, {pivots}, {x2}{'' if left else ', left=False'}{', adjoint_of=True' if adjoint else ''})"
