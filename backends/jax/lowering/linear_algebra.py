"""Linear algebra in JAX."""

from __future__ import annotations

from typing import Any

from ...rows import Operand
from .table import rows

rows.table(
    {
        "matmul": "{x1} @ {x2}",
        "tensordot": "jnp.tensordot({x1}, {x2}, {axes=})",
        "vecdot": "jnp.vecdot({x1}, {x2}, {axis=})",
        "cross": "jnp.cross({x1}, {x2}, {axis=})",
        "outer": "jnp.outer({x1}, {x2})",
        "inner": "jnp.inner({x1}, {x2})",
        "kron": "jnp.kron({x1}, {x2})",
        "multi_dot": "jnp.linalg.multi_dot([{*arrays}])",
        "matrix_power": "jnp.linalg.matrix_power({x}, {n})",
        "vector_norm": "vector_norm({x}, {axis=}, {ord=}, {keepdims=})",
        "matrix_norm": "matrix_norm({x}, {ord=}, {keepdims=})",
        "det": "jnp.linalg.det({x})",
        "slogdet": "jnp.linalg.slogdet({x})",
        "inv": "jnp.linalg.inv({x})",
        "solve": "jnp.linalg.solve({x1}, {x2})",
        "cholesky": "jnp.linalg.cholesky({x}, {upper=})",
        "qr": "jnp.linalg.qr({x}, {mode=})",
        "svd": "jnp.linalg.svd({x}, {full_matrices=})",
        "svdvals": "jnp.linalg.svdvals({x})",
        "eig": "jnp.linalg.eig({x})",
        "eigvals": "jnp.linalg.eigvals({x})",
        "cond": "condition_number({x}, {ord=})",
        "householder_product": "lax.linalg.householder_product({x}, {tau})",
        "geqrf": "geqrf({x})",
        "ormqr": "ormqr({x}, {tau}, {x2}, {left=}, {transpose=})",
        "solve_triangular": "solve_triangular({x1}, {x2}, {upper=}, {left=}, {transpose=}, {unit_diagonal=})",
        "cholesky_solve": "cholesky_solve({x1}, {x2}, {upper=})",
        "cholesky_inverse": "cholesky_inverse({x}, {upper=})",
        "lstsq": "lstsq({x1}, {x2}, {rcond=})",
        "tensorsolve": "tensor_solve({x1}, {x2})",
        "tensorinv": "jnp.linalg.tensorinv({x}, {ind=})",
        "lu": "lu_decomposition({x})",
        "lu_factor": "lu_factor({x})",
        "lu_unpack": "lu_unpack({lu}, {pivots})",
    }
)


@rows.row("einsum")
def _einsum(*arrays: Operand, equation: str) -> str:
    return f'jnp.einsum("{equation}", {", ".join(arrays)})'


@rows.row("matrix_exp")
def _matrix_exp(x: Operand) -> str:
    half = x.dtype in ("float16", "bfloat16")
    return f"jax.scipy.linalg.expm({x}.astype(jnp.float32)).astype({x}.dtype)" if half else f"jax.scipy.linalg.expm({x})"


@rows.row("trace")
def _trace(x: Operand, *, offset: int, dtype: Any) -> str:
    axes = "" if x.ndim == 2 else ", axis1=-2, axis2=-1"
    return f"jnp.trace({x}{f', offset={offset}' if offset else ''}{axes}{'' if dtype is None else f', dtype={dtype!r}'})"


@rows.row("eigh")
def _eigh(x: Operand, *, upper: bool) -> str:
    """Only one triangle is read, as LAPACK and torch do."""
    return f"jnp.linalg.eigh({x}, UPLO={'U' if upper else 'L'!r}, symmetrize_input=False)"


@rows.row("eigvalsh")
def _eigvalsh(x: Operand, *, upper: bool) -> str:
    return f"{_eigh(x, upper=upper)}[0]"


@rows.row("matrix_rank", "pinv")
def _by_singular_values(x: Operand, rtol: Any = None, atol: Any = None, *, hermitian: bool, out: Any) -> str:
    function = "matrix_rank" if out[0].dtype == "int64" else "pinv"
    given = "".join(f", {name}={value}" for name, value in (("rtol", rtol), ("atol", atol)) if value is not None)
    return f"{function}({x}{given}{', hermitian=True' if hermitian else ''})"


@rows.row("lu_solve")
def _lu_solve(lu: Operand, pivots: Operand, x2: Operand, *, left: bool, adjoint: bool) -> str:
    return f"lu_solve({lu}, {pivots}, {x2}{'' if left else ', left=False'}{', adjoint_of=True' if adjoint else ''})"
